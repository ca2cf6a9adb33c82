"""Computes runs in this process, one after another."""

from __future__ import annotations

import logging

from nasbench.base.faults import DeviceLost
from nasbench.benchmarks import UsageError
from nasbench.cli.engine.executors.executor import EXECUTORS, Executor
from nasbench.cli.engine.executors.processes import in_children
from nasbench.cli.engine.work import Records, Work

_LOG = logging.getLogger("nasbench")


@EXECUTORS.register("serial")
class Serial(Executor):
    """Computes runs in this process, one after another: the default.

    After a GPU has failed, another process computes the rest. Where a third party's method takes part, each method has
    a process of its own: that method may change NumPy for all others, or end its process.
    """

    local = True

    def __init__(self, jobs: int = 1) -> None:
        if jobs > 1:
            raise UsageError("serial computes one run at a time: leave --jobs out, or choose --executor processes")
        super().__init__(jobs)

    def execute(self, work: Work) -> Records:
        batches = work.batches(1)
        if any(batch.owner for batch in batches):
            yield from in_children(work, batches, 1)
            return
        for number, batch in enumerate(batches):
            try:
                yield from work.compute(batch)
            except DeviceLost as error:
                _LOG.warning("%s; it is repeated in a new process, which computes the rest, too", error)
                yield from in_children(work, batches[number:], 1)
                return
