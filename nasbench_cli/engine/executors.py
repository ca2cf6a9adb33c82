"""Who computes the missing runs of a session: this process, several, or a cluster (`on_ray`)."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from nasbench.benchmarks.training.faults import DeviceLost
from nasbench.cli.engine.batches import Batch, batches, commit, compute, give_up
from nasbench.cli.engine.plan import PlannedCell
from nasbench.cli.engine.pool import Lost, in_processes
from nasbench.cli.engine.provenance import provenance
from nasbench.cli.engine.watch import NO_LIMITS, Limits
from nasbench.results import Store
from nasbench.results.store.fragment import RunRecord

_LOG = logging.getLogger("nasbench")


class Executor(Protocol):
    """What a session needs of whoever computes its runs."""

    def execute(
        self, missing: list[tuple[PlannedCell, list[int]]], store: Store
    ) -> Generator[list[RunRecord], None, None]:
        """Computes runs and stores them; yields the records of those newly stored, as they come.

        A run depends on its cell and seed only, so the store's contents do not depend on who computes. Closing the
        iterator stops the work at once.
        """


@dataclass(frozen=True)
class Serial:
    """This process, one run after another; another one for what is left when its device has failed.

    Where a third party's method is among others, all of them have processes of their own: what its module does to
    NumPy as it is imported, this process has had done to it already.
    """

    stack: int = 1

    def execute(
        self, missing: list[tuple[PlannedCell, list[int]]], store: Store
    ) -> Generator[list[RunRecord], None, None]:
        made_by = provenance()
        work = batches(missing, 1, self.stack)
        if any(batch.apart for batch in work) and len({batch.planned.spec.name for batch in work}) > 1:
            yield from _in_children(work, 1, NO_LIMITS, store, made_by)
            return
        for number, batch in enumerate(work):
            try:
                yield from _computed(batch, store, made_by)
            except DeviceLost as error:
                _LOG.warning("%s; it is repeated in a new process, which computes the rest, too", error)
                yield from _in_children(work[number:], 1, NO_LIMITS, store, made_by)
                return


@dataclass(frozen=True)
class Processes:
    """Several processes of this machine.

    A run that takes its process down (a crash in compiled code), or exceeds a limit, is recorded as failed; one whose
    process is killed is tried again, and then left missing. The others go on.
    """

    jobs: int
    limits: Limits = NO_LIMITS
    stack: int = 1

    def execute(
        self, missing: list[tuple[PlannedCell, list[int]]], store: Store
    ) -> Generator[list[RunRecord], None, None]:
        made_by = provenance()
        yield from _in_children(batches(missing, self.jobs, self.stack), self.jobs, self.limits, store, made_by)


def local(jobs: int, limits: Limits = NO_LIMITS, stack: int = 1) -> Executor:
    """Whoever computes so many runs at a time on this machine, and of methods that can so many seeds as one."""
    return Processes(jobs, limits, stack) if jobs > 1 or limits else Serial(stack)


def _computed(batch: Batch, store: Store, made_by: dict[str, Any]) -> Generator[list[RunRecord], None, None]:
    is_stored = partial(store.has, batch.planned.cell)
    made_by = made_by | {"machine": made_by["machine"] | {"gpu": batch.device}}
    yield from commit(batch, compute(batch, store.journals, is_stored), store, made_by)


def _in_children(
    work: Sequence[Batch], jobs: int, limits: Limits, store: Store, made_by: dict[str, Any]
) -> Generator[list[RunRecord], None, None]:
    task = partial(_in_child, folder=store.folder, made_by=made_by)
    with closing(in_processes(task, work, jobs, Batch.single, limits, lambda batch: batch.apart)) as results:
        for batch, result in results:
            if isinstance(result, Lost):
                yield give_up(batch, result, store, made_by)
                continue
            records, notices = result
            store.notices += notices
            yield records


def _in_child(batch: Batch, folder: Path, made_by: dict[str, Any]) -> tuple[list[RunRecord], list[str]]:
    store = Store(folder)
    return [record for records in _computed(batch, store, made_by) for record in records], store.notices
