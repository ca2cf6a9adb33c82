"""Abilities of a benchmark beyond evaluation. A benchmark has one if it has the methods of the protocol.

Functions after a protocol take any benchmark, and say what holds for one without the ability.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nasbench.base.errors import UsageError, unknown
from nasbench.base.faults import DeviceLost
from nasbench.base.foreign import errors_named, guarded
from nasbench.base.metrics import Metric
from nasbench.benchmarks.constraints import SIZE_CLASSES, Bound, Bounds, Constraint
from nasbench.benchmarks.contract import Benchmark
from nasbench.benchmarks.fidelity import spans
from nasbench.benchmarks.spaces import Configuration

MOST_OBJECTIVES = 3
"""Largest number of objectives: up to it hypervolumes are computed exactly and at once."""


@contextmanager
def _answering(benchmark: Benchmark, what: str) -> Iterator[None]:
    """Names the benchmark, which may be a third party's, in what it raises."""
    with errors_named(f"benchmark {benchmark.name} fails when it is asked for its {what}", DeviceLost), guarded():
        yield


@runtime_checkable
class KnowsMeans(Protocol):
    """A benchmark that knows the mean over repetitions of every metric, by which a configuration is scored."""

    def mean_metrics(self, configuration: Configuration) -> Mapping[str, float]:
        """The means by name, never told to a method; NaN for a configuration without data."""


@runtime_checkable
class KnowsAllMeans(Protocol):
    """A benchmark that knows the means over repetitions of all its configurations, and so its exact fronts."""

    def all_means(self) -> NDArray[np.float64]:
        """The means in the order of `metrics`, shape (configurations, metrics); NaN for those without data."""


@runtime_checkable
class KnowsRepetitions(Protocol):
    """A benchmark that stores repetitions of a configuration, of which an evaluation observes one."""

    @property
    def repetitions(self) -> int:
        """Largest number of repetitions of a configuration."""

    def repetition_count(self, configuration: Configuration) -> int:
        """Number of repetitions of a configuration: an evaluation with seed s observes number s % count.

        For a configuration without a final value, that of the table. Where levels are separate trainings, it is that at
        the highest level.
        """


@runtime_checkable
class KnowsBefore(Protocol):
    """A benchmark that knows its cheap metrics (`Metric.cheap`) without an evaluation."""

    def known(self, metric: str, configuration: Configuration) -> float:
        """The value of a cheap metric; NaN for a configuration that is infeasible before training."""


def known(benchmark: Benchmark, metric: str, configuration: Configuration) -> float:
    """The value of a cheap metric, without an evaluation. Raises UsageError for any other metric."""
    if not named(benchmark, metric).cheap or not isinstance(benchmark, KnowsBefore):
        raise UsageError(f"{benchmark.name} does not know {metric} before training")
    return benchmark.known(metric, configuration)


@runtime_checkable
class KnowsQuantiles(Protocol):
    """A benchmark that knows how the values of metrics are distributed over its configurations."""

    def quantile(self, metric: str, q: float) -> float:
        """The value that the best share q of all configurations reaches. Raises UsageError where it is not known.

        It is the q-quantile, and of a maximised metric the (1 - q)-quantile.
        """


def quantile(benchmark: Benchmark, metric: str, q: float) -> float:
    """The value that the best share q of all configurations reaches, as `KnowsQuantiles` says; finite.

    Raises UsageError where the benchmark does not know it, or where it is no number.
    """
    named(benchmark, metric)
    if not isinstance(benchmark, KnowsQuantiles):
        raise UsageError(f"{benchmark.name} has no table of {metric}: give an absolute bound")
    with _answering(benchmark, "quantiles"):
        value = float(benchmark.quantile(metric, q))
    if not math.isfinite(value):
        raise UsageError(f"{metric}@{q:g} of {benchmark.name} is {value}, which is not a bound: give a value")
    return value


def quantile_rank(q: float, n: int) -> int:
    """The rank ceil(q n), from 0, of the q-quantile among n values, at most the last (c-TPE, authors' thresholds)."""
    return min(math.ceil(Fraction(repr(q)) * n), n - 1)


class Oracle(NamedTuple):
    """The objective under constraints, as a table knows it. Feasibility is decided for each stored repetition."""

    best: float
    """Smallest objective of all feasible repetitions."""
    worst: float
    """Largest objective of all feasible repetitions."""
    feasible_share: float
    """Share of the table's (configuration, repetition) pairs that satisfy the constraints, in [0, 1]."""
    median: float
    """Median objective of all feasible repetitions, which have equal weights: the typical result of a random feasible
    evaluation where configurations have the same number of them."""
    best_mean: float
    """Best mean objective of the configurations whose mean metrics satisfy the constraints; NaN where there is none."""
    worst_mean: float
    """Worst mean objective of the same configurations."""
    noise: float
    """Repetition noise among good configurations: the standard deviation over a configuration's repetitions, as the
    median over the best tenth of the feasible configurations. NaN where none has two feasible repetitions."""


