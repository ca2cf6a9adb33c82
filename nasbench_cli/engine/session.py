"""The work of one command on a store: the requested runs, the missing ones, and their outcome."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from nasbench.base.errors import check_choice
from nasbench.base.foreign import errors_named, interrupts_noted
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks import UsageError, abilities, open_benchmark
from nasbench.benchmarks.spaces import AsSupernet
from nasbench.cli.engine.executors import Executor
from nasbench.cli.engine.plan import PlannedSetup, fitting
from nasbench.cli.engine.sources import current_sources
from nasbench.cli.engine.suites import Shard, Suite
from nasbench.cli.engine.work import Work
from nasbench.results import Store, StoreError
from nasbench.results.sources import changed
from nasbench.results.store.fragment import RunRecord
from nasbench.results.store.journal import drop_failed, forget, set_aside


@dataclass(frozen=True)
class Session:
    """The runs that a command requests, and their store."""

    store: Store
    requested: list[tuple[PlannedSetup, list[int]]]
    """Every requested setup with the seeds that the store lacked at the beginning; a complete setup has none."""
    anew: bool = False
    """Whether stored runs of a method were moved aside; what goes on with this work must not do so again."""
    left_out: tuple[str, ...] = ()
    """A sentence about each requested method and a reason why it does not run on some benchmark."""

    @property
    def planned(self) -> list[PlannedSetup]:
        """Every requested setup with its seeds."""
        return [planned for planned, _ in self.requested]

    @property
    def to_do(self) -> list[tuple[PlannedSetup, list[int]]]:
        """The incomplete setups, each with its missing seeds."""
        return [(planned, seeds) for planned, seeds in self.requested if seeds]

    def compute(self, executor: Executor, keep_going: bool = False) -> Generator[list[RunRecord], None, None]:
        """Computes and stores the missing runs; yields the records of newly stored runs, as they come.

        Args:
            keep_going: whether a method that fails in its first runs in the same way goes on.
        """
        with interrupts_noted(), _guard(executor):
            yield from executor.execute(Work(self.store, self.to_do, keep_going=keep_going))

    def outcome(self) -> tuple[list[tuple[PlannedSetup, RunRecord]], int]:
        """The requested runs that failed or have a failed evaluation, and the number of runs that the store lacks."""
        stored = self.store.runs()
        requested = [(p, stored.get(p.setup.id, {}), seed) for p in self.planned for seed in p.seeds]
        failures = [(p, runs[seed]) for p, runs, seed in requested if seed in runs and runs[seed].failed]
        return failures, sum(seed not in runs for _, runs, seed in requested)


def _guard(executor: Executor) -> AbstractContextManager[None]:
    """Names a third party's executor in what it raises."""
    kind = type(executor)
    if kind.__module__.startswith("nasbench."):
        return nullcontext()
    return errors_named(f"executor {kind.__name__} fails", StoreError, OSError)


def begin(
    suite: Suite,
    folder: Path,
    command: str,
    *,
    retry_failed: bool = False,
    anew: Sequence[str] = (),
    shard: Shard | None = None,
    unseal: bool = False,
    force: bool = False,
) -> Session:
    """Opens or creates a store, records the request in it, and finds the missing runs.

    Args:
        command: command line of the request; `nasbench status` prints it to finish the store.
        retry_failed: whether failed runs are moved aside, so that they are missing again, and interrupted runs go on
            from before their first failed evaluation.
        anew: methods whose stored and interrupted runs are moved aside, so that they are computed again.
        shard: which of several shards of the suite to compute; by default all of it.
        unseal: whether setups on sealed search spaces may run.
        force: whether searches may begin that are expected to take longer than the budget.

    Raises UsageError if no setup of the suite can run, one is on a sealed space, or lacks its data; StoreError if the
    folder is no store.
    """
    folder = Path(os.path.abspath(folder))  # a method may change the working directory later
    with interrupts_noted():
        wanted = fitting(suite.grids, force)
    planned = wanted.planned
    if not unseal:
        _refuse_sealed(planned)
    _refuse_strange(anew, planned)
    place = None
    if shard is not None:
        place, planned = shard.place(planned), shard.of(planned)
    sources = current_sources()
    planned = [replace(p, sources=tuple(sources(p.setup))) for p in planned]
    _make_ready(planned, folder, retry_failed or bool(anew))
    store = Store.create(folder)
    store.supersede(p.setup for p in planned)
    if retry_failed:
        _forget_failed(store, planned)
    _move_aside(store, [p for p in planned if not {p.spec.name, p.setup.method}.isdisjoint(anew)])
    store.save_plan(command, [(p.setup, list(p.seeds)) for p in planned], suite.display, place)
    _forget_finished(store)
    _begin_anew(store, [p for p in planned if p.live and p.spec.repeatable is Repeatable.NEVER])
    requested = {p.setup.id for p in planned}
    store.notices += changed([f for f in store.fragments() if f.setup.id in requested], sources)
    stored = store.runs()
    missing = [(p, [seed for seed in p.seeds if seed not in stored.get(p.setup.id, {})]) for p in planned]
    return Session(store, missing, bool(anew), wanted.left_out)


