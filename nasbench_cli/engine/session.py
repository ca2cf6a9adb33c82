"""One command's work on a store: the runs that it asks for, those that are missing, and what became of them."""

from __future__ import annotations

import os
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from nasbench.benchmarks import open_benchmark
from nasbench.benchmarks.spaces.foreign import interrupts_noted
from nasbench.cli.engine.executors import Executor
from nasbench.cli.engine.plan import PlannedCell, expand
from nasbench.cli.engine.suites import Shard, Suite
from nasbench.results import Store, StoreError
from nasbench.results.store.fragment import RunRecord
from nasbench.results.store.journal import drop_failed, forget


@dataclass(frozen=True)
class Session:
    """The runs that a command asks for, and the store that they belong to."""

    store: Store
    """The store that is read and written."""
    planned: list[PlannedCell]
    """Every cell that was asked for, with its seeds."""
    missing: list[tuple[PlannedCell, list[int]]]
    """Each planned cell with the seeds that the store lacked at the beginning: none for a complete cell."""

    @property
    def to_do(self) -> list[tuple[PlannedCell, list[int]]]:
        """The incomplete cells, each with its missing seeds."""
        return [(planned, seeds) for planned, seeds in self.missing if seeds]

    def compute(self, executor: Executor) -> Generator[list[RunRecord], None, None]:
        """Computes and stores the missing runs; yields the records of those newly stored, as they come."""
        with interrupts_noted():
            yield from executor.execute(self.to_do, self.store)

    def outcome(self) -> tuple[list[tuple[PlannedCell, RunRecord]], int]:
        """The stored runs of this session that failed or have a failed evaluation, and how many the store lacks."""
        stored = self.store.runs()
        found = [(p, stored.get(p.cell.id, {}), seed) for p in self.planned for seed in p.seeds]
        failures = [(p, runs[seed]) for p, runs, seed in found if seed in runs and runs[seed].failed]
        return failures, sum(seed not in runs for _, runs, seed in found)


def begin(
    suite: Suite, folder: Path, command: str, *, retry_failed: bool = False, shard: Shard | None = None
) -> Session:
    """Opens or creates a store, records the request in it, and finds the missing runs.

    Args:
        command: the command line that makes the request; `nasbench status` prints it to finish the store.
        retry_failed: move failed runs aside, so that they are missing again.
        shard: the part of the suite to take; by default all of it.

    Raises UsageError if a cell of the suite cannot run, or data are missing; StoreError if the folder is no store.
    """
    folder = Path(os.path.abspath(folder))  # now: a method may change the working directory
    with interrupts_noted():
        planned = expand(suite.grids)
    if shard is not None:
        planned = shard.of(planned)
    _make_ready(planned, folder, retry_failed)
    store = Store.create(folder)
    store.supersede(p.cell for p in planned)
    if retry_failed:
        _forget_failed(store, planned)
    store.save_plan(command, [(p.cell, list(p.seeds)) for p in planned], suite.wishes)
    _forget_finished(store)
    stored = store.runs()
    missing = [(p, [seed for seed in p.seeds if seed not in stored.get(p.cell.id, {})]) for p in planned]
    return Session(store, planned, missing)


def is_live(planned: PlannedCell) -> bool:
    """Whether the evaluations of a cell are computed now, on the wall clock, rather than looked up."""
    return open_benchmark(planned.cell.bench).live


def _make_ready(planned: list[PlannedCell], folder: Path, retry_failed: bool) -> None:
    """Prepares the live benchmarks that will be run, before anything is written to the store."""
    live = [p for p in planned if is_live(p)]
    if not live:
        return  # the others are made ready as their runs begin: to look for what is stored twice would not be worth it
    try:
        known = Store.open(folder).runs()
    except StoreError:
        known = {}  # there is none yet, or `Store.create` will say what is wrong
    missing = (p for p in live if retry_failed or set(p.seeds) - known.get(p.cell.id, {}).keys())
    for name in dict.fromkeys(p.cell.bench for p in missing):
        open_benchmark(name).make_ready()


def _forget_finished(store: Store) -> None:
    """Deletes the journals of stored runs: a command may have been interrupted between storing and deleting."""
    left = {path.stem: path for path in store.journals.glob("*.jsonl")}
    for f in store.fragments() if left else ():
        for run in f.runs:
            path = left.get(f.cell.run_id(run.seed))
            if path is not None and not run.failed:
                forget(path)


def _forget_failed(store: Store, planned: list[PlannedCell]) -> None:
    stored = store.runs()
    for p in planned:
        failed = {seed for seed in p.seeds if seed in stored.get(p.cell.id, {}) and stored[p.cell.id][seed].failed}
        if failed:
            store.forget(p.cell, failed)
        for seed in failed:
            drop_failed(store.journals / f"{p.cell.run_id(seed)}.jsonl")
