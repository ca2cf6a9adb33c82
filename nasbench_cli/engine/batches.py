"""The unit of work of every executor: some missing runs of one cell, and their trajectories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from nasbench.benchmarks import open_benchmark
from nasbench.benchmarks.repeatability import Repeatable
from nasbench.benchmarks.spaces.foreign import cleaned
from nasbench.benchmarks.training.faults import DeviceLost
from nasbench.cli.engine.plan import PlannedCell
from nasbench.cli.engine.pool import Lost
from nasbench.cli.engine.progress import notices_about
from nasbench.cli.engine.runner import begin_together, died, run
from nasbench.cli.engine.workers import Diverged, explained
from nasbench.methods import METHODS
from nasbench.results import Interrupted, Store, StoreError, Trajectory
from nasbench.results.store.fragment import RunRecord
from nasbench.results.store.journal import Journal, forget, keep_for_retry
from nasbench.results.store.under_way import begun

_BATCH_ROWS = 50_000  # of one fragment: bounds the memory of a batch and the number of files
_COMMIT_SECONDS = 5.0  # the most that a kill can cost where evaluations are cheap


@dataclass(frozen=True)
class Batch:
    """Some missing runs of one cell: the unit of work, and at most one fragment unless its runs are slow.

    Live runs come one by one, or as a stack: what they begin with is computed for all at once.
    """

    planned: PlannedCell
    seeds: tuple[int, ...]

    @property
    def repeatable(self) -> Repeatable:
        """The machines on which these runs can be repeated bit for bit."""
        benchmark = open_benchmark(self.planned.cell.bench)
        return Repeatable.both(self.planned.spec.method.repeatable, benchmark.repeatable)

    @property
    def apart(self) -> str:
        """The method's name if it is a third party's, which shares no process with other methods; else empty."""
        name = self.planned.spec.name
        return name if METHODS.is_foreign(name) else ""

    @property
    def device(self) -> str:
        """The GPU that computes it, if this process does (`Benchmark.device`)."""
        return open_benchmark(self.planned.cell.bench).device

    def single(self) -> list[Batch]:
        """The smallest batches there are: a run each."""
        return [Batch(self.planned, (seed,)) for seed in self.seeds]


class Computed(NamedTuple):
    """Trajectories to be stored together, and what there is to say of runs that are left out."""

    trajectories: list[Trajectory]
    notices: list[str]


def batches(missing: list[tuple[PlannedCell, list[int]]], jobs: int, stack: int = 1) -> list[Batch]:
    """Cuts the missing runs into batches: large enough to make few files, small enough to keep every job busy.

    Args:
        stack: how many runs begin together, where their method can.
    """
    found = []
    for planned, seeds in missing:
        is_live = open_benchmark(planned.cell.bench).live
        if is_live:
            size = stack if planned.spec.method.stacks else 1
        else:
            size = max(1, _BATCH_ROWS // (planned.cell.evals or 1000))
            if len(missing) < 2 * jobs:
                size = min(size, -(-len(seeds) // jobs))
        found += [Batch(planned, tuple(seeds[i : i + size])) for i in range(0, len(seeds), size)]
    return found


def compute(batch: Batch, journals: Path, is_stored: Callable[[int], bool] = lambda _: False) -> Iterator[Computed]:
    """Computes the runs of a batch; yields what is worth storing, every few seconds or, of live runs, one by one.

    Args:
        journals: where runs whose evaluations are expensive keep what they have done so far (`commit` clears it away).
        is_stored: asked just before a live run, which another command may have computed meanwhile.
    """
    cell = batch.planned.cell
    benchmark = open_benchmark(cell.bench)
    with cleaned():
        benchmark.make_ready()
        if benchmark.live or cell.charge_thinking:
            batch.planned.spec.method.make_ready()
    if benchmark.live and len(batch.seeds) > 1:
        damage = _begin_together(batch.planned, [seed for seed in batch.seeds if not is_stored(seed)], journals)
        yield Computed([], damage)
    done: list[Trajectory] = []
    yielded = monotonic()
    for seed in batch.seeds:
        if benchmark.live:
            yield _compute_live(batch.planned, seed, journals, is_stored)
            continue
        done.append(_run(batch.planned, seed))
        if monotonic() - yielded > _COMMIT_SECONDS:
            yield Computed(done, [])
            done, yielded = [], monotonic()
    if done:
        yield Computed(done, [])


def commit(
    batch: Batch, computed: Iterable[Computed], store: Store, provenance: dict[str, Any]
) -> Iterator[list[RunRecord]]:
    """Stores what has been computed of a batch, as it comes; yields the records of what was not there already."""
    cell, provenance = batch.planned.cell, {**provenance, "repeatable": batch.repeatable}
    for trajectories, notices in computed:
        store.notices += notices
        if trajectories:
            yield store.commit(cell, trajectories, provenance)
            for trajectory in trajectories:
                journal = store.journals / f"{cell.run_id(trajectory.seed)}.jsonl"
                if not trajectory.failure and "failed" not in trajectory.columns["status"]:
                    forget(journal)
                elif journal.exists():
                    keep_for_retry(journal)


def give_up(batch: Batch, lost: Lost, store: Store, provenance: dict[str, Any]) -> list[RunRecord]:
    """Records a single run that took its process down as failed; one whose process was killed is left missing.

    What its journal holds is stored, as of a run whose method failed.
    """
    cell, (seed,) = batch.planned.cell, batch.seeds
    if lost.killed:
        store.notices.append(
            f"{cell.method} on {cell.bench}, {cell.constraint}, seed {seed}, is left out: {lost.reason}"
        )
        return []
    rows = next((run.rows for run in begun(store.journals, [(cell, seed)])), [])
    return store.commit(cell, [died(cell, seed, lost.reason, rows)], provenance)


def _run(planned: PlannedCell, seed: int, journal: Journal | None = None) -> Trajectory:
    """One run. Where the harness itself fails beside a third party's method, which may have changed anything in this
    process, it is a failed run of that method."""
    cell = planned.cell
    try:
        return run(cell, seed, planned.spec, open_benchmark(cell.bench), planned.bounds, journal)
    except (Diverged, DeviceLost, StoreError, OSError):
        raise  # it says nothing of the method
    except Exception as error:
        if not METHODS.is_foreign(planned.spec.name):
            raise
        return died(cell, seed, f"the process is not sound after this method: {explained(error)}")


def _begin_together(planned: PlannedCell, seeds: list[int], journals: Path) -> list[str]:
    """What runs begin with, for all at once: it is left beside their journals; returns what was wrong with these."""
    cell, notices = planned.cell, []
    with ExitStack() as held:
        begun = []
        for seed in seeds:
            identity = cell.run_id(seed)
            try:
                journal = held.enter_context(closing(Journal(journals / f"{identity}.jsonl", identity)))
            except Interrupted:
                raise
            except StoreError:
                continue  # another process is computing it, or the journal is another run's: its own turn will tell
            notices += [journal.damage] if journal.damage else []
            begun.append((seed, journal.state("method")))
        if len(begun) > 1:
            with notices_about(f"{cell.method} on {cell.bench}, {cell.constraint}, {len(begun)} seeds as one"):
                begin_together(cell, planned.spec, open_benchmark(cell.bench), planned.bounds, begun)
    return notices


def _compute_live(planned: PlannedCell, seed: int, journals: Path, is_stored: Callable[[int], bool]) -> Computed:
    cell = planned.cell
    identity, who = cell.run_id(seed), f"{cell.method} on {cell.bench}, seed {seed}"
    try:
        journal = Journal(journals / f"{identity}.jsonl", identity)
    except Interrupted:
        raise
    except StoreError as error:
        return Computed([], [f"{who}, is left out: {error}"])
    notices = [journal.damage] if journal.damage else []
    try:
        if is_stored(seed):  # by another command, while this one had other work or waited for the journal
            forget(journals / f"{identity}.jsonl")
            return Computed([], notices)
        with notices_about(f"{cell.method} on {cell.bench}, {cell.constraint}, seed {seed}"):
            trajectory = _run(planned, seed, journal)
    except Diverged as error:
        return Computed([], [*notices, f"{who}, cannot be resumed: {error}; {journal.advice}"])
    finally:
        journal.close()
    return Computed([trajectory], notices)
