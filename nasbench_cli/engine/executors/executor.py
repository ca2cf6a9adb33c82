"""The contract of an executor, and their registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

from nasbench.base.options import Spec
from nasbench.base.registry import Registry
from nasbench.benchmarks import UsageError
from nasbench.cli.engine.work import Records, Work


class Executor(ABC):
    """Computes the runs that a store lacks: in this process, in other processes, or on other machines.

    The harness builds one instance per command and calls `execute` once.

    * A run depends on its setup and seed only, so the contents of the store do not depend on the executor.
    * `work.batches(jobs)` are the units of work. A batch with a name in `batch.owner` runs a third party's method: it
      must not share a process with batches that have another name.
    * `work.compute(batch)` computes a batch in this process and stores it. Elsewhere, `compute_batch(batch,
      work.journals)` computes it, and `work.keep(batch, answer)` stores its answer in this process. Batches and answers
      can be pickled.
    * A batch whose process died is cut with `batch.single()`, and what kills its process alone is recorded with
      `work.give_up`.
    * `work.is_over(batch)` says that a batch is to be left out, since its method has failed in all of its first runs:
      ask just before it begins.

    Options are the constructor's keyword-only arguments, annotated int, float, bool or str, all with defaults: they are
    what the user writes in `--executor name:option=value`. The docstring ends with a section `Options:`, one
    `name: meaning` each, which `nasbench show` prints. `nasbench check` tries an executor.
    """

    local: ClassVar[bool] = False
    """Whether this machine computes the runs: `nasbench run` then names its device, and estimates the time."""

    def __init__(self, jobs: int) -> None:
        """Raises UsageError for an option out of its range, or if a package is missing.

        Args:
            jobs: number of runs to compute at the same time, at least 1.
        """
        self.jobs = jobs

    @abstractmethod
    def execute(self, work: Work) -> Records:
        """Computes and stores the missing runs; yields the records of newly stored runs, as they come.

        Closing the iterator stops the work at once.
        """


def _is_executor(item: object) -> bool:
    return isinstance(item, type) and issubclass(item, Executor)


EXECUTORS: Registry[type[Executor]] = Registry(
    "executor", "nasbench.cli.engine.executors", "nasbench.executors", _is_executor
)
"""Every executor by name."""


@dataclass(frozen=True)
class ExecutorSpec(Spec):
    """The name of an executor with the options that differ from their defaults, sorted by name."""

    registry: ClassVar[Registry[type[Executor]]] = EXECUTORS

    def build(self, jobs: int) -> Executor:
        """An instance. Raises UsageError if an option is out of its range, or a package is missing."""
        return EXECUTORS.get(self.name)(jobs, **dict(self.options))


def chosen(text: str | None, jobs: int) -> Executor:
    """The executor that a user names; by default this process, or several processes for more than one job.

    Raises UsageError for an unknown name, an option out of its range, or fewer jobs than one.
    """
    if not isinstance(jobs, Integral) or jobs < 1:
        raise UsageError(f"jobs must be at least 1, and a whole number, not {jobs!r}")
    if text is not None and not isinstance(text, str):
        raise UsageError(f"executor must be text, not {text!r}")
    spec = ExecutorSpec("serial" if jobs == 1 else "processes") if text is None else ExecutorSpec.parse(text)
    return spec.build(int(jobs))
