"""Describes runs that are under way: their progress, their incumbents, and the remaining time."""

from __future__ import annotations

import math
from collections.abc import Iterable

from nasbench.base.layout import span
from nasbench.base.numbers import count
from nasbench.cli.engine.events import UnderWay
from nasbench.results import Setup, Store, StoreError
from nasbench.results.store.under_way import BegunRun, begun

_MOST_LINES = 8  # below a progress bar


def look(store: Store, runs: Iterable[tuple[Setup, int]]) -> UnderWay:
    """The live runs among these that are under way at this moment, by the journals of their store."""
    store = Store(store.folder)  # a second instance: that of the session is used by another thread
    try:
        found = [run for run in begun(store.journals, runs) if not store.has(run.setup, run.seed)]
    except (StoreError, OSError):
        found = []  # the process that computes will find the problem, too, and report it
    return UnderWay(sum(run.share for run in found), described(found, _MOST_LINES))


def described(runs: Iterable[BegunRun], most: int) -> list[str]:
    """One line per run that is under way; runs beyond `most` are only counted."""
    lines = [_line(run) for run in runs]
    return lines if len(lines) <= most else [*lines[:most], f"… and {len(lines) - most} more"]


def _line(run: BegunRun) -> str:
    """Progress of a run, its incumbent, and the remaining time at the same speed."""
    setup, setting = run.setup, run.setup.setting
    where = f"{setup.title}, seed {run.seed} (partial)"
    if not run.records:
        return f"{where}: no evaluation has finished"
    done = sum(not record.refused for record in run.records)
    of = f" of {setup.evals}" if setup.evals is not None and run.spent == done else ""
    name, unit = setting.objective, setting.unit
    if setup.objectives:  # the incumbent of a journal is that of the first
        name = setup.objectives[0]
        unit = next((unit for metric, unit, *_ in setting.scales if metric == name), "")
    best = f"best {name} {run.incumbent:.4g} {unit}".rstrip()
    if run.level < setting.highest:
        best += f" at level {run.level} of {setting.highest}"
    incumbent = "nothing feasible" if math.isnan(run.incumbent) else best
    left = f"; about {span(run.clock * (1 / run.share - 1))} left" if 0 < run.share < 1 else ""
    evaluations = count(done, "evaluation") if not of else f"{done}{of} evaluations"
    return f"{where}: {evaluations}, {span(run.clock)} on its clock, {incumbent}{left}"
