"""The kinds of problem that a method is tested on: every kind of constraint, no feasible point, and failures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.benchmarks import Benchmark, Bound, Evaluation, Metric, abilities
from nasbench.benchmarks.constraints import NO_BOUNDS, Bounds
from nasbench.benchmarks.spaces import Configuration, Space
from nasbench.benchmarks.spaces.base import ForeignConfiguration, Values
from nasbench.cli.engine.evaluations import attempt, refused, refusing
from nasbench.methods import Proposal

_SAMPLES = 50  # evaluations that say where the limits of constraints lie
_WINDOW = (0.2, 0.6)  # quantiles between which a constrained metric must lie


class BareSpace(Space):
    """The integers 0 to 99: a space without views."""

    def sample(self, rng: Generator) -> int:
        return int(rng.integers(100))

    def mutate(self, configuration: Configuration, rng: Generator) -> int:
        return int(configuration + 1) % 100

    def check(self, configuration: Configuration) -> None:
        if type(configuration) is not int or not 0 <= configuration < 100:
            raise ForeignConfiguration(f"{configuration!r} is not a number below 100")

    def values(self, configuration: Configuration) -> Values:
        return {"number": configuration}

    def from_values(self, values: Values) -> int:
        return int(values["number"])

    def to_json(self, configuration: Configuration) -> str:
        return f'{{"number": {configuration}}}'

    def describe(self) -> list[tuple[str, str, str]]:
        return [("number", "integer", "0 to 99")]


class Posed(NamedTuple):
    """The constraints and failures of a problem on some benchmark."""

    bounds: Bounds = NO_BOUNDS
    """The constraints."""
    fails: Callable[[int], bool] = lambda _: False
    """Whether the evaluation that is told after a given number of asks fails."""


def score(benchmark: Benchmark, proposal: Proposal, number: int, bounds: Bounds = NO_BOUNDS) -> Evaluation:
    """The evaluation that answers a proposal.

    A live benchmark trains nothing here: its scores are made up, its cheap metrics are true, and what violates a bound
    on one of them is refused, as in a run.

    Args:
        number: the number of the training, which is its seed.
        bounds: the constraints of the problem.
    """
    configuration, level, _ = proposal
    if not benchmark.live:
        return attempt(benchmark, configuration, number, level)
    refusal = refused(benchmark, configuration, refusing(benchmark, bounds))
    if refusal is not None:
        return refusal
    rng = np.random.default_rng((number, level.work))
    metrics = {
        metric.name: abilities.known(benchmark, metric.name, configuration) if metric.cheap else float(rng.random())
        for metric in benchmark.metrics
    }
    if any(map(math.isnan, metrics.values())):  # as it would be before training
        return Evaluation({}, 0.0, "infeasible", "dead")
    works = [early.work for early in benchmark.fidelity.ladder] if benchmark.fidelity else []
    curve = tuple(float(np.random.default_rng((number, work)).random()) for work in works if work <= level.work)
    return Evaluation(metrics, 1.0, curve=curve or None)


def _learnt(benchmark: Benchmark) -> Bounds:
    """An interval of a metric that is known only after an evaluation, if possible not the objective; empty for none."""
    metrics = [metric for metric in benchmark.metrics if not metric.cheap and not metric.is_test]
    return _window(benchmark, (metrics[1:] or metrics)[0]) if metrics else NO_BOUNDS


def _known(benchmark: Benchmark) -> Bounds:
    """An interval of a metric that is known beforehand; empty if there is no such metric."""
    metrics = [metric for metric in benchmark.metrics if metric.cheap and not metric.is_test]
    return _window(benchmark, metrics[0]) if metrics else NO_BOUNDS


def _window(benchmark: Benchmark, metric: Metric) -> Bounds:
    low, high = (float(np.quantile(_values(benchmark, metric), q)) for q in _WINDOW)
    return Bounds([Bound(metric, low, high)])


def _unmet(bounds: Bounds, benchmark: Benchmark) -> Bounds:
    """A bound that no observed value satisfies, on the metric of other bounds."""
    least = {bound.metric: float(_values(benchmark, bound.metric).min()) for bound in bounds}
    return Bounds(Bound(metric, high=low - abs(low) - 1) for metric, low in least.items())


def _values(benchmark: Benchmark, metric: Metric) -> NDArray[np.float64]:
    values = _sampled(benchmark)[metric.name]
    finite = values[np.isfinite(values)]
    return finite if len(finite) else np.zeros(1)


@lru_cache(maxsize=64)
def _sampled(benchmark: Benchmark) -> dict[str, NDArray[np.float64]]:
    """Values of each metric for random configurations, by name; shape (configurations,)."""
    rng = np.random.default_rng(0)
    proposals = [Proposal(benchmark.space.sample(rng), benchmark.highest) for _ in range(_SAMPLES)]
    observed = [score(benchmark, proposal, number).metrics for number, proposal in enumerate(proposals)]
    return {m.name: np.array([metrics.get(m.name, math.nan) for metrics in observed]) for m in benchmark.metrics}


def _of_all(*kinds: Bounds) -> list[Posed]:
    """The problem with all of these constraints; none if the benchmark has no metric for one kind."""
    return [Posed(Bounds(bound for bounds in kinds for bound in bounds))] if all(kinds) else []


def _of_none_feasible(benchmark: Benchmark) -> list[Posed]:
    kinds = (_learnt(benchmark), _known(benchmark))
    return [Posed(_unmet(bounds, benchmark)) for bounds in kinds if bounds]


def _of_failures(benchmark: Benchmark) -> list[Posed]:
    def some(number: int) -> bool:
        return number % 3 == 0

    both = Bounds((*_learnt(benchmark), *_known(benchmark)))
    return [Posed(NO_BOUNDS, some), Posed(both, some), Posed(NO_BOUNDS, lambda _: True)]


PROBLEMS: Mapping[str, Callable[[Benchmark], list[Posed]]] = {
    "searches without a constraint": lambda _: [Posed()],
    "takes constraints that it must learn": lambda b: _of_all(_learnt(b)),
    "takes constraints that are known beforehand": lambda b: _of_all(_known(b)),
    "takes both kinds of constraint at once": lambda b: _of_all(_learnt(b), _known(b)),
    "goes on where nothing is feasible": _of_none_feasible,
    "lives with failed evaluations": _of_failures,
}
"""Promise → function that returns the problems of this kind on a benchmark; none if no metric fits."""
