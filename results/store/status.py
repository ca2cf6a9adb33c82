"""What is there, what is missing, and what is wrong: a store held against the plans it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from nasbench.results.store.fragment import RunRecord
from nasbench.results.store.store import Store
from nasbench.results.store.trajectory import Setup

State: TypeAlias = Literal["complete", "partial", "missing", "failed", "stale"]


@dataclass(frozen=True)
class SetupStatus:
    """The runs of one setup: asked for and stored."""

    setup: Setup
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
    """Those that asked for seeds of this setup that are missing or stale, oldest first."""

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
        """The worst that is true of the setup."""
        if self.stale:
            return "stale"
        if not self.stored:
            return "missing"
        if self.missing:
            return "partial"
        return "failed" if self.failed else "complete"


def status(store: Store, is_current: Callable[[Setup], bool | None]) -> list[SetupStatus]:
    """The state of every setup that is stored or asked for, sorted by benchmark, constraint and method.

    Args:
        is_current: whether a setup's data and method are those of this installation; None if it cannot tell.
    """
    asked: dict[tuple[Any, ...], list[tuple[Setup, list[int], str]]] = {}
    for plan in store.plans():
        for setup, seeds in plan["cells"]:
            asked.setdefault(setup.key, []).append((setup, seeds, str(plan["command"])))
    # Of two plans for one setup, made with different data or code, the later one counts.
    planned = {key: wishes[-1][0] for key, wishes in asked.items()}
    stored: dict[str, dict[int, RunRecord]] = {}
    setups = {setup.id: setup for setup in planned.values()}
    for f in store.fragments():
        setups[f.setup.id] = f.setup
        stored.setdefault(f.setup.id, {}).update({run.seed: run for run in f.runs})
    journals = {path.stem for path in store.journals.glob("*.jsonl")}
    found = []
    for setup in sorted(setups.values(), key=_order):
        runs, wishes = stored.get(setup.id, {}), asked.get(setup.key, [])
        wanted = wishes if planned.get(setup.key, setup).id == setup.id else []
        seeds = tuple(sorted({*runs, *(seed for _, some, _ in wanted for seed in some)}))
        begun = sum(setup.run_id(seed) in journals for seed in seeds if seed not in runs)
        current = is_current(setup) if runs else True
        stale = current is False
        commands = [command for _, some, command in wishes if stale or not runs.keys() >= set(some)]
        found.append(SetupStatus(setup, seeds, runs, begun, stale, current is not None, tuple(dict.fromkeys(commands))))
    return found


def _order(setup: Setup) -> tuple[Any, ...]:
    return setup.bench, setup.constraint, setup.method, setup.protocol
