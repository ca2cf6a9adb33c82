"""Successive halving and Hyperband (Li et al., JMLR 2018)."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from numpy.random import Generator

from nasbench.base.errors import check_choice
from nasbench.benchmarks import Level
from nasbench.benchmarks.spaces import Configuration
from nasbench.methods.about import About, Needs
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.problem import Observation, Problem, Proposal, Rank
from nasbench.methods.rungs import SIZES, best, merged, rungs, sizes


class Bracket:
    """Successive halving: when all trainings of a rung are told, the best continue in the next rung."""

    def __init__(self, levels: list[Level], sizes: list[int]) -> None:
        self._levels, self._sizes = levels, sizes
        self._rung = 0
        self._to_begin = sizes[0]
        self._to_go_on: deque[tuple[int, Configuration]] = deque()
        self._open = sizes[0]
        self._results: list[tuple[Rank, int, Configuration, bool]] = []

    def next(self, draw: Callable[[Level], Configuration]) -> Proposal | None:
        """The next proposal; None while the rung waits for pending trainings, or when the bracket has ended.

        Args:
            draw: gives a new configuration for the level up to which it is first trained.
        """
        if self._to_begin:
            self._to_begin -= 1
            return Proposal(draw(self._levels[0]), self._levels[0])
        if self._to_go_on:
            trial, configuration = self._to_go_on.popleft()
            return Proposal(configuration, self._levels[self._rung], trial)
        return None

    def tell(self, rank: Rank, trial: int, configuration: Configuration, goes_on: bool) -> None:
        """Adds a result of the present rung; after the last one, the best trainings are promoted."""
        self._results.append((rank, trial, configuration, goes_on))
        self._open -= 1
        if self._open == 0 and self._rung + 1 < len(self._levels):
            self._promote()

    def _promote(self) -> None:
        self._rung += 1
        results = sorted((r for r in self._results if r[3]), key=lambda result: result[1])  # oldest trial first
        chosen = best([result[0] for result in results], self._sizes[self._rung])
        self._to_go_on.extend((results[i][1], results[i][2]) for i in chosen)
        self._open, self._results = len(chosen), []


class Bracketed(Method):
    """The base class of methods that run brackets one after another, or several with several workers.

    No worker waits: it serves the oldest bracket that has something to do, and opens a new one if there is none. Only
    promotions wait for the rest of their rung. A failed or refused training never continues. If trainings cannot be
    continued, each level is a separate training.

    Options:
        eta: the best 1/eta of the trainings of a rung continue; at least 2.
        lowest: no level below this one is used; 0 for the first level.
    """

    needs = Needs(fidelity=True)
    about = About(version=2)

    def __init__(self, problem: Problem, rng: Generator, *, eta: int = 3, lowest: int = 0) -> None:
        assert problem.fidelity is not None  # `MethodSpec.build` has checked it
        self._problem, self._rng, self._eta = problem, rng, eta
        self._rungs = rungs(problem.fidelity, eta, lowest)
        self._levels = list(dict.fromkeys(self._rungs))
        self._sizes = sizes
        self._continuable = problem.fidelity.continuable
        self._brackets: list[Bracket] = []
        self._owners: dict[int, Bracket] = {}
        """The bracket of each pending training, by trial."""
        self._asked = self._opened = 0

    def ask(self) -> Proposal:
        proposal, bracket = self._next()
        if not self._continuable:
            proposal = proposal._replace(continues=None)
        self._owners[self._asked if proposal.continues is None else proposal.continues] = bracket
        self._asked += 1
        return proposal

    def tell(self, observation: Observation) -> None:
        bracket = self._owners.pop(observation.trial)
        rank = observation.rank(self._problem.constraints)
        bracket.tell(rank, observation.trial, observation.configuration, observation.evaluation.status == "ok")

    def draw(self, level: Level) -> Configuration:
        """A new configuration, which is first trained up to a level: drawn uniformly."""
        return self._problem.sample(self._rng)

    @abstractmethod
    def bracket_after(self, opened: int) -> int:
        """The number of rungs above the first in the next bracket, given the number of brackets opened so far."""

    def bracket(self, s: int) -> Bracket:
        """A new bracket with s rungs above its first."""
        return Bracket(*merged(self._rungs[-s - 1 :], self._sizes(len(self._rungs), s, self._eta)))

    def _next(self) -> tuple[Proposal, Bracket]:
        for bracket in self._brackets:
            proposal = bracket.next(self.draw)
            if proposal is not None:
                return proposal, bracket
        owners = {id(bracket) for bracket in self._owners.values()}
        self._brackets = [bracket for bracket in self._brackets if id(bracket) in owners]  # drops ended brackets
        bracket = self.bracket(self.bracket_after(self._opened))
        self._opened += 1
        self._brackets.append(bracket)
        proposal = bracket.next(self.draw)
        assert proposal is not None
        return proposal, bracket


@METHODS.register("successive-halving")
class SuccessiveHalving(Bracketed):
    """Successive halving on random configurations: repeats the bracket of Hyperband that begins at the lowest level.

    Take it for trainings that can be watched, where a bracket may be waited for.

    Beside its source: the bracket is Hyperband's first; it was not set beside other code.
    """

    about = replace(
        Bracketed.about,
        source=(
            "K. Jamieson and A. Talwalkar. Non-stochastic Best Arm Identification and Hyperparameter Optimization. "
            "AISTATS 2016."
        ),
        seconds=1e-5,
    )

    def bracket_after(self, opened: int) -> int:
        return len(self._rungs) - 1


@METHODS.register("hyperband")
class Hyperband(Bracketed):
    """Brackets of successive halving in turn, from the lowest first level to the highest, where all train to the end.

    With several workers the next bracket opens while the last one waits for its rung. A failed training never
    continues.

    Take it for trainings that can be watched, where nobody knows how early one can tell.

    Beside its source: bracket sizes are the paper's (`brackets=hpbandster`: the package's, than which a run is then
    better with probability 0.44 to 0.48).

    Options:
        brackets: number of trainings in bracket s: jmlr, ceil((s_max + 1) η^s / (s + 1)), or hpbandster, as in the
            package of BOHB's authors, floor((s_max + 1) / (s + 1)) η^s.
    """

    about = replace(
        Bracketed.about,
        source=(
            "L. Li, K. Jamieson, G. DeSalvo, A. Rostamizadeh and A. Talwalkar. Hyperband: A Novel Bandit-Based "
            "Approach to Hyperparameter Optimization. JMLR 18(185), 2018."
        ),
        seconds=1e-5,
    )

    def __init__(
        self, problem: Problem, rng: Generator, *, eta: int = 3, lowest: int = 0, brackets: str = "jmlr"
    ) -> None:
        check_choice("brackets", brackets, SIZES)
        super().__init__(problem, rng, eta=eta, lowest=lowest)
        self._sizes = SIZES[brackets]

    def bracket_after(self, opened: int) -> int:
        return len(self._rungs) - 1 - opened % len(self._rungs)
