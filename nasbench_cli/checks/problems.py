"""The kinds of problem that a method is tried on: constraints of every kind, none that can be met, and failures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks import Benchmark, Bound, Evaluation
from nasbench.cli.engine.workers import refused
from nasbench.methods import Proposal

_SAMPLES = 50  # evaluations that say where the limits of constraints lie
_WINDOW = (0.2, 0.6)  # quantiles between which a constrained metric must lie


class Posed(NamedTuple):
    """What a problem has beside its benchmark."""

    bounds: tuple[Bound, ...] = ()
    """The constraints."""
    fails: Callable[[int], bool] = lambda _: False
    """Whether the evaluation that is told after this many asks fails."""


def score(benchmark: Benchmark, proposal: Proposal, number: int, bounds: tuple[Bound, ...] = ()) -> Evaluation:
    """The evaluation that answers a proposal.

    A live benchmark trains nothing here: its scores are made up, its cheap metrics are true, and what violates a bound
    on one of them is refused, as in a run.

    Args:
        number: the number of the training, which is its seed.
        bounds: the constraints of the problem.
    """
    configuration, level, continues = proposal
    if not benchmark.live:
        whole = continues is None and level == benchmark.highest
        return (
            benchmark.evaluate(configuration, number) if whole else benchmark.evaluate_at(configuration, number, level)
        )
    refusal = refused(benchmark, configuration, tuple(bound for bound in bounds if bound.metric.cheap))
    if refusal is not None:
        return refusal._replace(cost=0.0)  # seconds that were measured would not repeat
    rng = np.random.default_rng((number, level))
    metrics = [
        benchmark.known(column, configuration) if metric.cheap else float(rng.random())
        for column, metric in enumerate(benchmark.metrics)
    ]
    if any(map(math.isnan, metrics)):  # as it would be before training
        return Evaluation((math.nan,) * len(metrics), 0.0, "infeasible", "dead")
    levels = benchmark.fidelity.levels if benchmark.fidelity else ()
    curve = tuple(float(np.random.default_rng((number, early)).random()) for early in levels if early <= level)
    return Evaluation(tuple(metrics), 1.0, curve=curve or None)


def _learnt(benchmark: Benchmark) -> tuple[Bound, ...]:
    """Two bounds on a metric that only an evaluation tells: one beside the objective, if there is one."""
    columns = [i for i, metric in enumerate(benchmark.metrics) if not metric.cheap and not metric.held_out]
    return _window(benchmark, (columns[1:] or columns)[0])


def _known(benchmark: Benchmark) -> tuple[Bound, ...]:
    """Two bounds on a metric that is known beforehand; none where there is no such metric."""
    columns = [i for i, metric in enumerate(benchmark.metrics) if metric.cheap and not metric.held_out]
    return _window(benchmark, columns[0]) if columns else ()


def _window(benchmark: Benchmark, column: int) -> tuple[Bound, ...]:
    low, high = (float(np.quantile(_values(benchmark, column), q)) for q in _WINDOW)
    metric = benchmark.metrics[column]
    return Bound(metric, column, low, upper=False), Bound(metric, column, high, upper=True)


def _unmet(bounds: tuple[Bound, ...], benchmark: Benchmark) -> tuple[Bound, ...]:
    """A bound on the metric of others, beyond all that was seen of it."""
    least = {bound.column: float(_values(benchmark, bound.column).min()) for bound in bounds}
    return tuple(Bound(benchmark.metrics[i], i, low - abs(low) - 1, upper=True) for i, low in least.items())


def _values(benchmark: Benchmark, column: int) -> NDArray[np.float64]:
    values = _sampled(benchmark)[:, column]
    finite = values[np.isfinite(values)]
    return finite if len(finite) else np.zeros(1)


@lru_cache(maxsize=64)
def _sampled(benchmark: Benchmark) -> NDArray[np.float64]:
    """The metrics of random configurations, shape (configurations, metrics)."""
    rng = np.random.default_rng(0)
    proposals = [Proposal(benchmark.space.sample(rng), benchmark.highest) for _ in range(_SAMPLES)]
    return np.array([score(benchmark, proposal, number).metrics for number, proposal in enumerate(proposals)])


def _of_known(benchmark: Benchmark) -> list[Posed]:
    known = _known(benchmark)
    return [Posed(known)] if known else []


def _of_both(benchmark: Benchmark) -> list[Posed]:
    known = _known(benchmark)
    return [Posed((*_learnt(benchmark), *known))] if known else []


def _of_none_feasible(benchmark: Benchmark) -> list[Posed]:
    kinds = (_learnt(benchmark), _known(benchmark))
    return [Posed(_unmet(bounds, benchmark)) for bounds in kinds if bounds]


def _of_failures(benchmark: Benchmark) -> list[Posed]:
    def some(number: int) -> bool:
        return number % 3 == 0

    return [Posed((), some), Posed((*_learnt(benchmark), *_known(benchmark)), some), Posed((), lambda _: True)]


PROBLEMS: Mapping[str, Callable[[Benchmark], list[Posed]]] = {
    "searches without a constraint": lambda _: [Posed()],
    "takes constraints that it must learn": lambda benchmark: [Posed(_learnt(benchmark))],
    "takes constraints that are known beforehand": _of_known,
    "takes both kinds of constraint at once": _of_both,
    "goes on where nothing is feasible": _of_none_feasible,
    "lives with failed evaluations": _of_failures,
}
"""Promise → the problems of this kind that a benchmark poses; none where no metric is known beforehand."""
