"""A method and a benchmark of one's own: copy, rename, change; `nasbench check` says what is still missing."""

from __future__ import annotations

import math

from numpy.random import Generator

from nasbench.benchmarks import Benchmark, Evaluation, Metric, UsageError
from nasbench.benchmarks.spaces import Configuration, GridSpace, Ordinal
from nasbench.methods import Method, Observation, Problem


class HillClimbing(Method):
    """Steps from the best so far; after `patience` steps without success it begins anew.

    Options:
        patience: steps without success, at least 1.
    """

    def __init__(self, problem: Problem, rng: Generator, *, patience: int = 20) -> None:
        if patience < 1:
            raise UsageError(f"patience must be positive, not {patience}")
        self._problem, self._rng, self._patience = problem, rng, patience
        self._best: Observation | None = None
        self._waited = 0

    def ask(self) -> Configuration:
        if self._best is None or self._waited >= self._patience:
            self._best, self._waited = None, 0
            return self._problem.space.sample(self._rng)
        return self._problem.space.mutate(self._best.configuration, self._rng)

    def tell(self, observation: Observation) -> None:
        rank = observation.rank(self._problem.constraints)  # feasibility, then violation, then the objective
        if self._best is None or rank < self._best.rank(self._problem.constraints):
            self._best, self._waited = observation, 0
        else:
            self._waited += 1


class Rastrigin(Benchmark):
    """Rastrigin's function on a grid, with noise that the seed decides; a point's distance from the origin is known."""

    name, family, checksum = "rastrigin", "functions", "rastrigin-1"
    source, licence = "a formula", "MIT"
    space = GridSpace([Ordinal(f"x{i}", tuple(i / 2 for i in range(-10, 11))) for i in range(3)])
    metrics = (Metric("value", ""), Metric("distance", "", cheap=True))

    def evaluate(self, configuration: Configuration, seed: int) -> Evaluation:
        xs = self.space.values(configuration).values()
        value = sum(10 + x * x - 10 * math.cos(2 * math.pi * x) for x in xs)
        return Evaluation((value + seed % 1000 / 1e4, self.known(1, configuration)), cost=60.0)

    def known(self, column: int, configuration: Configuration) -> float:
        return (
            math.hypot(*self.space.values(configuration).values()) if column else super().known(column, configuration)
        )
