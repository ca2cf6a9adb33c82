"""MO-ASHA: asynchronous successive halving with several objectives (Schmucker et al., 2021)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from nasbench.benchmarks.spaces import Configuration
from nasbench.methods.contract import METHODS
from nasbench.methods.dominance import Array, ranks, scaled
from nasbench.methods.fidelity.asha import ASHA, Rung
from nasbench.methods.problem import Losses, Observation, Problem


class FrontsRung(Rung):
    """All results at a level, ordered by constrained dominance and an epsilon-net."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._violations: list[float] = []
        self._losses: list[Losses] = []
        self._best: list[int] | None = []
        """The numbers of the best results; None if a result has come since they were ordered."""
        self._unpromoted: dict[int, tuple[int, Configuration]] = {}
        """Number of the result → its training, for those that have not been promoted."""

    def add(self, observation: Observation, may_go_on: bool) -> None:
        if may_go_on:
            self._unpromoted[len(self._losses)] = observation.trial, observation.configuration
        self._losses.append(self._problem.losses(observation))
        self._violations.append(observation.rank(self._problem.constraints)[0])
        self._best = None

    def promoted(self, share: int) -> tuple[int, Configuration] | None:
        if not self._unpromoted:
            return None
        if self._best is None:
            self._best = order(self._violations, self._losses, len(self._losses) // share)
        number = next((number for number in self._best if number in self._unpromoted), None)
        return None if number is None else self._unpromoted.pop(number)


@METHODS.register("mo-asha")
class MOASHA(ASHA):
    """ASHA for several objectives: results of a rung are ordered by nondominated rank, ties by an epsilon-net.

    The epsilon-net begins with the best of the first objective, and goes on with the result that lies farthest from
    those before it, in losses scaled to [0, 1]. Results that violate a constraint follow, by their violation; those
    with equal violations (infinite where a metric is known only after a whole training) are ordered likewise, by the
    objectives that any of them has. With one objective it is `asha` with its variant of promotion.

    Take it for fronts of trainings that can be watched.

    Beside its source: the epsilon-net is the paper's; it was not set beside other code.

    Options:
        eta: the best 1/eta of the trainings of a rung continue; at least 2.
        lowest: no level below this one is used; 0 for the first level.
    """

    about = replace(
        ASHA.about,
        source=(
            "R. Schmucker, M. Donini, M. B. Zafar, D. Salinas and C. Archambeau. Multi-objective Asynchronous "
            "Successive Halving. arXiv:2106.12639, 2021."
        ),
        version=3,
        seconds=3e-3,
    )
    needs = replace(ASHA.needs, several=True)

    def __init__(self, problem: Problem, rng: Generator, *, eta: int = 3, lowest: int = 0) -> None:
        super().__init__(problem, rng, eta=eta, lowest=lowest)

    def rung(self, problem: Problem) -> Rung:
        return FrontsRung(problem) if problem.several else super().rung(problem)


def order(violations: Sequence[float], losses: Sequence[Losses], count: int) -> list[int]:
    """The best `count` results, the best first: by violation, nondominated rank and epsilon-net.

    Args:
        losses: NaN where a result lacks an objective.
    """
    ordered: list[int] = []
    by_violation = sorted(range(len(violations)), key=violations.__getitem__)
    for _, group in itertools.groupby(by_violation, key=violations.__getitem__):
        if len(ordered) >= count:
            break
        equal = list(group)
        points = np.array([losses[i] for i in equal], float)
        ordered += [equal[k] for k in _by_fronts(points, count - len(ordered))]
    return ordered[:count]


def _by_fronts(losses: Array, count: int) -> list[int]:
    """The order of results by the objectives that any of them has, at least of the best `count`.

    Results that lack one of these objectives come last.
    """
    if len(losses) == 1:
        return [0]
    points = losses[:, np.isfinite(losses).any(axis=0)]
    is_whole = np.isfinite(points).all(axis=1)
    whole = np.flatnonzero(is_whole)
    rest: list[int] = np.flatnonzero(~is_whole).tolist()
    points = points[whole]
    if not points.size:
        return [*whole.tolist(), *rest]
    if points.shape[1] == 1:
        return [*whole[np.argsort(points[:, 0], kind="stable")].tolist(), *rest]
    rank = ranks(points)
    ordered: list[int] = []
    for r in range(int(rank.max()) + 1):
        if len(ordered) >= count:
            return ordered
        members = np.flatnonzero(rank == r)
        ordered += [int(whole[members[i]]) for i in epsilon_net(points[members])]
    return ordered + rest


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
