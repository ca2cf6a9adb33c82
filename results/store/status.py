"""What is there, what is missing, and what is wrong: a store held against the plans it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from nasbench.results.store.fragment import RunRecord
from nasbench.results.store.store import Store
from nasbench.results.store.trajectory import Cell

State: TypeAlias = Literal["complete", "partial", "missing", "failed", "stale"]


@dataclass(frozen=True)
class CellStatus:
    """The runs of one cell: asked for and stored."""

    cell: Cell
    asked: tuple[int, ...]
    """Seeds that some plan asks for, or that are stored."""
    stored: dict[int, RunRecord]
    begun: int
    """Missing runs that have a journal to continue from."""
    stale: bool
    """Made with other data or another version of the method than this installation has."""
    is_known: bool
    """False: this installation lacks the benchmark or the method, and cannot tell whether the runs are stale."""
    commands: tuple[str, ...]
    """Those that asked for seeds of this cell that are missing or stale, oldest first."""

    @property
    def missing(self) -> list[int]:
        """Seeds asked for but not stored."""
        return [seed for seed in self.asked if seed not in self.stored]

    @property
    def failed(self) -> list[RunRecord]:
        """Stored runs with a failure in them."""
        return [run for run in self.stored.values() if run.failed]

    @property
    def state(self) -> State:
        """The worst that is true of the cell."""
        if self.stale:
            return "stale"
        if not self.stored:
            return "missing"
        if self.missing:
            return "partial"
        return "failed" if self.failed else "complete"


def status(store: Store, is_current: Callable[[Cell], bool | None]) -> list[CellStatus]:
    """The state of every cell that is stored or asked for, sorted by benchmark, constraint and method.

    Args:
        is_current: whether a cell's data and method are those of this installation; None if it cannot tell.
    """
    asked: dict[tuple[Any, ...], list[tuple[Cell, list[int], str]]] = {}
    for plan in store.plans():
        for cell, seeds in plan["cells"]:
            asked.setdefault(cell.key, []).append((cell, seeds, str(plan["command"])))
    # Of two plans for one cell, made with different data or code, the later one counts.
    planned = {key: wishes[-1][0] for key, wishes in asked.items()}
    stored: dict[str, dict[int, RunRecord]] = {}
    cells = {cell.id: cell for cell in planned.values()}
    for f in store.fragments():
        cells[f.cell.id] = f.cell
        stored.setdefault(f.cell.id, {}).update({run.seed: run for run in f.runs})
    journals = {path.stem for path in store.journals.glob("*.jsonl")}
    found = []
    for cell in sorted(cells.values(), key=_order):
        runs, wishes = stored.get(cell.id, {}), asked.get(cell.key, [])
        wanted = wishes if planned.get(cell.key, cell).id == cell.id else []
        seeds = tuple(sorted({*runs, *(seed for _, some, _ in wanted for seed in some)}))
        begun = sum(cell.run_id(seed) in journals for seed in seeds if seed not in runs)
        current = is_current(cell) if runs else True
        stale = current is False
        commands = [command for _, some, command in wishes if stale or not runs.keys() >= set(some)]
        found.append(CellStatus(cell, seeds, runs, begun, stale, current is not None, tuple(dict.fromkeys(commands))))
    return found


def _order(cell: Cell) -> tuple[Any, ...]:
    return cell.bench, cell.constraint, cell.method, cell.protocol
