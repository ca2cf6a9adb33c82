"""The unit of work of every executor: some missing runs of one setup, and how they are computed."""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from nasbench.base.faults import DeviceLost
from nasbench.base.foreign import at_work, guarded
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks import BENCHMARKS, UsageError, abilities, open_benchmark
from nasbench.benchmarks.spec import BenchmarkSpec
from nasbench.cli.engine.evaluations import explained
from nasbench.cli.engine.events import Notice, collected, notices_about
from nasbench.cli.engine.failures import FEWEST, OF_BENCHMARK
from nasbench.cli.engine.loop import died, run
from nasbench.cli.engine.plan import PlannedSetup
from nasbench.cli.engine.provenance import provenance
from nasbench.cli.engine.shared_state import runs_watched
from nasbench.cli.engine.workers import Diverged
from nasbench.results import Interrupted, StoreError, Trajectory
from nasbench.results.store.journal import Journal, forget

_BATCH_ROWS = 50_000  # rows of one fragment: bounds the memory of a batch and the number of files
_COMMIT_SECONDS = 5.0  # longest work that a kill can cost where evaluations are cheap


@dataclass(frozen=True)
class Batch:
    """Some missing runs of one setup: the unit of work, and at most one fragment unless its runs are slow."""

    planned: PlannedSetup
    seeds: tuple[int, ...]

    @property
    def owner(self) -> str:
        """Name of the method if it is a third party's, which shares no process with other methods; else empty."""
        spec = self.planned.spec
        return spec.name if spec.is_foreign else ""

    @property
    def where(self) -> str:
        """The runs in words, for messages."""
        seeds = self.seeds
        named = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
        return f"{self.planned.setup.title}, {named},"

    @property
    def workers(self) -> int:
        """Number of evaluations that a run computes at the same time: one where they are looked up in a table."""
        return self.planned.setup.workers if self.planned.live else 1

    @property
    def gpus(self) -> float:
        """Share of a GPU that a run can use, as its benchmark states it."""
        return abilities.gpus(open_benchmark(self.planned.setup.bench))

    @property
    def device(self) -> str:
        """The GPU that computes the batch if this process does; empty for a CPU (`Benchmark.device`)."""
        return abilities.device(open_benchmark(self.planned.setup.bench))

    @property
    def repeatable(self) -> str:
        """The machines on which these runs can be repeated bit for bit; empty if measured times decide what happens."""
        setup = self.planned.setup
        benchmark = open_benchmark(setup.bench)
        judged = [*(bound.metric for bound in self.planned.bounds), *abilities.objectives(benchmark, setup.objectives)]
        of_times = any(metric.unit in ("s", "ms") for metric in judged)
        if setup.charge_thinking or (benchmark.live and (setup.seconds is not None or setup.workers > 1 or of_times)):
            return ""
        return Repeatable.both(self.planned.spec.repeatable, benchmark.repeatable)

    @property
    def sources(self) -> dict[str, Any]:
        """The source files of method and benchmark, for the provenance of these runs."""
        return {"sources": [vars(source) for source in self.planned.sources]}

    def single(self) -> list[Batch]:
        """The smallest batches: one per run."""
        return [Batch(self.planned, (seed,)) for seed in self.seeds]


class Computed(NamedTuple):
    """Trajectories to be stored together, and notices about runs that are left out."""

    trajectories: list[Trajectory]
    notices: list[str]


class BatchResult(NamedTuple):
    """Everything that was computed for a batch, to be sent to the process that writes the store."""

    computed: list[Computed]
    made_by: dict[str, Any]
    """Provenance: the versions and the machine that computed it."""
    notices: list[Notice]
    """Warnings on the way."""