def _refuse_sealed(planned: list[PlannedSetup]) -> None:
    sealed = {p.setup.bench: p.setup.setting.space for p in planned if p.setup.setting.sealed}
    if sealed:
        bench, space = next(iter(sealed.items()))
        raise UsageError(
            f"the search space {space} of {bench} is sealed: no default of a method may be chosen on it; to judge "
            "methods there, add --sealed, and change none of them after seeing the results"
        )


def _refuse_strange(anew: Sequence[str], planned: list[PlannedSetup]) -> None:
    """Raises UsageError for a method of --anew that is not requested."""
    methods = list(dict.fromkeys(name for p in planned for name in (p.spec.name, p.setup.method)))
    for name in anew:
        check_choice("method of --anew", name, methods)


def _move_aside(store: Store, planned: list[PlannedSetup]) -> None:
    """Moves runs, also interrupted ones, aside; journals first: a run that is missing goes on from its journal."""
    stored, begun = store.runs(), {path.stem: path for path in store.journals.glob("*.jsonl")}
    for p in planned:
        for run in {p.setup.run_id(seed) for seed in p.seeds} & begun.keys():
            set_aside(begun[run], store.free_aside)
        if known := stored.get(p.setup.id, {}).keys() & set(p.seeds):
            store.forget(p.setup, known)


def _begin_anew(store: Store, planned: list[PlannedSetup]) -> None:
    """Moves the journals of runs aside that cannot go on, for their method does not propose the same twice."""
    begun = {path.stem: path for path in store.journals.glob("*.jsonl")} if planned else {}
    for p in planned:
        for seed in p.seeds:
            path = begun.get(p.setup.run_id(seed))
            if path is not None:
                set_aside(path, store.free_aside)
                store.notices.append(
                    f"{p.setup.title}, seed {seed}, begins anew: its method does not propose the same twice; what an "
                    f"interrupted attempt evaluated is kept in {store.folder / '_aside'}"
                )


def _make_ready(planned: list[PlannedSetup], folder: Path, retry_failed: bool) -> None:
    """Prepares live benchmarks, and images to search on, of missing runs before anything is written to the store."""
    prepared = [p for p in planned if p.live or AsSupernet in p.spec.method.needs.views]
    if not prepared:
        return  # other benchmarks are prepared when their runs begin
    try:
        known = Store.open(folder).runs()
    except StoreError:
        known = {}  # there is no store yet, or `Store.create` will say what is wrong
    missing = (p for p in prepared if retry_failed or set(p.seeds) - known.get(p.setup.id, {}).keys())
    for name in dict.fromkeys(p.setup.bench for p in missing):
        abilities.make_ready(open_benchmark(name))


def _forget_finished(store: Store) -> None:
    """Deletes journals of stored runs: an earlier command may have been interrupted between storing and deleting."""
    left = {path.stem: path for path in store.journals.glob("*.jsonl")}
    for f in store.fragments() if left else ():
        for run in f.runs:
            path = left.get(f.setup.run_id(run.seed))
            if path is not None and not run.failed:
                forget(path)


def _forget_failed(store: Store, planned: list[PlannedSetup]) -> None:
    """Forgets failed runs, and the failed evaluations of these and of interrupted runs with all that follows."""
    stored = store.runs()
    for p in planned:
        runs = stored.get(p.setup.id, {})
        failed = {seed for seed in p.seeds if seed in runs and runs[seed].failed}
        for seed in failed | (set(p.seeds) - runs.keys()):
            drop_failed(store.journals / f"{p.setup.run_id(seed)}.jsonl")
        if failed:
            store.forget(p.setup, failed)
