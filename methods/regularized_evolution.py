"""Regularised evolution (Real et al., AAAI 2019, algorithm 1), with constraints by rank."""

from __future__ import annotations

from collections import deque
from operator import attrgetter
from typing import NamedTuple

from numpy.random import Generator

from nasbench.base.errors import check_range
from nasbench.benchmarks.spaces import Configuration
from nasbench.methods.about import About, Needs
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.dominance import places
from nasbench.methods.problem import Losses, Observation, Problem, Rank

_MOST = 1_000_000


class _Member(NamedTuple):
    """A living configuration."""

    rank: Rank
    configuration: Configuration
    losses: Losses
    """Empty with one objective."""


_RANK = attrgetter("rank")


@METHODS.register("evolution")
class RegularizedEvolution(Method):
    """Mutates the best of a random tournament; the oldest member dies.

    The first `population` configurations are random. Members are compared by feasibility, then by total normalised
    constraint violation, then by objective; a failed evaluation is worse than any other. With several workers a child
    may be proposed before its predecessors are told: the tournament is among the members told so far (a random
    configuration if there are none), and members die in the order in which they were told. With several objectives,
    feasible members are compared by their nondominated rank in the population, then by crowding distance (the
    tournament of NSGA-II).

    Take it for thousands of evaluations; with fewer, `population=20`.

    Beside its source: violations are compared before objectives; it was not set beside other code.

    Options:
        population: number of living members, and of random configurations at first; at least 1.
        tournament: members drawn for each tournament, at least 1.
    """

    about = About(
        source=(
            "E. Real, A. Aggarwal, Y. Huang and Q. V. Le. Regularized Evolution for Image Classifier Architecture "
            "Search. AAAI 2019."
        ),
        initial=lambda options: int(options["population"]),
    )
    needs = Needs(several=True)

    def __init__(self, problem: Problem, rng: Generator, *, population: int = 100, tournament: int = 25) -> None:
        for name, value in (("population", population), ("tournament", tournament)):
            check_range(name, value, 1, _MOST)
        self._space, self._constraints, self._rng = problem.space, problem.constraints, rng
        self._initial, self._tournament = population, tournament
        self._members: deque[_Member] = deque(maxlen=population)
        self._problem = problem

    def ask(self) -> Configuration:
        if self._initial > 0 or not self._members:
            self._initial -= 1
            return self._problem.sample(self._rng)
        # Drawn with replacement, as algorithm 1 of the paper does.
        draws = self._rng.integers(len(self._members), size=self._tournament).tolist()
        if self._problem.several:
            placed = places([member.rank[0] for member in self._members], [member.losses for member in self._members])
            parent = self._members[min(draws, key=placed.__getitem__)]
        else:
            parent = min([self._members[i] for i in draws], key=_RANK)
        return self._problem.accepted(lambda: self._space.mutant(parent.configuration, self._rng))

    def tell(self, observation: Observation) -> None:
        losses = self._problem.losses(observation) if self._problem.several else ()
        self._members.append(_Member(observation.rank(self._constraints), observation.configuration, losses))
