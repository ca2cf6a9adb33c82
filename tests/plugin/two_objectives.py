"""A method for several objectives in one file: each step improves a point of the front in a random direction."""

from __future__ import annotations

import math

from numpy.random import Generator

from nasbench import Method, Observation, Problem
from nasbench.benchmarks.spaces import Configuration
from nasbench.methods import About, Needs


class WeightedSteps(Method):
    """Mutates the feasible point that is best under random weights (augmented Chebyshev, as in ParEGO).

    Options:
        initial: number of random configurations before the first step.
    """

    needs = Needs(several=True)
    about = About(
        source="weights of Knowles, ParEGO, IEEE Transactions on Evolutionary Computation, 2006; steps by mutation"
    )

    def __init__(self, problem: Problem, rng: Generator, *, initial: int = 10) -> None:
        self._problem, self._rng, self._initial = problem, rng, initial
        self._asked = 0
        self._points: list[tuple[Configuration, tuple[float, ...]]] = []
        """Feasible configurations with their losses, one per objective."""

    def ask(self) -> Configuration:
        self._asked += 1
        if self._asked <= self._initial or not self._points:
            return self._problem.space.sample(self._rng)
        weights = self._rng.dirichlet([1.0] * len(self._problem.objectives))
        columns = list(zip(*(losses for _, losses in self._points), strict=True))
        lows, widths = [min(c) for c in columns], [max(c) - min(c) or 1.0 for c in columns]

        def worth(losses: tuple[float, ...]) -> float:
            scaled = [w * (x - low) / wide for w, x, low, wide in zip(weights, losses, lows, widths, strict=True)]
            return max(scaled) + 0.05 * math.fsum(scaled)

        parent, _ = min(self._points, key=lambda point: worth(point[1]))
        return self._problem.space.mutate(parent, self._rng)

    def tell(self, observation: Observation) -> None:
        if not observation.feasible:
            return
        values = [(metric, observation.evaluation.metrics[metric.name]) for metric in self._problem.objectives]
        if all(math.isfinite(value) for _, value in values):
            losses = tuple(value if metric.minimize else -value for metric, value in values)
            self._points.append((observation.configuration, losses))
