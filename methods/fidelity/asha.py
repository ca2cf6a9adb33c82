"""ASHA: asynchronous successive halving (Li et al., MLSys 2020)."""

from __future__ import annotations

import bisect
import heapq
from collections import deque
from collections.abc import Sequence
from typing import TypeAlias

from numpy.random import Generator

from nasbench.base.errors import check_choice
from nasbench.benchmarks import Level
from nasbench.benchmarks.spaces import Configuration
from nasbench.methods.about import About, Needs
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.problem import Observation, Problem, Proposal
from nasbench.methods.rungs import rungs

_VARIANTS = ("promotion", "stopping")

_Key: TypeAlias = tuple[float, float, int]
"""A rank, and the number of its arrival."""


class Rung:
    """All results at a level, ordered by rank; equal ones are ordered by arrival."""

    def __init__(self, problem: Problem) -> None:
        self._constraints = problem.constraints
        self._sorted: list[_Key] = []
        self._waiting: list[tuple[_Key, int, Configuration]] = []
        """A heap of the trainings that have not been promoted."""

    def add(self, observation: Observation, may_go_on: bool) -> None:
        """Adds a result, and whether its training may be promoted."""
        key = (*observation.rank(self._constraints), len(self._sorted))
        bisect.insort(self._sorted, key)
        if may_go_on:
            heapq.heappush(self._waiting, (key, observation.trial, observation.configuration))

    def promoted(self, share: int) -> tuple[int, Configuration] | None:
        """Takes the best unpromoted training if it is among the best floor(n/share) of all n results (algorithm 2)."""
        if not self._waiting:
            return None
        key, trial, configuration = self._waiting[0]
        if bisect.bisect_left(self._sorted, key) >= len(self._sorted) // share:
            return None
        heapq.heappop(self._waiting)
        return trial, configuration

    def is_among_best(self, observation: Observation, share: int) -> bool:
        """Whether at most one in `share` of the results so far, this one included, is better than this one."""
        better = bisect.bisect_left(self._sorted, (*observation.rank(self._constraints), -1))
        return better * share <= len(self._sorted)


@METHODS.register("asha")
class ASHA(Method):
    """Asynchronous successive halving: a training continues if it is among the best so far; no rung waits.

    `variant=promotion` is the paper's algorithm 2: a free worker continues, from the highest rung down, the best
    training among the best floor(n/η) of a rung that has not been promoted; if there is none, it takes a new random
    configuration. `variant=stopping`: each training is judged once, when it reaches a rung, and continues at once
    unless more than 1/η of the results so far are better. A failed training stays in its rung as the worst.

    Take it for trainings that can be watched, with many workers.

    Beside its source: `variant=stopping` makes the decisions of Syne Tune 0.16, run by run; a run is better than
    one of its `promotion` with probability 0.44 to 0.60.

    Options:
        eta: the best 1/eta of the trainings of a rung continue; at least 2.
        lowest: no level below this one is used; 0 for the first level.
        variant: promotion or stopping.
    """

    about = About(
        source=(
            "L. Li, K. Jamieson, A. Rostamizadeh, E. Gonina, J. Ben-tzur, M. Hardt, B. Recht and A. Talwalkar. A "
            "System for Massively Parallel Hyperparameter Tuning. MLSys 2020."
        ),
        version=2,
        seconds=1e-5,
    )
    needs = Needs(fidelity=True)

    def __init__(
        self, problem: Problem, rng: Generator, *, eta: int = 3, lowest: int = 0, variant: str = "promotion"
    ) -> None:
        check_choice("variant", variant, _VARIANTS)
        assert problem.fidelity is not None  # `MethodSpec.build` has checked it
        self._problem, self._rng, self._eta = problem, rng, eta
        every = rungs(problem.fidelity, eta, lowest)
        self._levels = list(dict.fromkeys(every))
        self._shares = {level: eta ** every.count(level) for level in self._levels}
        """How many trainings of each level share one promotion: η for each rung that falls on it, multiplied."""
        self._continuable, self._stopping = problem.fidelity.continuable, variant == "stopping"
        self._rungs = {level: self.rung(problem) for level in self._levels[:-1]}
        self._above = dict(zip(self._levels[:-1], self._levels[1:], strict=True))
        self._downwards = [
            (rung, self._shares[level], self._above[level]) for level, rung in reversed(self._rungs.items())
        ]
        self._judged: deque[Proposal] = deque()
        """Trainings that continue at once (variant stopping)."""

    def rung(self, problem: Problem) -> Rung:
        """An empty rung, which orders the results of a level."""
        return Rung(problem)

    def ask(self) -> Proposal:
        if self._judged:
            return self._judged.popleft()
        for rung, share, above in self._open():
            promoted = rung.promoted(share)
            if promoted is not None:
                return self._further(*promoted, above)
        return Proposal(self._problem.sample(self._rng), self._levels[0])

    def _open(self) -> Sequence[tuple[Rung, int, Level]]:
        """The rungs that promote, the highest first, each with its entry of `_shares` and the level above it."""
        return () if self._stopping else self._downwards

    def tell(self, observation: Observation) -> None:
        rung = self._rungs.get(observation.level)
        if rung is None:
            return  # the highest level has no rung
        is_ok = observation.evaluation.status == "ok"
        rung.add(observation, is_ok and not self._stopping)
        if self._stopping and is_ok and rung.is_among_best(observation, self._shares[observation.level]):
            above = self._above[observation.level]
            self._judged.append(self._further(observation.trial, observation.configuration, above))

    def _further(self, trial: int, configuration: Configuration, level: Level) -> Proposal:
        return Proposal(configuration, level, trial if self._continuable else None)
