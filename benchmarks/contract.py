"""The contract of a benchmark, and the types its evaluations speak. What it may also know is in `abilities`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from nasbench.benchmarks.fidelity import Fidelity, Level
from nasbench.benchmarks.metrics import Metric
from nasbench.benchmarks.repeatability import Repeatable
from nasbench.benchmarks.spaces import Configuration, Space
from nasbench.benchmarks.spaces.errors import UsageError
from nasbench.benchmarks.spaces.registry import Registry

Status: TypeAlias = Literal["ok", "failed", "infeasible"]
"""How an evaluation ended: with numbers, with an error, or refused before training (a hard constraint)."""

Kind: TypeAlias = Literal["live", "table", "surrogate", "simulated"]
"""Where scores come from: computed now, looked up, answered by a fitted model, or given by a formula."""


class Evaluation(NamedTuple):
    """What a benchmark returns for one configuration."""

    metrics: Mapping[str, float]
    """Values by the names of `Benchmark.metrics`. Where the status is ok, all of them; NaN for one that is measured at
    the end only, of a training that stops before. Otherwise only those that are known without an evaluation."""
    cost: float
    """Duration of the evaluation in seconds: recorded training time on a table, measured time on a live benchmark."""
    status: Status = "ok"
    """Whether it succeeded."""
    reason: str = ""
    """Why it failed or was refused, in one line; empty if it is ok, or for a remark on how it ended."""
    curve: tuple[float, ...] | None = None
    """The objective at each value of the fidelity's first axis up to the one that was reached, where other axes stay.

    The last value is the objective. None unless the status is ok, where levels are separate trainings, and where it is
    not known."""


class Benchmark(ABC):
    """A search space and what its configurations score.

    A subclass sets the attributes without a default, and implements `measure`. What else it knows (means over
    repetitions, quantiles, the oracle, what is known before training) it says by methods of the protocols in
    `nasbench.benchmarks.abilities`.
    """

    name: str
    """What the user writes after `--bench`."""
    family: str
    """Name of a group of benchmarks whose configurations rank alike. They do not count as independent tasks."""
    search_space: str = ""
    """Name of the search space with the code that trains it, which several families may share: the unit of evidence of
    a report. Empty where it is that of the family."""
    space: Space
    """The configurations that can be evaluated."""
    metrics: tuple[Metric, ...]
    """What an evaluation measures. The first metric is the objective, and is minimised."""
    source: str
    """Where the data comes from, for people: a paper, a file."""
    licence: str
    """Licence of the data."""
    checksum: str
    """Checksum of the data, or of whatever else determines the scores. It is part of a run's identity."""
    kind: Kind = "simulated"
    """Where scores come from. Live: the clock is the wall clock, and every evaluation is journaled. Otherwise costs are
    recorded, and the clock is simulated."""
    fidelity: Fidelity | None = None
    """The levels at which a training may stop; None where only its end is known."""
    procedure: str = ""
    """How a configuration is evaluated, in one line; empty where it is only looked up."""
    reference: bool = False
    """True for a single network, shown for orientation: reports list its runs apart from the searches."""
    repeatable: Repeatable = Repeatable.ANY_PROCESSOR
    """The machines on which an evaluation with the same seed has the same bits; live ones: the same machine."""

    def evaluate(
        self, configuration: Configuration, seed: int, upto: Level | None = None, state: Path | None = None
    ) -> Evaluation:
        """Evaluates one configuration.

        Args:
            configuration: a member of `space`.
            seed: an integer in [0, 2**63) that decides everything random in this evaluation: which repetition is drawn,
                or how training goes. With the same seed, the levels that continue each other are points of one
                training (`Fidelity.continues`).
            upto: the level of the fidelity at which the training ends; None for the highest.
            state: a file that belongs to this training alone, in which a live benchmark may keep it, and from which it
                then goes on, after an interruption or up to a higher level; the cost then counts from where the file
                left it, and includes what an interrupted attempt had done. None where nothing is to be kept.

        An exception is recorded as a failed evaluation with its text as the reason. A live benchmark is called from
        as many threads at a time as the run has workers.

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
        """What `evaluate` returns, where `upto` is one of the benchmark's levels.

        The metrics are those of a training that stops there, and the cost counts from its beginning, unless `state`
        holds the training. A benchmark with one fidelity, whose evaluations cannot be continued, ignores both.
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
"""Every benchmark by name, as a callable that opens it."""

ON_FILES: Registry[Callable[[str, str], Benchmark]] = Registry(
    "kind of benchmark before a colon", "nasbench.benchmarks", "nasbench.benchmarks_on_files"
)
"""Kinds of benchmarks on a user's file, as callables (path of the file, column to predict) → benchmark.

`learner` takes a learner and a data set of scikit-learn instead."""
