"""The contract of a benchmark, and the types its evaluations speak."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.constraints import SIZE_CLASSES, Bound, Constraint
from nasbench.benchmarks.metrics import Metric
from nasbench.benchmarks.repeatability import Repeatable
from nasbench.benchmarks.spaces import Block, Configuration, Space
from nasbench.benchmarks.spaces.blockwise import Blockwise
from nasbench.benchmarks.spaces.errors import UsageError, unknown
from nasbench.benchmarks.spaces.registry import Registry

Status: TypeAlias = Literal["ok", "failed", "infeasible"]
"""How an evaluation ended: with numbers, with an error, or refused before training (a hard constraint)."""


class Evaluation(NamedTuple):
    """What a benchmark returns for one configuration."""

    metrics: tuple[float, ...]
    """One value per metric, in the order of `Benchmark.metrics`, so the objective is first. NaN unless status is ok; of
    what was refused before training, the metrics that are known then."""
    cost: float
    """Duration of the evaluation in seconds: recorded training time on a table, measured time on a live benchmark."""
    status: Status = "ok"
    """Whether it succeeded."""
    reason: str = ""
    """Why it failed or was refused, in one line; empty if it is ok, or for a remark on how it ended."""
    curve: tuple[float, ...] | None = None
    """The objective at each level of `Benchmark.fidelity` up to the one that was reached, as `evaluate_at` gives it
    there: the last value is the objective. None unless the status is ok, where levels are trainings of their own, and
    where it is not known."""


class Oracle(NamedTuple):
    """What a table knows of the objective under constraints. Each stored repetition is judged on its own."""

    best: float
    """Smallest objective of all feasible repetitions."""
    worst: float
    """Largest objective of all feasible repetitions."""
    feasible_share: float
    """Share of the table's (configuration, repetition) rows that satisfy the constraints, in [0, 1]."""
    median: float
    """Median objective of all feasible repetitions: what one random feasible evaluation typically gives."""
    best_mean: float
    """Best objective of the configurations that satisfy the constraints, both by the mean over repetitions; NaN where
    none does."""
    worst_mean: float
    """Worst objective of the same configurations."""
    noise: float
    """Repetition noise where searches end: the median, over the best tenth of the feasible configurations, of the
    standard deviation of a configuration's repetitions; NaN where none has two feasible repetitions."""


class Fidelity(NamedTuple):
    """How long a training goes on: what is measured is known at each of some levels."""

    name: str
    """What is counted, such as `epochs`."""
    unit: str
    """What one level more means, for people: `1 epoch`, `200 steps`."""
    levels: tuple[int, ...]
    """The levels at which values are known, ascending; an evaluation is made at the last one."""
    continuable: bool = True
    """Whether lower levels are earlier points of the same training; else each level is a training of its own."""

    def __str__(self) -> str:
        return f"{self.name} {spans(self.levels)}" + ("" if self.continuable else ", each a training of its own")