@runtime_checkable
class KnowsOracle(Protocol):
    """A benchmark that knows the best objective under constraints."""

    def oracle(self, bounds: Sequence[Bound]) -> Oracle:
        """Best and worst objective under constraints.

        Raises UsageError, naming the smallest reachable value, if no configuration satisfies the constraints.
        """


def oracle(benchmark: Benchmark, bounds: Bounds) -> Oracle | None:
    """Best and worst objective under constraints; None where they cannot be known."""
    if not isinstance(benchmark, KnowsOracle):
        return None
    with _answering(benchmark, "oracle"):
        return Oracle(*map(float, benchmark.oracle(bounds)))


@runtime_checkable
class Canonical(Protocol):
    """A benchmark on which several configurations are the same network."""

    def canonical(self, configuration: Configuration) -> Configuration:
        """The representative of all configurations that are the same network: scores are equal in distribution."""


@runtime_checkable
class HasEpochs(Protocol):
    """A benchmark that can be opened at a lower fidelity, as another benchmark `name@epochs`."""

    fidelities: tuple[int, ...]
    """The numbers that `at` accepts, ascending: training epochs, or another unit that the benchmark counts."""

    def at(self, epochs: int) -> Benchmark:
        """The benchmark `name@epochs`, for one of `fidelities`."""


def _whole(benchmark: Benchmark) -> int | None:
    """The epochs of a whole training; None without a fidelity."""
    return None if benchmark.fidelity is None else benchmark.fidelity.axes[0].values[-1]


def at(benchmark: Benchmark, epochs: int) -> Benchmark:
    """The benchmark `name@epochs`. Raises UsageError where there is none."""
    if isinstance(benchmark, HasEpochs) and epochs in benchmark.fidelities:
        if epochs == _whole(benchmark):
            raise UsageError(f"{benchmark.name} is {benchmark.name}@{epochs} already: write it without")
        return benchmark.at(epochs)
    is_stepwise = benchmark.fidelity is not None
    allowed = "its levels are for methods that choose how long to train" if is_stepwise else "it has one fidelity only"
    if isinstance(benchmark, HasEpochs) and benchmark.fidelities:
        others = benchmark.fidelities[: -1 if benchmark.fidelities[-1] == _whole(benchmark) else None]
        allowed = f"allowed: {spans(others)}"
    raise UsageError(f"there is no {benchmark.name}@{epochs}; {allowed}")


@runtime_checkable
class HasVariants(Protocol):
    """A benchmark with relatives `NAME/variant`, such as the same data with another space."""

    variants: tuple[str, ...]
    """The names that may follow the name of the benchmark after a slash."""

    def variant(self, name: str) -> Benchmark:
        """The benchmark `NAME/name`. Raises UsageError for other names."""


def variants(benchmark: Benchmark) -> tuple[str, ...]:
    """The names that may follow the name of a benchmark after a slash; empty where it has no variants."""
    return benchmark.variants if isinstance(benchmark, HasVariants) else ()


def variant(benchmark: Benchmark, name: str) -> Benchmark:
    """The benchmark `NAME/name`. Raises UsageError for a variant that does not exist."""
    if isinstance(benchmark, HasVariants):
        return benchmark.variant(name)
    raise unknown(f"variant of {benchmark.name}", name, ())


@runtime_checkable
class Prepared(Protocol):
    """A benchmark that loads its data before the first evaluation, off the clock."""

    def make_ready(self) -> None:
        """Loads the data. Raises UsageError if it is missing."""


def make_ready(benchmark: Benchmark) -> None:
    """Loads the data that evaluations need, if there is any. Raises UsageError if it is missing."""
    if isinstance(benchmark, Prepared):
        with _answering(benchmark, "data"):
            benchmark.make_ready()


@runtime_checkable
class Timed(Protocol):
    """A benchmark that states how long an evaluation takes, to estimate the time of a suite."""

    def seconds_each(self) -> float:
        """Rough duration of one evaluation on one CPU core, in seconds."""


def seconds_each(benchmark: Benchmark) -> float:
    """Rough duration of one evaluation on one CPU core, in seconds; 0 where it is not known, or a mere look-up."""
    if not isinstance(benchmark, Timed):
        return 0.0
    with _answering(benchmark, "time per evaluation"):
        return float(benchmark.seconds_each())


