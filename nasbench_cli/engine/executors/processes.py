"""Computes runs in several processes of this machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from nasbench.cli.engine.batches import Batch
from nasbench.cli.engine.executors.executor import EXECUTORS, Executor
from nasbench.cli.engine.pool import Lost, in_processes
from nasbench.cli.engine.watch import NO_LIMITS, Limits
from nasbench.cli.engine.work import Records, Work
from nasbench.results import Store
from nasbench.results.store.fragment import RunRecord


@EXECUTORS.register("processes")
class Processes(Executor):
    """Computes runs in several processes of this machine: the default with more than one job.

    A run that crashes its process or exceeds a limit is recorded as failed. A run whose process is killed is tried
    again, three times in all, and then left missing. The other runs go on.

    Options:
        ask_seconds: longest time in seconds that a method may think about one ask; its run is then stopped.
        evaluation_seconds: longest time in seconds that one evaluation may take; its run is then stopped.
    """

    local = True

    def __init__(self, jobs: int, *, ask_seconds: float = math.inf, evaluation_seconds: float = math.inf) -> None:
        super().__init__(jobs)
        self._limits = Limits(ask_seconds, evaluation_seconds)

    def execute(self, work: Work) -> Records:
        yield from in_children(work, work.batches(self.jobs), self.jobs, self._limits)


def in_children(work: Work, batches: Sequence[Batch], jobs: int, limits: Limits = NO_LIMITS) -> Records:
    """Computes batches in child processes, which write to the store; yields records of stored runs, as they come."""
    task = partial(_in_child, folder=work.store.folder, made_by=work.made_by)
    tasks = in_processes(task, batches, jobs, Batch.single, limits, lambda batch: batch.owner, work.is_over)
    with closing(tasks) as results:
        for batch, result in results:
            if isinstance(result, Lost):
                yield work.give_up(batch, result)
                continue
            records, notices = result
            work.store.notices += notices
            yield work.noted(batch, records)


def _in_child(batch: Batch, folder: Path, made_by: dict[str, Any]) -> tuple[list[RunRecord], list[str]]:
    work = Work(Store(folder), made_by=made_by, keep_going=True)  # its parent decides
    return [record for records in work.compute(batch) for record in records], work.store.notices
