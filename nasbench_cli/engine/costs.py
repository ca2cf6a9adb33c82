"""Estimates of what runs cost: measured where a store has runs like them, else as methods and benchmarks state it."""

from __future__ import annotations

from datetime import datetime
from statistics import median
from typing import NamedTuple

from nasbench.benchmarks import open_benchmark
from nasbench.cli.engine.plan import PlannedCell
from nasbench.methods.fidelity.rungs import rungs, sizes
from nasbench.results import Cell, Store

BYTES_A_ROW = 60.0
"""Bytes per row assumed for a store without runs to measure: runs on tables take 45 to 80, on networks more."""
_USUAL_EVALUATIONS = 200  # of a run whose budget is in seconds on a table


class Cost(NamedTuple):
    """Estimated cost of one run."""

    seconds: float
    """CPU time of one run on one core; on a live benchmark with w workers, w cores are busy for that long."""
    rows: int
    """Number of evaluations of one run: rows of a store."""
    measured: bool
    """Whether the estimate is the median of stored runs; otherwise methods and benchmarks state it."""
    on_gpu: bool = False
    """Whether a GPU computed those runs."""


class Costs:
    """Estimates the cost of planned runs from stored runs of the same method, benchmark and protocol.

    Args:
        store: where measured runs are looked for; None if there is no store yet.
    """

    def __init__(self, store: Store | None) -> None:
        spans: dict[tuple[tuple[str, str, str], bool], list[tuple[float, int]]] = {}
        size = rows = 0
        for fragment in store.fragments() if store else ():
            size += fragment.path.stat().st_size
            on_gpu = bool(fragment.provenance.get("machine", {}).get("gpu"))
            for run in fragment.runs:
                rows += run.rows
                if not run.failure:
                    span = datetime.fromisoformat(run.ended) - datetime.fromisoformat(run.began)
                    spans.setdefault((_kind(fragment.cell), on_gpu), []).append((span.total_seconds(), run.rows))
        self._spans = spans
        self.bytes_a_row = size / rows if rows else BYTES_A_ROW

    def of(self, planned: PlannedCell) -> Cost:
        """Estimated cost of one run of a cell: the median of stored runs under any constraint, or what is stated.

        Of the runs those are meant that a GPU computed, if one would here, and those without if not; the others only
        where there are none.
        """
        here = bool(open_benchmark(planned.cell.bench).device)
        for on_gpu in (here, not here):
            if known := self._spans.get((_kind(planned.cell), on_gpu)):
                return Cost(median(s for s, _ in known), round(median(rows for _, rows in known)), True, on_gpu)
        seconds = stated(planned)
        evaluations = round((planned.cell.evals or _USUAL_EVALUATIONS) * _parts(planned))
        each = open_benchmark(planned.cell.bench).seconds
        if planned.cell.evals is None and each:
            evaluations = round(seconds * planned.cell.workers / each * _parts(planned))
        return Cost(seconds, evaluations, False)


def stated(planned: PlannedCell) -> float:
    """Seconds of one run as its method and benchmark state them: suggestions, evaluations, and a search beforehand."""
    cell, benchmark = planned.cell, open_benchmark(planned.cell.bench)
    each = planned.spec.method.seconds * _parts(planned) + benchmark.seconds / cell.workers
    found = (cell.evals or _USUAL_EVALUATIONS) * each + planned.beginning
    if cell.seconds is not None and benchmark.live:
        within = cell.seconds if cell.evals is None else min(found, cell.seconds)
        return max(within, planned.beginning)
    return found


def _parts(planned: PlannedCell) -> float:
    """Evaluations for one whole evaluation's worth: of a method that chooses how long to train, many are in part.

    Those of successive halving with η = 3: other methods and options make a half of it, or twice as many.
    """
    fidelity = open_benchmark(planned.cell.bench).fidelity
    if fidelity is None or not planned.spec.method.needs_fidelity:
        return 1.0
    levels = rungs(fidelity, 3)
    counts = sizes(len(levels), len(levels) - 1, 3)
    paid = [level - before for level, before in zip(levels, [0, *levels], strict=False)]
    if not fidelity.continuable:
        paid = levels
    return sum(counts) * levels[-1] / sum(n * level for n, level in zip(counts, paid, strict=True))


def _kind(cell: Cell) -> tuple[str, str, str]:
    return cell.method, cell.bench, cell.protocol
