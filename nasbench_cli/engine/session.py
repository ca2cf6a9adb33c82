"""One command's work on a store: which runs it asks for, which of them are missing, what became of them."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from nasbench.benchmarks import open_benchmark
from nasbench.cli.engine.executors import Executor
from nasbench.cli.engine.plan import PlannedCell, expand
from nasbench.cli.engine.suites import Shard, Suite
from nasbench.results import Store, StoreError
from nasbench.results.store.fragment import RunRecord
from nasbench.results.store.journal import drop_failed


@dataclass(frozen=True)
class Session:
    """The runs that were asked for, and the store they belong to."""

    store: Store
    planned: list[PlannedCell]
    missing: list[tuple[PlannedCell, list[int]]]
    """For each planned cell the seeds that the store lacked at the beginning; empty lists included."""

    @property
    def to_do(self) -> list[tuple[PlannedCell, list[int]]]:
        """The cells that lack a run, with their missing seeds."""
        return [(planned, seeds) for planned, seeds in self.missing if seeds]

    def compute(self, executor: Executor) -> Generator[list[RunRecord], None, None]:
        """Computes and stores the missing runs; yields the records of those newly stored, as they come."""
        return executor.execute(self.to_do, self.store)

    def failures(self) -> list[tuple[PlannedCell, RunRecord]]:
        """The stored runs of this session that failed, or have a failed evaluation."""
        stored = self.store.runs()
        found = ((p, stored.get(p.cell.id, {})) for p in self.planned)
        return [(p, runs[seed]) for p, runs in found for seed in p.seeds if seed in runs and runs[seed].failed]

    def absent(self) -> int:
        """The number of runs of this session that the store still lacks."""
        stored = self.store.runs()
        return sum(seed not in stored.get(p.cell.id, {}) for p in self.planned for seed in p.seeds)


def begin(
    suite: Suite, folder: Path, command: str, *, retry_failed: bool = False, shard: Shard | None = None
) -> Session:
    """Opens or creates the store, writes down what was asked of it, and finds what is missing.

    Args:
        command: the command line that asks, for `nasbench status` to repeat.
        retry_failed: forget runs that failed, so that they are missing again.
        shard: a part of the suite; the others are some other machine's.

    Raises UsageError if a cell of the suite cannot run, or data are missing; StoreError if the folder is no store.
    """
    planned = expand(suite.grids)
    if shard is not None:
        planned = shard.of(planned)
    _make_ready(planned, folder, retry_failed)
    store = Store.create(folder)
    store.supersede(p.cell for p in planned)
    if retry_failed:
        _forget_failed(store, planned)
    store.save_plan(command, [(p.cell, list(p.seeds)) for p in planned], suite.wishes)
    stored = store.runs()
    missing = [(p, [seed for seed in p.seeds if seed not in stored.get(p.cell.id, {})]) for p in planned]
    return Session(store, planned, missing)


def is_live(planned: PlannedCell) -> bool:
    """Whether the evaluations of a cell compute now, on the clock of the wall."""
    return open_benchmark(planned.cell.bench).live


def _make_ready(planned: list[PlannedCell], folder: Path, retry_failed: bool) -> None:
    """Readies the live benchmarks that are to be run, before anything is written."""
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


def _forget_failed(store: Store, planned: list[PlannedCell]) -> None:
    stored = store.runs()
    for p in planned:
        failed = {seed for seed in p.seeds if seed in stored.get(p.cell.id, {}) and stored[p.cell.id][seed].failed}
        if failed:
            store.forget(p.cell, failed)
        for seed in failed:
            drop_failed(store.journals / f"{p.cell.run_id(seed)}.jsonl")
