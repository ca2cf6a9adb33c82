"""MO-ASHA: asynchronous successive halving with several objectives (Schmucker et al., 2021)."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from nasbench.benchmarks.spaces import Configuration
from nasbench.methods.contract import METHODS, Losses, Method, Observation, Problem
from nasbench.methods.dominance import Array, ranks, scaled
from nasbench.methods.fidelity.asha import ASHA, Rung


class FrontsRung(Rung):
    """All results at a level, ordered by constrained dominance and an epsilon-net."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._violations: list[float] = []
        self._losses: list[Losses] = []
        self._unpromoted: dict[int, tuple[int, Configuration]] = {}
        """Number of the result → its training, for those that have not been promoted."""

    def add(self, observation: Observation, may_go_on: bool) -> None:
        """Adds a result; one without finite losses is the worst."""
        violation, losses = observation.rank(self._problem.constraints)[0], self._problem.losses(observation)
        if may_go_on:
            self._unpromoted[len(self._losses)] = observation.trial, observation.configuration
        self._losses.append(losses)
        self._violations.append(violation if all(map(math.isfinite, losses)) else math.inf)

    def promoted(self, eta: int) -> tuple[int, Configuration] | None:
        best = order(self._violations, self._losses)[: len(self._losses) // eta] if self._unpromoted else []
        number = next((number for number in best if number in self._unpromoted), None)
        return None if number is None else self._unpromoted.pop(number)


@METHODS.register("mo-asha")
class MOASHA(ASHA):
    """ASHA for several objectives: results of a rung are ordered by nondominated rank, ties by an epsilon-net.

    The epsilon-net begins with the best of the first objective, and goes on with the result that lies farthest from
    those before it, in losses scaled to [0, 1]. Results that violate a constraint follow, by their violation. With one
    objective it is `asha` with its variant of promotion.

    Options:
        eta: the best 1/eta of the trainings of a rung continue; at least 2.
        lowest: the lowest level at which trainings are compared; 0 for the first level.
    """

    source = (
        "R. Schmucker, M. Donini, M. B. Zafar, D. Salinas and C. Archambeau. Multi-objective Asynchronous Successive "
        "Halving. arXiv:2106.12639, 2021."
    )
    serves_several = True
    seconds = 3e-4
    rung = FrontsRung

    def __init__(self, problem: Problem, rng: Generator, *, eta: int = 3, lowest: int = 0) -> None:
        super().__init__(problem, rng, eta=eta, lowest=lowest)

    @classmethod
    def form(cls, problem: Problem) -> type[Method]:
        return cls if problem.several else ASHA


def order(violations: list[float], losses: list[Losses]) -> list[int]:
    """The results from the best to the worst: by violation, nondominated rank and epsilon-net."""
    feasible = [i for i, violation in enumerate(violations) if violation == 0]
    ordered: list[int] = []
    if feasible:
        points = np.array([losses[i] for i in feasible])
        rank = ranks(points)
        for r in range(int(rank.max()) + 1):
            members = np.flatnonzero(rank == r)
            ordered += [feasible[members[i]] for i in epsilon_net(points[members])]
    return ordered + sorted((i for i in range(len(losses)) if violations[i] > 0), key=violations.__getitem__)


def epsilon_net(points: Array) -> list[int]:
    """An order in which each point is the farthest from those before it; the first is the best of objective 1."""
    places, _ = scaled(points)
    chosen = [int(np.argmin(points[:, 0]))]
    distances = np.full(len(points), np.inf)
    while len(chosen) < len(points):
        distances = np.minimum(distances, np.sum((places - places[chosen[-1]]) ** 2, axis=1))
        distances[chosen] = -1.0
        chosen.append(int(np.argmax(distances)))
    return chosen
