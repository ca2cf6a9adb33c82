"""The status of a store: stored, missing, failed and stale runs, compared with the plans."""

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
    """The requested and stored runs of one setup."""

    setup: Setup
    asked: tuple[int, ...]
    """Seeds that a plan requests, or that are stored."""
    stored: dict[int, RunRecord]
    """Stored runs by seed."""
    begun: int
    """Number of missing runs with a journal from which they continue."""
    stale: bool
    """Whether the runs were made with other data or rules, or another version of the method, than are here."""
    is_known: bool
    """False if this installation lacks the benchmark or the method, so that `stale` is unknown."""
    commands: tuple[str, ...]
    """Commands that requested missing or stale seeds of this setup, oldest first."""

    @property
    def missing(self) -> list[int]:
        """Requested seeds that are not stored."""
        return [seed for seed in self.asked if seed not in self.stored]

    @property
    def failed(self) -> list[RunRecord]:
        """Stored runs with a failure."""
        return [run for run in self.stored.values() if run.failed]

    @property
    def state(self) -> State:
        """The worst state that applies to the setup."""
        if self.stale:
            return "stale"
        if not self.stored:
            return "missing"
        if self.missing:
            return "partial"
        return "failed" if self.failed else "complete"


def status(store: Store, is_current: Callable[[Setup], bool | None]) -> list[SetupStatus]:
    """The status of every setup that is stored or requested, sorted by benchmark, constraint and method.

    Args:
        is_current: whether a setup's data and method are those of this installation; None if it cannot tell.
    """
    asked: dict[tuple[Any, ...], list[tuple[Setup, list[int], str]]] = {}
    for plan in store.plans():
        for setup, seeds in plan["setups"]:
            asked.setdefault(setup.key, []).append((setup, seeds, str(plan["command"])))
    # If two plans have the same setup with different data or code, the later one counts.
    planned = {key: requests[-1][0] for key, requests in asked.items()}
    stored: dict[str, dict[int, RunRecord]] = {}
    setups = {setup.id: setup for setup in planned.values()}
    for f in store.fragments():
        setups[f.setup.id] = f.setup
        stored.setdefault(f.setup.id, {}).update({run.seed: run for run in f.runs})
    journals = {path.stem for path in store.journals.glob("*.jsonl")}
    statuses = []
    for setup in sorted(setups.values(), key=_order):
        runs, requests = stored.get(setup.id, {}), asked.get(setup.key, [])
        wanted = requests if planned.get(setup.key, setup).id == setup.id else []
        seeds = tuple(sorted({*runs, *(seed for _, requested, _ in wanted for seed in requested)}))
        begun = sum(setup.run_id(seed) in journals for seed in seeds if seed not in runs)
        current = is_current(setup) if runs else True
        stale = current is False
        commands = [command for _, requested, command in requests if stale or not runs.keys() >= set(requested)]
        statuses.append(
            SetupStatus(setup, seeds, runs, begun, stale, current is not None, tuple(dict.fromkeys(commands)))
        )
    return statuses


def _order(setup: Setup) -> tuple[Any, ...]:
    return setup.bench, setup.constraint, setup.method, setup.protocol