@runtime_checkable
class OnDevice(Protocol):
    """A benchmark whose evaluations are computed by a GPU, where the machine has one."""

    gpus: float
    """Share of one GPU that an evaluation needs."""

    def device(self) -> str:
        """Name of the GPU that computes evaluations in this process, as PyTorch calls it; empty for the CPU.

        May load PyTorch.
        """


def gpus(benchmark: Benchmark) -> float:
    """Share of one GPU that an evaluation needs on a machine with a GPU; 0 if it uses none."""
    return benchmark.gpus if isinstance(benchmark, OnDevice) else 0.0


def device(benchmark: Benchmark) -> str:
    """Name of the GPU that computes evaluations in this process; empty for the CPU."""
    if not isinstance(benchmark, OnDevice):
        return ""
    with _answering(benchmark, "device"):
        return benchmark.device()


def named(benchmark: Benchmark, metric: str) -> Metric:
    """The metric of a benchmark by its name. Raises UsageError with the allowed names if there is none."""
    chosen = next((m for m in benchmark.metrics if m.name == metric), None)
    if chosen is None:
        raise unknown(f"metric of {benchmark.name}", metric, [m.name for m in benchmark.metrics if not m.is_test])
    return chosen


def objectives(benchmark: Benchmark, names: Sequence[str]) -> tuple[Metric, ...]:
    """The objectives that names mean on a benchmark, in their order; its own objective if there are no names.

    A name may leave out the epoch: `valid-error` means `valid-error@100`.

    Raises UsageError for an unknown metric, one of a test split, one that is named twice, and for more than three.
    """
    chosen = tuple(_objective(benchmark, name) for name in names) or (benchmark.objective,)
    if len(set(chosen)) < len(chosen):
        raise UsageError(f"an objective is named twice: {', '.join(names)}")
    if len(chosen) > MOST_OBJECTIVES:
        raise UsageError(f"there are at most {MOST_OBJECTIVES} objectives, not {len(chosen)}")
    if len(chosen) == 1 and chosen[0] is not benchmark.objective:
        raise UsageError(
            f"the only objective of {benchmark.name} is {benchmark.objective.name}: for {chosen[0].name} beside it, "
            "name both"
        )
    return chosen


def _objective(benchmark: Benchmark, name: str) -> Metric:
    known = [metric for metric in benchmark.metrics if name in {metric.name, metric.name.partition("@")[0]}]
    metric = known[0] if len(known) == 1 else named(benchmark, name)
    if metric.is_test:
        raise UsageError(
            f"{metric.name} of {benchmark.name} is measured on the test split, which is reported and never selected "
            "on: it cannot be an objective"
        )
    return metric


def constrainable(benchmark: Benchmark) -> tuple[str, ...]:
    """Names of the metrics to suggest for constraints: all but the objective and those of a test split."""
    return tuple(metric.name for metric in benchmark.metrics[1:] if not metric.is_test)


def bounds(benchmark: Benchmark, constraints: Sequence[Constraint]) -> Bounds:
    """The bounds that constraints mean on a benchmark, one per metric, in the order of the constraints.

    `@q` bounds a minimised metric from above by its q-quantile, and a maximised one from below by its
    (1 - q)-quantile: either way, the best share q of the configurations is feasible. A size class bounds a metric from
    both sides.

    Raises UsageError for an unknown metric, one whose quantiles are not known, and two bounds that nothing satisfies.
    """
    return Bounds.of(_bound(benchmark, constraint) for constraint in constraints)


def _bound(benchmark: Benchmark, constraint: Constraint) -> Bound:
    metric = named(benchmark, constraint.metric)
    if metric.is_test:
        raise UsageError(
            f"{metric.name} of {benchmark.name} is measured on the test split, which is reported and never selected "
            "on: constrain another metric"
        )
    if constraint.size:
        if not metric.minimize:
            raise UsageError(
                f"{metric.name} is maximised: @{constraint.size} needs a metric that grows with the network"
            )
        low, high = SIZE_CLASSES[constraint.size]
        least = quantile(benchmark, metric.name, low) if low else -math.inf
        return Bound(metric, least, quantile(benchmark, metric.name, high))
    if constraint.relation == "@":
        limit, is_above = quantile(benchmark, metric.name, constraint.number), metric.minimize
    else:
        limit, is_above = constraint.number, constraint.relation == "<="
    return Bound(metric, high=limit) if is_above else Bound(metric, low=limit)