def cut(missing: Sequence[tuple[PlannedSetup, list[int]]], jobs: int) -> list[Batch]:
    """Cuts the missing runs into batches: large enough to make few files, small enough to keep every job busy.

    Live runs come one by one. The first runs of a method are a batch of their own: perhaps it fails in all of them.
    """
    batches: list[Batch] = []
    begun = Counter[str]()
    for planned, seeds in missing:
        size = 1 if planned.live else max(1, _BATCH_ROWS // (planned.setup.evals or 1000))
        if len(missing) < 2 * jobs:
            size = min(size, -(-len(seeds) // jobs))
        first = min(size, max(FEWEST - begun[planned.setup.method], 0) or size)
        begun[planned.setup.method] += len(seeds)
        ends = [0, *range(first, len(seeds), size), len(seeds)]
        batches += [Batch(planned, tuple(seeds[i:j])) for i, j in itertools.pairwise(ends)]
    return batches


def compute_batch(batch: Batch, journals: Path) -> BatchResult:
    """Computes a batch in a process that does not write the store: another one, perhaps on another machine.

    Args:
        journals: folder where live runs keep their progress (`Work.journals`); where this machine does not see it, an
            interrupted run starts again.
    """
    with tempfile.TemporaryDirectory() as scratch, collected() as notices:
        computed = list(compute(batch, journals if journals.is_dir() else Path(scratch)))
    return BatchResult(computed, provenance(batch.device), notices)


def compute(batch: Batch, journals: Path, is_stored: Callable[[int], bool] = lambda _: False) -> Iterator[Computed]:
    """Computes the runs of a batch; yields finished ones every few seconds, and live ones one by one.

    Warns if they leave something behind in the class of their method or beside it.

    Args:
        journals: folder where live runs keep their progress (`Work` removes it once they are stored).
        is_stored: tells just before a live run whether another command has stored it meanwhile.
    """
    setup, spec = batch.planned.setup, batch.planned.spec
    benchmark = open_benchmark(setup.bench)
    if benchmark.checksum != setup.data:  # in another process, on another machine, or since a table was imported again
        raise UsageError(
            f"the data of {setup.bench} are not those that the command began with ({benchmark.checksum}, not "
            f"{setup.data}): give the command again once they are settled"
        )
    with guarded():
        abilities.make_ready(benchmark)
        with suppress(Exception, SystemExit):  # the runs will meet it too, and record it
            spec.method.make_ready()
    done: list[Trajectory] = []
    yielded = monotonic()
    with runs_watched(spec.method, spec.name):
        for seed in batch.seeds:
            if benchmark.live:
                yield _compute_live(batch.planned, seed, journals, is_stored)
                continue
            done.append(trajectory_of(batch.planned, seed))
            if monotonic() - yielded > _COMMIT_SECONDS:
                yield Computed(done, [])
                done, yielded = [], monotonic()
        if done:
            yield Computed(done, [])


def trajectory_of(planned: PlannedSetup, seed: int, journal: Journal | None = None) -> Trajectory:
    """Computes one run. If the harness itself fails with a third party's method or benchmark, that run has failed.

    Such a method may have changed anything in this process, and such a benchmark may not know what it promises.
    """
    setup, benchmark = planned.setup, open_benchmark(planned.setup.bench)
    try:
        return run(setup, seed, planned.spec, benchmark, planned.bounds, journal)
    except (Diverged, DeviceLost, StoreError):
        raise  # not the fault of the method
    except Exception as error:
        is_of_store = not at_work(error, type(benchmark)) and not at_work(error, planned.spec.method)
        if isinstance(error, OSError) and is_of_store:
            raise
        if BENCHMARKS.is_foreign(BenchmarkSpec.parse(setup.bench).name):
            return died(setup, seed, f"{setup.bench} {OF_BENCHMARK}: {explained(error, type(benchmark))}")
        if not planned.spec.is_foreign:
            raise
        return died(setup, seed, f"the process is not sound after this method: {explained(error, planned.spec.method)}")


def _compute_live(planned: PlannedSetup, seed: int, journals: Path, is_stored: Callable[[int], bool]) -> Computed:
    setup = planned.setup
    identity, who = setup.run_id(seed), f"{setup.title}, seed {seed}"
    try:
        journal = Journal(journals / f"{identity}.jsonl", identity)
    except Interrupted:
        raise
    except StoreError as error:
        return Computed([], [f"{who}, is left out: {error}"])
    notices = [journal.damage] if journal.damage else []
    try:
        if is_stored(seed):  # by another command, while this one had other work or waited for the journal
            if not journal.records:  # that of a run with a failed evaluation is kept, for --retry-failed
                forget(journals / f"{identity}.jsonl")
            return Computed([], notices)
        with notices_about(who):
            trajectory = trajectory_of(planned, seed, journal)
    except Diverged as error:
        return Computed([], [*notices, f"{who}, cannot be resumed: {error}; {journal.advice}"])
    finally:
        journal.close()
    return Computed([trajectory], notices)
