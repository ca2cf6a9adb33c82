"""Regularised evolution (Real et al., AAAI 2019, algorithm 1), with constraints by rank."""

from __future__ import annotations

from collections import deque

from numpy.random import Generator

from nasbench.benchmarks.spaces import Configuration
from nasbench.benchmarks.spaces.errors import UsageError
from nasbench.methods.contract import METHODS, Method, Observation, Problem, Rank

_MOST = 1_000_000


@METHODS.register("evolution")
class RegularizedEvolution(Method):
    """Mutates the best of a random tournament; the oldest member dies.

    The first `population` configurations are random. Members are compared by feasibility, then by total normalised
    constraint violation, then by objective; a failed evaluation is worse than any other. With several workers a child
    may be proposed before its predecessors are told: the tournament is among the members told so far (a random
    configuration if there are none), and members die in the order in which they were told.

    Options:
        population: number of living members, and of random configurations at first; at least 1.
        tournament: members drawn for each tournament, at least 1.
    """

    source = (
        "E. Real, A. Aggarwal, Y. Huang and Q. V. Le. Regularized Evolution for Image Classifier Architecture Search. "
        "AAAI 2019."
    )
    initial_option = "population"

    def __init__(self, problem: Problem, rng: Generator, *, population: int = 100, tournament: int = 25) -> None:
        for name, value in (("population", population), ("tournament", tournament)):
            if not 1 <= value <= _MOST:
                raise UsageError(f"{name} must lie in [1, {_MOST}], not {value}")
        self._space, self._constraints, self._rng = problem.space, problem.constraints, rng
        self._initial, self._tournament = population, tournament
        self._members: deque[tuple[Rank, Configuration]] = deque(maxlen=population)

    def ask(self) -> Configuration:
        if self._initial > 0 or not self._members:
            self._initial -= 1
            return self._space.sample(self._rng)
        # Drawn with replacement, as algorithm 1 of the paper does.
        draws = self._rng.integers(len(self._members), size=self._tournament).tolist()
        parent = min([self._members[i] for i in draws], key=_rank)[1]
        return self._space.mutate(parent, self._rng)

    def tell(self, observation: Observation) -> None:
        self._members.append((observation.rank(self._constraints), observation.configuration))


def _rank(member: tuple[Rank, Configuration]) -> Rank:
    return member[0]
