"""Remaining time of a session: as methods and benchmarks state it, corrected by runs as they finish."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import monotonic

from nasbench.base.layout import span
from nasbench.cli.engine.costs import Costs, stated
from nasbench.cli.engine.plan import PlannedSetup
from nasbench.results import Store, StoreError

_LEAST = 1.0  # stated seconds: shorter runs measure the start of a process rather than their method


class Forecast:
    """Estimated seconds that missing runs will take, from the store that they are written to.

    The estimate for a run is the median of stored runs of its method, benchmark and protocol. Without such runs it is
    the stated time, multiplied by the ratio of measured to stated time for runs of its method, or else for all runs.
    To each run is added what the session has needed beside its runs, per finished run: the start of processes, the
    conversion of tables, the writing of the store. It is added, not multiplied: most of it happens once, at first.

    Args:
        store: the store.
        missing: the setups, each with the seeds to compute; complete setups are included, since their times are known.
        jobs: number of runs computed at the same time.
    """

    def __init__(self, store: Store, missing: Sequence[tuple[PlannedSetup, Sequence[int]]], jobs: int) -> None:
        self._store = Store(store.folder)  # a second instance: that of the session is used by another thread
        self._missing, self._jobs = missing, jobs
        self._stated = {planned.setup.id: stated(planned) for planned, _ in missing}
        self._looking, self._begun = threading.Lock(), monotonic()

    def left(self, under_way: float = 0.0) -> str:
        """The remaining time in words. Before a run has finished it assumes, and says, that the machine is idle.

        Args:
            under_way: finished share of the runs that are under way: half of one and half of another are 1.
        """
        try:
            with self._looking:
                stored, costs = self._store.runs(), Costs(self._store)
        except (StoreError, OSError):
            return "time left unknown"  # the store's own errors are for the command that writes it
        each, is_measured = self._each(costs)
        runs = {p.setup.id: len(set(seeds) - stored.get(p.setup.id, {}).keys()) for p, seeds in self._missing}
        number = sum(runs.values())
        expected = sum(count * each[setup] for setup, count in runs.items())
        together = max(1, min(self._jobs, number))
        took = monotonic() - self._begun
        if not is_measured and took > expected / together:
            return f"longer than the {span(expected / together)} expected on an idle machine"
        if is_measured:
            finished = {p.setup.id: len(seeds) - runs[p.setup.id] for p, seeds in self._missing}
            done = sum(count * each[setup] for setup, count in finished.items())
            done += self._jobs * expected / max(number, 1)  # those under way may be nearly finished
            expected += number * max(0.0, took * self._jobs - done) / max(1, sum(finished.values()))
        left = expected / together * max(0.0, 1 - under_way / max(number, 1))
        if left < 1 <= under_way:  # what is under way may be done before the store has it
            return "nearly done"
        return f"about {span(left)} left" + ("" if is_measured else " on an idle machine")

    def _each(self, costs: Costs) -> tuple[dict[str, float], bool]:
        """Seconds per run by the id of its setup, and whether any of them was measured."""
        known = {planned.setup.id: costs.of(planned) for planned, _ in self._missing}
        names = {planned.setup.id: planned.spec.name for planned, _ in self._missing}
        measured = [setup for setup, cost in known.items() if cost.measured]

        def ratio(setups: list[str]) -> float | None:
            expected = sum(self._stated[setup] for setup in setups)
            return sum(known[setup].seconds for setup in setups) / expected if expected >= _LEAST else None

        overall = ratio(measured) or 1.0
        of_methods = {name: ratio([c for c in measured if names[c] == name]) or overall for name in names.values()}
        each = {c: cost.seconds if cost.measured else cost.seconds * of_methods[names[c]] for c, cost in known.items()}
        return each, bool(measured)
