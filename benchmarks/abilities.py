"""What a benchmark may also know: a benchmark has an ability if it has the methods that the protocol names.

Each protocol is followed by the function that asks any benchmark for it, and says what holds where it cannot answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from nasbench.benchmarks.constraints import SIZE_CLASSES, Bound, Constraint
from nasbench.benchmarks.contract import Benchmark
from nasbench.benchmarks.fidelity import spans
from nasbench.benchmarks.metrics import Metric
from nasbench.benchmarks.spaces import Configuration
from nasbench.benchmarks.spaces.errors import UsageError, unknown


@runtime_checkable
class KnowsMeans(Protocol):
    """A benchmark that knows the mean over repetitions of every metric, by which a configuration is scored."""

    def mean_metrics(self, configuration: Configuration) -> Mapping[str, float]:
        """The means by name, never told to a method; NaN for a configuration without data."""


@runtime_checkable
class KnowsRepetitions(Protocol):
    """A benchmark that has several stored repetitions of a configuration, of which an evaluation observes one."""

    def unseen_metrics(self, configuration: Configuration, seeds: Sequence[int]) -> Mapping[str, float] | None:
        """The mean of every metric over the repetitions that evaluations with these seeds do not observe.

        None where none is left.
        """


@runtime_checkable
class KnowsBefore(Protocol):
    """A benchmark that knows its cheap metrics (`Metric.cheap`) without an evaluation."""

    def known(self, metric: str, configuration: Configuration) -> float:
        """The value of a cheap metric; NaN for what is infeasible before training."""


def known(benchmark: Benchmark, metric: str, configuration: Configuration) -> float:
    """The value of a cheap metric, without an evaluation. Raises UsageError for any other metric."""
    if not named(benchmark, metric).cheap or not isinstance(benchmark, KnowsBefore):
        raise UsageError(f"{benchmark.name} does not know {metric} before training")
    return benchmark.known(metric, configuration)


@runtime_checkable
class KnowsQuantiles(Protocol):
    """A benchmark that knows how the values of metrics are distributed over its configurations."""

    def quantile(self, metric: str, q: float) -> float:
        """The q-quantile of a metric over all configurations. Raises UsageError where it is not known."""


def quantile(benchmark: Benchmark, metric: str, q: float) -> float:
    """The q-quantile of a metric over all configurations. Raises UsageError where there is no table to ask."""
    named(benchmark, metric)
    if not isinstance(benchmark, KnowsQuantiles):
        raise UsageError(f"{benchmark.name} has no table of {metric}: give an absolute bound")
    return benchmark.quantile(metric, q)


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


@runtime_checkable
class KnowsOracle(Protocol):
    """A benchmark that knows the best objective under constraints."""

    def oracle(self, bounds: Sequence[Bound]) -> Oracle:
        """Best and worst objective under constraints.

        Raises UsageError, naming the smallest reachable value, if no configuration satisfies the constraints.
        """


def oracle(benchmark: Benchmark, bounds: Sequence[Bound]) -> Oracle | None:
    """Best and worst objective under constraints; None where they cannot be known."""
    return benchmark.oracle(bounds) if isinstance(benchmark, KnowsOracle) else None


@runtime_checkable
class Canonical(Protocol):
    """A benchmark on which several configurations are the same network."""

    def canonical(self, configuration: Configuration) -> Configuration:
        """The configuration whose evaluations are this one's too, equal in distribution."""


@runtime_checkable
class HasEpochs(Protocol):
    """A benchmark that can be opened at a lower fidelity, as another benchmark `name@epochs`."""

    fidelities: tuple[int, ...]
    """The numbers that `at` accepts, ascending: of training epochs, or of what else the benchmark counts."""

    def at(self, epochs: int) -> Benchmark:
        """The benchmark `name@epochs`, for one of `fidelities`."""


def at(benchmark: Benchmark, epochs: int) -> Benchmark:
    """The benchmark `name@epochs`. Raises UsageError where it is not known at that fidelity."""
    if isinstance(benchmark, HasEpochs) and epochs in benchmark.fidelities:
        return benchmark.at(epochs)
    allowed = "it has one fidelity only"
    if isinstance(benchmark, HasEpochs) and benchmark.fidelities:
        allowed = f"allowed: {spans(benchmark.fidelities)}"
    raise UsageError(f"there is no {benchmark.name}@{epochs}; {allowed}")


@runtime_checkable
class HasVariants(Protocol):
    """A benchmark with relatives `NAME/variant`, such as the same data with another space."""

    variants: tuple[str, ...]
    """The names that may follow the benchmark's own after a slash."""

    def variant(self, name: str) -> Benchmark:
        """The benchmark `NAME/name`. Raises UsageError for other names."""


