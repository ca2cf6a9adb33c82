"""The time that is left of a session: what methods and benchmarks state, corrected by runs as they finish."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import monotonic

from nasbench.cli.engine.costs import Costs, stated
from nasbench.cli.engine.plan import PlannedCell
from nasbench.cli.layout import span
from nasbench.results import Store

_LEAST = 1.0  # seconds stated, below which what runs took tells of their beginning and not of their method


class Forecast:
    """The seconds that missing runs will take, looked up in the store that they are written to.

    A run takes what stored ones of its method, benchmark and protocol took (their median). Where there is none, it
    takes what is stated, corrected by the ratio of what runs of its method, or else all runs, took to what was stated.

    Args:
        store: the store.
        missing: the cells, each with the seeds that are to be computed; a complete cell, too, tells how long runs take.
        jobs: number of runs computed at the same time.
    """

    def __init__(self, store: Store, missing: Sequence[tuple[PlannedCell, Sequence[int]]], jobs: int) -> None:
        self._store = Store(store.folder)  # of its own: the session's is at work in another thread
        self._missing, self._jobs = missing, jobs
        self._stated = {planned.cell.id: stated(planned) for planned, _ in missing}
        self._looking, self._begun = threading.Lock(), monotonic()

    def left(self, under_way: float = 0.0) -> str:
        """The time that is left, for people; as long as no run has finished, an idle machine is assumed, and said.

        Args:
            under_way: how much is done of runs that are not stored: half of one and half of another are 1.
        """
        with self._looking:
            stored, costs = self._store.runs(), Costs(self._store)
        each, is_measured = self._each(costs)
        runs = {p.cell.id: len(set(seeds) - stored.get(p.cell.id, {}).keys()) for p, seeds in self._missing}
        number = sum(runs.values())
        whole = sum(count * each[cell] for cell, count in runs.items()) / max(1, min(self._jobs, number))
        if not is_measured and monotonic() - self._begun > whole:
            return f"longer than the {span(whole)} that it should take on an idle machine"
        left = whole * max(0.0, 1 - under_way / max(number, 1))
        return f"about {span(left)} left" + ("" if is_measured else " on an idle machine")

    def _each(self, costs: Costs) -> tuple[dict[str, float], bool]:
        """Seconds of a run of each cell, by the cell's id; and whether any of them was measured."""
        found = {planned.cell.id: costs.of(planned) for planned, _ in self._missing}
        names = {planned.cell.id: planned.spec.name for planned, _ in self._missing}
        measured = [cell for cell, cost in found.items() if cost.measured]

        def ratio(cells: list[str]) -> float | None:
            expected = sum(self._stated[cell] for cell in cells)
            return sum(found[cell].seconds for cell in cells) / expected if expected >= _LEAST else None

        overall = ratio(measured) or 1.0
        of_methods = {name: ratio([c for c in measured if names[c] == name]) or overall for name in names.values()}
        each = {c: cost.seconds if cost.measured else cost.seconds * of_methods[names[c]] for c, cost in found.items()}
        return each, bool(measured)
