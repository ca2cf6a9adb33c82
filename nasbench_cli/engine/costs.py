"""Estimates the cost of runs: measured where a store has similar runs, else as methods and benchmarks state it."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from statistics import median
from typing import NamedTuple

from nasbench.benchmarks import abilities, open_benchmark
from nasbench.cli.engine.plan import PlannedSetup
from nasbench.methods.rungs import merged, rungs, sizes
from nasbench.results import Setup, Store

BYTES_A_ROW = 60.0
"""Bytes per row in a store without runs: runs on tables take 45 to 80, runs with networks more."""
_USUAL_EVALUATIONS = 200  # assumed for a run on a table whose budget is in seconds
_AROUND = 2e-5
"""Seconds per evaluation of the runner and the store around a method asked one by one (docs/notebook/speed.md)."""


class Cost(NamedTuple):
    """Estimated cost of one run."""

    seconds: float
    """CPU seconds of one run on one core; on a live benchmark with w workers, w cores are busy for this time."""
    rows: int
    """Number of evaluations of one run, which is its number of rows in a store."""
    measured: bool
    """Whether the estimate is the median of stored runs; otherwise methods and benchmarks state it."""
    on_gpu: bool = False
    """Whether a GPU computed the stored runs."""


class Costs:
    """Estimates the cost of planned runs from stored runs of the same method, benchmark and protocol.

    Args:
        store: the store with measured runs; None if there is none yet.
    """

    def __init__(self, store: Store | None) -> None:
        spans: dict[tuple[tuple[str, str, str], bool], list[tuple[float, int]]] = {}
        size = rows = 0
        for fragment in store.fragments() if store else ():
            with suppress(FileNotFoundError):  # another command has just set it aside
                size += fragment.path.stat().st_size
            on_gpu = bool(fragment.provenance.get("machine", {}).get("gpu"))
            for run in fragment.runs:
                rows += run.rows
                if not run.failure:
                    span = datetime.fromisoformat(run.ended) - datetime.fromisoformat(run.began)
                    spans.setdefault((_kind(fragment.setup), on_gpu), []).append((span.total_seconds(), run.rows))
        self._spans = spans
        self.bytes_a_row = size / rows if rows else BYTES_A_ROW

    def of(self, planned: PlannedSetup) -> Cost:
        """Estimated cost of one run of a setup: the median of stored runs under any constraint, or what is stated.

        If this machine would use a GPU, runs that a GPU computed count first, then those without one; elsewhere only
        the latter count.
        """
        has_gpu = bool(abilities.device(open_benchmark(planned.setup.bench)))
        for on_gpu in (True, False) if has_gpu else (False,):
            if known := self._spans.get((_kind(planned.setup), on_gpu)):
                return Cost(median(s for s, _ in known), round(median(rows for _, rows in known)), True, on_gpu)
        seconds = stated(planned)
        evaluations = round((planned.setup.evals or _USUAL_EVALUATIONS) * _parts(planned))
        each = abilities.seconds_each(open_benchmark(planned.setup.bench))
        if planned.setup.evals is None and each:
            evaluations = round(seconds * planned.setup.workers / each * _parts(planned))
        return Cost(seconds, evaluations, False)


def stated(planned: PlannedSetup) -> float:
    """Seconds of one run: as its method and its benchmark state them, and what the runner needs around them."""
    setup, benchmark = planned.setup, open_benchmark(planned.setup.bench)
    each = planned.spec.method.about.seconds * _parts(planned) + abilities.seconds_each(benchmark) / setup.workers
    seconds = (setup.evals or _USUAL_EVALUATIONS) * (each + _AROUND) + planned.beginning
    if setup.seconds is not None and benchmark.live:
        within = setup.seconds if setup.evals is None else min(seconds, setup.seconds)
        return max(within, planned.beginning)
    return seconds


def _parts(planned: PlannedSetup) -> float:
    """Number of evaluations that cost as much as one full training: above 1 for methods that stop trainings early.

    It is computed for successive halving with η = 3; other methods and options need half to twice as many.
    """
    fidelity = open_benchmark(planned.setup.bench).fidelity
    if fidelity is None or not planned.spec.method.needs.fidelity:
        return 1.0
    every = rungs(fidelity, 3)
    kept, counts = merged(every, sizes(len(every), len(every) - 1, 3))
    levels = [level.work for level in kept]
    paid = [level - before for level, before in zip(levels, [0, *levels], strict=False)]
    if not fidelity.continuable:
        paid = levels
    return sum(counts) * levels[-1] / sum(n * level for n, level in zip(counts, paid, strict=True))


def _kind(setup: Setup) -> tuple[str, str, str]:
    return setup.method, setup.bench, setup.protocol
