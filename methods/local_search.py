"""Local search (White, Nolen and Savani, UAI 2021), with constraints by rank."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from numpy.random import Generator

from nasbench.benchmarks.spaces import Configuration, FiniteSpace
from nasbench.benchmarks.spaces.errors import UsageError
from nasbench.methods.contract import METHODS, Method, Observation, Problem, Rank

_FRUITLESS = 50  # draws in a row that bring nothing new, after which nothing new is there
_MOST = 100  # mutants of one configuration, where there is no end of them


@METHODS.register("local")
class LocalSearch(Method):
    """Asks for the neighbours of the best configuration in random order, moves to the first better one, restarts.

    Begins from the best of `initial` random configurations, and again from as many new ones where no neighbour is
    better. Nothing is asked for twice. Better is by feasibility, then violation, then objective; a failed evaluation is
    never better. The neighbours in a grid are all configurations that differ in one choice, in a table's own list what
    it says; elsewhere they are mutants, until fifty in a row are known or a hundred were asked for. With several
    workers the search moves on as soon as a better neighbour is told, and those that are still pending count as asked
    for.

    Options:
        initial: random configurations from which each start chooses the best, at least 1.
    """

    source = "C. White, S. Nolen and Y. Savani. Exploring the Loss Landscape in Neural Architecture Search. UAI 2021."

    def __init__(self, problem: Problem, rng: Generator, *, initial: int = 10) -> None:
        if initial < 1:
            raise UsageError(f"initial must be positive, not {initial}")
        self._space, self._constraints, self._rng = problem.space, problem.constraints, rng
        self._initial = self._random_left = initial
        self._asked: set[Configuration] = set()
        self._pending: list[Configuration] = []
        self._best: tuple[Rank, Configuration] | None = None
        """Of this start."""
        self._around: Iterator[Configuration] = iter(())
        """The neighbours of the best that have not been asked for."""

    def ask(self) -> Configuration:
        found = self._next()
        self._asked.add(found)
        self._pending.append(found)
        return found

    def tell(self, observation: Observation) -> None:
        self._pending.remove(observation.configuration)
        rank = observation.rank(self._constraints)
        if rank[0] < math.inf and (self._best is None or rank < self._best[0]):
            self._best = rank, observation.configuration
            self._around = self._neighbours(observation.configuration)

    def _next(self) -> Configuration:
        if self._random_left == 0 and self._best is not None:
            found = next(self._around, None)
            if found is not None:
                return found
            if not self._pending:  # a minimum, for sure
                self._random_left, self._best = self._initial, None
        self._random_left = max(self._random_left - 1, 0)
        return self._new(lambda: self._space.sample(self._rng)) or self._space.sample(self._rng)

    def _neighbours(self, configuration: Configuration) -> Iterator[Configuration]:
        """Those of a configuration that have not been asked for when they are due, in random order."""
        if isinstance(self._space, FiniteSpace):
            found = self._space.neighbours(configuration)
            for i in self._rng.permutation(len(found)).tolist():
                if found[i] not in self._asked:
                    yield found[i]
            return
        for _ in range(_MOST):
            mutant = self._new(lambda: self._space.mutate(configuration, self._rng))
            if mutant is None:
                return
            yield mutant

    def _new(self, draw: Callable[[], Configuration]) -> Configuration | None:
        """A draw that has not been asked for; None where fifty in a row have."""
        for _ in range(_FRUITLESS):
            try:
                found = draw()
            except UsageError:  # nothing can change here
                return None
            if found not in self._asked:
                return found
        return None
