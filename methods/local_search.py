"""Local search (White, Nolen and Savani, UAI 2021), with constraints by rank."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from numpy.random import Generator

from nasbench.base.errors import UsageError, check_least
from nasbench.benchmarks.spaces import Configuration, FiniteSpace
from nasbench.methods.about import About, Needs
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.dominance import dominates
from nasbench.methods.problem import Losses, Observation, Problem, Rank

_MOST_DRAWS = 50  # consecutive draws without a new configuration before the search gives up
_MOST_MUTANTS = 100  # mutants of one configuration if the space is not finite


@METHODS.register("local")
class LocalSearch(Method):
    """Evaluates the neighbours of the best configuration in random order, moves to the first better one, restarts.

    A start is the best of `initial` random configurations. When no neighbour is better, the search starts anew. No
    configuration is evaluated twice as long as new ones are found. They are compared by feasibility, then violation,
    then objective; a failed evaluation is never better. Neighbours in a grid are all configurations that differ in
    one choice; in a listed table, those that the table names; elsewhere random mutants, until 50 in a row are known
    or 100 have been tried. With several workers the search moves as soon as a better neighbour is told, and while the
    last neighbours are evaluated, free workers draw random configurations, for which it does not wait.

    With several objectives it is Pareto local search (Paquete, Chiarandini and Stützle, 2004): the search keeps an
    archive of the evaluations that none dominates since the last start, evaluates all neighbours of a random member
    whose neighbours it has not evaluated, and starts anew when there is none. Before anything is feasible, the archive
    is the evaluation with the smallest violation.

    Take it for a strong and cheap baseline on grids, cells and graphs.

    Beside its source: it was not set beside other code.

    Options:
        initial: random configurations from which each start chooses the best, at least 1.
    """

    about = About(
        version=3,
        source=(
            "C. White, S. Nolen and Y. Savani. Exploring the Loss Landscape in Neural Architecture Search. UAI 2021."
        ),
    )
    needs = Needs(several=True)

    def __init__(self, problem: Problem, rng: Generator, *, initial: int = 10) -> None:
        check_least("initial", initial, 1)
        self._problem, self._space, self._constraints, self._rng = problem, problem.space, problem.constraints, rng
        self._initial = self._random_left = initial
        self._asked: set[Configuration] = set()
        self._pending: list[Configuration] = []
        """What the search waits for before it starts anew."""
        self._best: tuple[Rank, Configuration] | None = None
        """The best observation since the last start."""
        self._around: Iterator[Configuration] = iter(())
        """The neighbours of the best configuration that have not been asked for."""

    def __new__(cls, problem: Problem, rng: Generator, **options: int) -> LocalSearch:
        is_plain = cls is LocalSearch  # a class that extends this one says itself what it does
        kind: type[LocalSearch] = ParetoLocalSearch if problem.several and is_plain else cls
        return super().__new__(kind)

    def ask(self) -> Configuration:
        chosen = self._next()
        if chosen is None:
            chosen = self._drawn()
        else:
            self._pending.append(chosen)
        self._asked.add(chosen)
        return chosen

    def tell(self, observation: Observation) -> None:
        self._answered(observation.configuration)
        rank = observation.rank(self._constraints)
        if rank[0] < math.inf and (self._best is None or rank < self._best[0]):
            self._best = rank, observation.configuration
            self._around = self._neighbours(observation.configuration)

    def _answered(self, configuration: Configuration) -> None:
        if configuration in self._pending:  # not what was drawn meanwhile
            self._pending.remove(configuration)

    def _next(self) -> Configuration | None:
        """The next configuration of the search; None while it waits for others."""
        if self._random_left == 0 and self._best is not None:
            neighbour = next(self._around, None)
            if neighbour is not None:
                return neighbour
            if self._pending:  # one of them may be better
                return None
            self._random_left, self._best = self._initial, None  # a local minimum
        self._random_left = max(self._random_left - 1, 0)
        return self._drawn()

    def _neighbours(self, configuration: Configuration) -> Iterator[Configuration]:
        """The neighbours of a configuration in random order; those asked for in the meantime are skipped."""
        if isinstance(self._space, FiniteSpace):
            neighbours = self._space.neighbours(configuration)
            for i in self._rng.permutation(len(neighbours)).tolist():
                if neighbours[i] not in self._asked:
                    yield neighbours[i]
            return
        for _ in range(_MOST_MUTANTS):
            mutant = self._new(lambda: self._space.mutate(configuration, self._rng))
            if mutant is None:
                return
            yield mutant

    def _drawn(self) -> Configuration:
        """A random configuration, one that has not been asked for if there seems to be any."""
        drawn = self._new(lambda: self._problem.sample(self._rng))
        return self._problem.sample(self._rng) if drawn is None else drawn  # a row of a list may be 0

    def _new(self, draw: Callable[[], Configuration]) -> Configuration | None:
        """A drawn configuration that has not been asked for; None if 50 draws in a row have been."""
        for _ in range(_MOST_DRAWS):
            try:
                drawn = draw()
            except UsageError:  # the configuration has no mutants
                return None
            if drawn not in self._asked:
                return drawn
        return None


class ParetoLocalSearch(LocalSearch):
    """Local search for several objectives (`LocalSearch` describes it)."""

    def __init__(self, problem: Problem, rng: Generator, *, initial: int = 10) -> None:
        super().__init__(problem, rng, initial=initial)
        self._archive: dict[Configuration, tuple[float, Losses]] = {}
        """Violation and losses of the evaluations that none dominates since the last start."""
        self._visited: set[Configuration] = set()
        """Members whose neighbours have been evaluated, or are being evaluated."""

    def tell(self, observation: Observation) -> None:
        self._answered(observation.configuration)
        told = observation.rank(self._constraints)[0], self._problem.losses(observation)
        if told[0] == math.inf or any(_is_worse(told, member) for member in self._archive.values()):
            return
        self._archive = {c: member for c, member in self._archive.items() if not _is_worse(member, told)}
        self._archive[observation.configuration] = told

    def _next(self) -> Configuration | None:
        while self._random_left == 0 and self._archive:
            neighbour = next(self._around, None)
            if neighbour is not None:
                return neighbour
            members = [c for c in self._archive if c not in self._visited]
            if members:
                chosen = members[int(self._rng.integers(len(members)))]
                self._visited.add(chosen)
                self._around = self._neighbours(chosen)
            elif self._pending:  # one of them may enter the archive
                return None
            else:  # a Pareto local optimum set
                self._random_left, self._archive = self._initial, {}
        self._random_left = max(self._random_left - 1, 0)
        return self._drawn()


def _is_worse(one: tuple[float, Losses], other: tuple[float, Losses]) -> bool:
    """Whether an evaluation is dominated by another, or equal to it; each is (violation, losses)."""
    if one[0] or other[0]:
        return one[0] >= other[0]
    return one[1] == other[1] or dominates(other[1], one[1])
