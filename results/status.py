"""What is there, what is missing, and what is wrong: a store held against the plans it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from results.fragment import RunRecord
from results.store import Store
from results.trajectory import Cell

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
    command: str
    """The last command that asked for this cell; empty if its plan is gone."""

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


def status(store: Store, is_current: Callable[[Cell], bool]) -> list[CellStatus]:
    """The state of every cell that is stored or asked for, sorted by benchmark, constraint and method."""
    plans: dict[tuple[Any, ...], tuple[Cell, set[int], str]] = {}
    for plan in store.plans():  # oldest first: what was asked for last wins
        for entry in plan["cells"]:
            cell = Cell.from_json(entry["cell"])
            seeds = {*entry["seeds"], *plans.get(cell.key, (cell, set(), ""))[1]}
            plans[cell.key] = cell, seeds, str(plan["command"])
    stored: dict[str, dict[int, RunRecord]] = {}
    cells: dict[str, Cell] = {cell.id: cell for cell, _, _ in plans.values()}
    for f in store.fragments():
        cells[f.cell.id] = f.cell
        stored.setdefault(f.cell.id, {}).update({run.seed: run for run in f.runs})
    journals = {path.stem for path in store.journals.glob("*.jsonl")}
    found = []
    for cell in sorted(cells.values(), key=_order):
        planned, seeds, command = plans.get(cell.key, (cell, set(), ""))
        runs = stored.get(cell.id, {})
        asked = tuple(sorted({*runs, *(seeds if planned.id == cell.id else ())}))
        begun = sum(cell.run_id(seed) in journals for seed in asked if seed not in runs)
        found.append(CellStatus(cell, asked, runs, begun, bool(runs) and not is_current(cell), command))
    return found


def _order(cell: Cell) -> tuple[Any, ...]:
    return cell.bench, cell.constraint, cell.method, cell.protocol