class Benchmark(Blockwise, ABC):
    """A search space and what its configurations score.

    A subclass sets the attributes without a default, and implements `evaluate`.
    """

    name: str
    """What the user writes after `--bench`."""
    family: str
    """Name of a group of benchmarks that share their space. They do not count as independent tasks in statistics."""
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
    fidelity: Fidelity | None = None
    """The levels of one training at which its values are known; None where only its end is."""
    fidelities: tuple[int, ...] = ()
    """The numbers of training epochs that `at` accepts; empty where there is no choice."""
    variants: tuple[str, ...] = ()
    """The names that may follow the benchmark's own after a slash (`variant`); empty where there is no choice."""
    procedure: str = ""
    """How a configuration is evaluated, in one line; empty where it is only looked up."""
    reference: bool = False
    """True for a single network, shown for orientation: reports list its runs apart from the searches."""
    gpus: float = 0.0
    """Share of one GPU that an evaluation needs on a machine that has one; 0 for none."""
    live: bool = False
    """True: an evaluation computes now, the clock is the wall clock, and every evaluation is journaled.
    False: costs are recorded, and the clock is simulated."""

    repeatable: Repeatable = Repeatable.ANY_PROCESSOR
    """The machines on which an evaluation with the same seed has the same bits; live ones: the same machine."""

    @property
    def kind(self) -> str:
        """Where scores come from.

        `live` (computed now), `table` (looked up), `surrogate` (a fitted model answers) or `simulated` (a formula).
        """
        return "live" if self.live else "simulated"

    @property
    def constrainable(self) -> tuple[str, ...]:
        """Names of the metrics beside the objective that a constraint may bound: those of no test split."""
        return tuple(metric.name for metric in self.metrics[1:] if not metric.held_out)

    @property
    def seconds(self) -> float:
        """Rough duration of one evaluation on one CPU core, in seconds, to estimate a suite's time; 0 if unknown."""
        return 0.0

    @property
    def device(self) -> str:
        """Name of the GPU that computes evaluations in this process, as PyTorch calls it; empty for the CPU.

        A benchmark that states `gpus` overrides it. Only of a live one may the answer take the time of loading PyTorch.
        """
        return ""

    @property
    def objective(self) -> Metric:
        """The metric to minimise: the first one."""
        return self.metrics[0]

    @abstractmethod
    def evaluate(self, configuration: Configuration, seed: int) -> Evaluation:
        """Evaluates one configuration.

        Args:
            configuration: a member of `space`.
            seed: an integer in [0, 2**63) that decides everything random in this evaluation: which repetition is drawn,
                or how training goes.

        An exception is recorded as a failed evaluation with its text as the reason. A live benchmark is called from
        as many threads at a time as the run has workers.
        """

    def evaluate_resumably(self, configuration: Configuration, seed: int, state: Path) -> Evaluation:
        """Evaluates one configuration, and keeps its progress in the file `state`; by default the same as `evaluate`.

        An evaluation that was interrupted continues from that file, and its cost includes the earlier part. The file
        belongs to this evaluation alone; the caller deletes it afterwards.
        """
        return self.evaluate(configuration, seed)

    def evaluate_at(self, configuration: Configuration, seed: int, level: int, state: Path | None = None) -> Evaluation:
        """Evaluates one configuration by a training that ends at a level of `fidelity`, as `evaluate` does at the last.

        The metrics are what somebody has who stops there; one that is measured at the end only is NaN. The cost counts
        from the beginning of the training: the harness subtracts what a continued one has paid. With the same seed,
        levels are points of one training, if `fidelity.continuable`.

        Args:
            state: a file in which a live benchmark keeps the training, and from which it goes on; its cost then counts
                from where the file left it.

        Raises UsageError where the benchmark has one fidelity only, or the level is none of its levels.
        """
        raise UsageError(f"{self.name} has one fidelity only")

    @property
    def highest(self) -> int:
        """The highest level of the fidelity; 1 where there is no choice."""
        return self.fidelity.levels[-1] if self.fidelity else 1

    @property
    def continuable_below(self) -> int:
        """The level below which a training may be continued: the highest; 0 where none may be."""
        return self.fidelity.levels[-1] if self.fidelity and self.fidelity.continuable else 0

    def at(self, epochs: int) -> Benchmark:
        """The benchmark `name@epochs`: trained for `epochs` epochs. Raises UsageError for other fidelities."""
        allowed = f"allowed: {spans(self.fidelities)}" if self.fidelities else "it has one fidelity only"
        raise UsageError(f"{self.name} is not recorded at {epochs} epochs; {allowed}")

    def variant(self, name: str) -> Benchmark:
        """The benchmark `NAME/name`, such as the same data with another space. Raises UsageError for other names."""
        raise unknown(f"variant of {self.name}", name, self.variants)

    def make_ready(self) -> None:
        """Loads what evaluations need, before the first one and off the clock. Raises UsageError if data is missing."""

    def known(self, column: int, configuration: Configuration) -> float:
        """The value of a cheap metric, without an evaluation; NaN for what is infeasible before training."""
        raise UsageError(f"{self.name} does not know {self.metrics[column].name} before training")

    def canonical(self, configuration: Configuration) -> Configuration:
        """The configuration whose evaluations are this one's too, equal in distribution; by default itself."""
        return configuration

    def mean_metrics(self, configuration: Configuration) -> tuple[float, ...] | None:
        """The mean over repetitions of every metric, by which a configuration is scored; never told to a method.

        NaN for a configuration without data. None, the default, where a benchmark knows no means.
        """
        return None

    def evaluate_block(self, block: Block, seeds: NDArray[np.uint64]) -> NDArray[np.float64] | None:
        """The metrics that `evaluate` gives for many configurations, shape (configurations, metrics).

        Args:
            block: the configurations, as `Space.sample_block` returns them.
            seeds: one seed per configuration, shape (configurations,).

        None, the default, where they must be evaluated one by one. Used only where the class declares
        `blockwise=True`.
        """
        return None

    def column(self, metric: str) -> int:
        """The position of the metric called `metric`. Raises UsageError with the allowed names."""
        names = [m.name for m in self.metrics]
        if metric not in names:
            raise unknown(f"metric of {self.name}", metric, names)
        return names.index(metric)

    def bounds(self, constraints: Sequence[Constraint]) -> tuple[Bound, ...]:
        """The bounds that constraints mean on this benchmark, in their order.

        Raises UsageError for a metric that there is not, or where its quantiles are not known.

        `@q` bounds a minimised metric from above by its q-quantile, and a maximised one from below by its
        (1 - q)-quantile: either way the better q of the configurations is kept. A size class bounds from both sides.
        """
        return tuple(bound for constraint in constraints for bound in self._bounds(constraint))

    def _bounds(self, constraint: Constraint) -> list[Bound]:
        column = self.column(constraint.metric)
        metric = self.metrics[column]
        if metric.held_out:
            raise UsageError(
                f"{metric.name} of {self.name} is measured on the test split, which is reported and never selected "
                "on: constrain another metric"
            )
        if constraint.size:
            if not metric.minimize:
                raise UsageError(f"{metric.name} is maximised: @{constraint.size} is for what grows with a network")
            low, high = SIZE_CLASSES[constraint.size]
            below = [Bound(metric, column, self.quantile(column, low), upper=False)] if low else []
            return [*below, Bound(metric, column, self.quantile(column, high), upper=True)]
        if constraint.relation == "@":
            limit = self.quantile(column, constraint.number)
            if not math.isfinite(limit):
                raise UsageError(f"{constraint.label} of {self.name} is {limit}, which bounds nothing: give a value")
            return [Bound(metric, column, limit, upper=metric.minimize)]
        return [Bound(metric, column, constraint.number, upper=constraint.relation == "<=")]

    def quantile(self, column: int, q: float) -> float:
        """The q-quantile of a metric over all configurations. Raises UsageError where there is no table to ask."""
        raise UsageError(f"{self.name} has no table of {self.metrics[column].name}: give an absolute bound")

    def oracle(self, bounds: Sequence[Bound]) -> Oracle | None:
        """Best and worst objective under constraints; None where they cannot be known.

        Raises UsageError, naming the smallest reachable value, if no configuration satisfies the constraints.
        """
        return None


BENCHMARKS: Registry[Callable[[], Benchmark]] = Registry(
    "benchmark", "nasbench.benchmarks", "nasbench.benchmarks", many=True
)
"""Every benchmark by name, as a callable that opens it."""

ON_FILES: Registry[Callable[[str, str], Benchmark]] = Registry(
    "kind of benchmark before a colon", "nasbench.benchmarks", "nasbench.benchmarks_on_files"
)
"""Kinds of benchmarks on a user's file, as callables (path of the file, column to predict) → benchmark."""


def spans(numbers: Sequence[int]) -> str:
    """Ascending integers for people: `1 to 200`, or one by one where they have gaps."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers))