def variants(benchmark: Benchmark) -> tuple[str, ...]:
    """The names that may follow a benchmark's own after a slash; empty where there is no choice."""
    return benchmark.variants if isinstance(benchmark, HasVariants) else ()


def variant(benchmark: Benchmark, name: str) -> Benchmark:
    """The benchmark `NAME/name`. Raises UsageError for a variant that there is not."""
    if isinstance(benchmark, HasVariants):
        return benchmark.variant(name)
    raise unknown(f"variant of {benchmark.name}", name, ())


@runtime_checkable
class Prepared(Protocol):
    """A benchmark that loads what evaluations need, before the first one and off the clock."""

    def make_ready(self) -> None:
        """Loads it. Raises UsageError if data is missing."""


def make_ready(benchmark: Benchmark) -> None:
    """Loads what evaluations need, where there is something to load. Raises UsageError if data is missing."""
    if isinstance(benchmark, Prepared):
        benchmark.make_ready()


@runtime_checkable
class Timed(Protocol):
    """A benchmark that states how long an evaluation computes, to estimate a suite's time."""

    def seconds_each(self) -> float:
        """Rough duration of one evaluation on one CPU core, in seconds."""


def seconds_each(benchmark: Benchmark) -> float:
    """Rough duration of one evaluation on one CPU core, in seconds; 0 where it is only looked up, or not known."""
    return benchmark.seconds_each() if isinstance(benchmark, Timed) else 0.0


@runtime_checkable
class OnDevice(Protocol):
    """A benchmark whose evaluations are computed by a GPU, where the machine has one."""

    gpus: float
    """Share of one GPU that an evaluation needs."""

    def device(self) -> str:
        """Name of the GPU that computes evaluations in this process, as PyTorch calls it; empty for the CPU.

        The answer may take the time of loading PyTorch.
        """


def gpus(benchmark: Benchmark) -> float:
    """Share of one GPU that an evaluation needs on a machine that has one; 0 for none."""
    return benchmark.gpus if isinstance(benchmark, OnDevice) else 0.0


def device(benchmark: Benchmark) -> str:
    """Name of the GPU that computes evaluations in this process; empty for the CPU."""
    return benchmark.device() if isinstance(benchmark, OnDevice) else ""


def named(benchmark: Benchmark, metric: str) -> Metric:
    """The metric of a benchmark that has this name. Raises UsageError with the allowed names."""
    chosen = next((m for m in benchmark.metrics if m.name == metric), None)
    if chosen is None:
        raise unknown(f"metric of {benchmark.name}", metric, [m.name for m in benchmark.metrics])
    return chosen


def constrainable(benchmark: Benchmark) -> tuple[str, ...]:
    """Names of the metrics beside the objective that a constraint may bound: those of no test split."""
    return tuple(metric.name for metric in benchmark.metrics[1:] if not metric.held_out)


def bounds(benchmark: Benchmark, constraints: Sequence[Constraint]) -> tuple[Bound, ...]:
    """The bounds that constraints mean on a benchmark, in their order.

    Raises UsageError for a metric that there is not, or where its quantiles are not known.

    `@q` bounds a minimised metric from above by its q-quantile, and a maximised one from below by its
    (1 - q)-quantile: either way the better q of the configurations is kept. A size class bounds from both sides.
    """
    return tuple(bound for constraint in constraints for bound in _bounds(benchmark, constraint))


def _bounds(benchmark: Benchmark, constraint: Constraint) -> list[Bound]:
    metric = named(benchmark, constraint.metric)
    if metric.held_out:
        raise UsageError(
            f"{metric.name} of {benchmark.name} is measured on the test split, which is reported and never selected "
            "on: constrain another metric"
        )
    if constraint.size:
        if not metric.minimize:
            raise UsageError(f"{metric.name} is maximised: @{constraint.size} is for what grows with a network")
        low, high = SIZE_CLASSES[constraint.size]
        below = [Bound(metric, quantile(benchmark, metric.name, low), upper=False)] if low else []
        return [*below, Bound(metric, quantile(benchmark, metric.name, high), upper=True)]
    if constraint.relation == "@":
        limit = quantile(benchmark, metric.name, constraint.number)
        if not math.isfinite(limit):
            raise UsageError(f"{constraint.label} of {benchmark.name} is {limit}, which bounds nothing: give a value")
        return [Bound(metric, limit, upper=metric.minimize)]
    return [Bound(metric, constraint.number, upper=constraint.relation == "<=")]
