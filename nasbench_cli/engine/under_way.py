"""What there is to say of runs that are under way: how far they are, their incumbents, and the time left."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from nasbench.cli.engine.progress import UnderWay
from nasbench.cli.layout import span
from nasbench.results import Cell, Store, StoreError
from nasbench.results.display.numbers import count
from nasbench.results.store.under_way import Begun, begun

_MOST_LINES = 8  # below a bar


@dataclass(frozen=True)
class Missing:
    """The live runs that a session computes, looked up in the journals of its store while it computes them."""

    store: Store
    runs: tuple[tuple[Cell, int], ...]

    def look(self) -> UnderWay:
        """Those that are under way at this moment."""
        store = Store(self.store.folder)  # of its own: the session's is at work in another thread
        try:
            found = [run for run in begun(store.journals, self.runs) if not store.has(run.cell, run.seed)]
        except (StoreError, OSError):
            found = []  # whoever computes will meet it too, and say it
        return UnderWay(sum(run.share for run in found), said_of(found, _MOST_LINES))


def said_of(runs: Iterable[Begun], most: int) -> list[str]:
    """One line per run that is under way; those beyond `most` are counted."""
    lines = [said(run) for run in runs]
    return lines if len(lines) <= most else [*lines[:most], f"… and {len(lines) - most} more"]


def said(run: Begun) -> str:
    """How far a run is, its incumbent, and the seconds left if it goes on as before."""
    cell, setting = run.cell, run.cell.setting
    where = f"{cell.method} on {cell.bench}, {cell.constraint}, seed {run.seed} (partial)"
    if not run.records:
        return f"{where}: no evaluation has finished"
    of = f" of {cell.evals}" if cell.evals is not None and run.spent == len(run.records) else ""
    best = f"best {setting.objective} {run.incumbent:.4g} {setting.unit}".rstrip()
    found = "nothing feasible" if math.isnan(run.incumbent) else best
    left = f"; about {span(run.clock * (1 / run.share - 1))} left" if 0 < run.share < 1 else ""
    evaluations = count(len(run.records), "evaluation") if not of else f"{len(run.records)}{of} evaluations"
    return f"{where}: {evaluations}, {span(run.clock)} on its clock, {found}{left}"
