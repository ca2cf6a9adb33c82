"""The contract of a benchmark, and the type of its evaluations. Further abilities are in `abilities`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from nasbench.base.errors import UsageError
from nasbench.base.metrics import Metric
from nasbench.base.registry import Registry
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.fidelity import Fidelity, Level
from nasbench.benchmarks.spaces import Configuration, Space

Status: TypeAlias = Literal["ok", "failed", "infeasible"]
"""Status of an evaluation: it gave numbers, it failed, or it was refused before training (a hard constraint)."""

Kind: TypeAlias = Literal["live", "table", "surrogate", "simulated"]
"""Origin of the scores: computed now, looked up, predicted by a fitted model, or given by a formula."""


class Evaluation(NamedTuple):
    """The result of evaluating one configuration."""

    metrics: Mapping[str, float]
    """Values by the names of `Benchmark.metrics`: all of them if the status is ok, otherwise none. Of a configuration
    that it refuses before training the harness tells those that are known without an evaluation. A metric that is
    measured at the end of training only is NaN if training stops earlier."""
    cost: float
    """Duration of the evaluation in seconds: recorded training time on a table, measured time on a live benchmark."""
    status: Status = "ok"
    """Whether it succeeded."""
    reason: str = ""
    """Why it failed or was refused, in one line. If it is ok: empty, or a remark on how it ended."""
    curve: tuple[float, ...] | None = None
    """The objective at each value of the fidelity's first axis, up to the level reached; the other axes are fixed.

    The last value is the objective. None if the status is not ok, if levels are separate trainings, or if the curve is
    not known."""


class Benchmark(ABC):
    """A search space and what its configurations score.

    A subclass sets the attributes without a default, and implements `measure`. If it knows more (means over
    repetitions, quantiles, the oracle, metrics known before training), it also has the methods of the protocols in
    `nasbench.benchmarks.abilities`.
    """

    name: str
    """The name that follows `--bench`."""
    family: str
    """Name of a group of benchmarks that rank configurations similarly. They do not count as independent tasks."""
    search_space: str = ""
    """Name of the search space together with the code that trains it. Several families may share it. It is a report's
    unit of evidence. Empty if it has the name of the family."""
    space: Space
    """The configurations that can be evaluated."""
    metrics: tuple[Metric, ...]
    """The metrics of an evaluation. The first one is the objective, and is minimised."""
    source: str
    """Origin of the data, for people: a paper, a file."""
    licence: str
    """Licence of the data."""
    checksum: str
    """Checksum of the data, or of anything else that determines the scores. It is part of a run's identity."""
    kind: Kind = "simulated"
    """Origin of the scores. On a live benchmark the clock is the wall clock, and every evaluation is journaled. On all
    others costs are recorded, and the clock is simulated."""
    fidelity: Fidelity | None = None
    """The levels at which a training may stop; None if only its end is known."""
    procedure: str = ""
    """The procedure of an evaluation, in one line; empty for a mere look-up."""
    caution: str = ""
    """A limit of what the scores say, as a clause, which `nasbench show`, `nasbench run` and reports repeat."""
    reference: bool = False
    """True for a single network, shown for orientation: reports list its runs separately from the searches."""
    repeatable: Repeatable = Repeatable.ANY_PROCESSOR
    """The machines on which an evaluation with the same seed gives the same bits; for live ones, the same machine."""

    def evaluate(
        self, configuration: Configuration, seed: int, upto: Level | None = None, state: Path | None = None
    ) -> Evaluation:
        """Evaluates one configuration.

        Args:
            configuration: a member of `space`.
            seed: an integer in [0, 2**63) that decides everything random in this evaluation: the repetition that is
                drawn, or the course of training. With the same seed, levels that continue each other are points of one
                training (`Fidelity.continues`).
            upto: the level of the fidelity at which the training ends; None for the highest.
            state: a file for this training alone. A live benchmark may keep the training there, and continue it after
                an interruption, or up to a higher level. The cost then counts from the kept point on, and includes the
                time of an interrupted attempt. None if nothing is to be kept.

        An exception is recorded as a failed evaluation, with its text as the reason. The workers of a run call a live
        benchmark from several threads at a time.

        Raises UsageError for a level that the benchmark does not have.
        """
        highest = WHOLE if self.fidelity is None else self.fidelity.highest
        if upto is None:
            upto = highest
        elif upto is not highest and upto != highest and (self.fidelity is None or upto not in self.fidelity):
            raise UsageError(f"{self.name} has no level {upto}; allowed: {self.fidelity or 'one fidelity only'}")
        return self.measure(configuration, seed, upto, state)

    @abstractmethod
    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        """Implements `evaluate`; `upto` is one of the benchmark's levels.

        The metrics are those of a training that stops there. The cost counts from the beginning of the training, or
        from the point that `state` holds. A benchmark without a fidelity ignores both arguments.
        """

    @cached_property
    def places(self) -> dict[str, int]:
        """The position of each metric in `metrics`, by name."""
        return {metric.name: place for place, metric in enumerate(self.metrics)}

    @property
    def live(self) -> bool:
        """Whether an evaluation computes now, on the wall clock."""
        return self.kind == "live"

    @property
    def objective(self) -> Metric:
        """The metric to minimise: the first one."""
        return self.metrics[0]

    @property
    def highest(self) -> Level:
        """The level of a whole evaluation."""
        return WHOLE if self.fidelity is None else self.fidelity.highest


WHOLE = Level()
"""The one level of a benchmark without a fidelity."""

BENCHMARKS: Registry[Callable[[], Benchmark]] = Registry(
    "benchmark", "nasbench.benchmarks", "nasbench.benchmarks", many=True
)
"""All benchmarks by name, as callables that open them."""

ON_FILES: Registry[Callable[[str, str], Benchmark]] = Registry(
    "kind of benchmark before a colon", "nasbench.benchmarks", "nasbench.benchmarks_on_files"
)
"""Kinds of benchmarks on a user's file, as callables (path of the file, column to predict) → benchmark.

`learner` takes a learner and a data set of scikit-learn instead, `supernet` a data set of images and a table."""
