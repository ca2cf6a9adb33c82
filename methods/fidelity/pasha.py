"""PASHA: ASHA whose highest rung rises while the order of trainings still changes (Bohdal et al., ICLR 2023)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.random import Generator

from nasbench.methods.contract import METHODS, Observation, Problem, Proposal
from nasbench.methods.fidelity.asha import ASHA

K = TypeVar("K", bound=Hashable)

_PERCENTILE = 90.0  # of the differences of curves that cross twice (the paper, section 4.3)


@METHODS.register("pasha")
class PASHA(ASHA):
    """ASHA that begins with two rungs, and adds a rung whenever the two highest order their trainings differently.

    A training may stand in the place of another of the lower rung if the two differ there by at most epsilon: the 90th
    percentile of the final differences between trainings of the highest rung whose learning curves cross at least
    twice. Trainings that violate a constraint are not compared. Once the order is stable nothing is trained longer, so
    that few networks or none are trained to the end, and incumbents are those of the highest level reached.

    Options:
        eta: the best 1/eta of the trainings of a rung continue; at least 2.
        lowest: the lowest level at which trainings are compared; 0 for the first level.
    """

    source = (
        "O. Bohdal, L. Balles, M. Wistuba, B. Ermis, C. Archambeau and G. Zappella. PASHA: Efficient HPO and NAS with "
        "Progressive Resource Allocation. ICLR 2023."
    )
    seconds = 1e-4

    def __init__(self, problem: Problem, rng: Generator, *, eta: int = 3, lowest: int = 0) -> None:
        super().__init__(problem, rng, eta=eta, lowest=lowest)
        self._top = min(1, len(self._levels) - 1)
        """Number of the highest rung at present, from 0."""
        self._losses: list[dict[Hashable, float]] = [{} for _ in self._levels]
        """For each rung the objective of every feasible training: by trial, or by configuration if levels are trainings
        of their own."""
        self._curves: dict[Hashable, tuple[float, ...]] = {}

    def ask(self) -> Proposal:
        for rung, above in self._downwards[len(self._downwards) - self._top :]:
            promoted = rung.promoted(self._eta)
            if promoted is not None:
                return self._further(*promoted, above)
        return Proposal(self._problem.space.sample(self._rng), self._levels[0])

    def tell(self, observation: Observation) -> None:
        super().tell(observation)
        number = self._levels.index(observation.level)
        if not observation.feasible:
            return
        key: Hashable = observation.trial if self._continuable else observation.configuration
        self._losses[number][key] = observation.objective
        self._curves[key] = observation.curve or ()
        if number == self._top and not self._is_stable():
            self._top = min(self._top + 1, len(self._levels) - 1)

    def _is_stable(self) -> bool:
        """Whether the two highest rungs order the trainings of the highest in the same way, up to epsilon."""
        below = self._losses[self._top - 1]
        highest = {key: loss for key, loss in self._losses[self._top].items() if key in below}
        return is_same_order(highest, below, epsilon([self._curves[key] for key in highest]))


def is_same_order(highest: Mapping[K, float], below: Mapping[K, float], tolerance: float) -> bool:
    """Whether each training of the highest rung has its place in the order of the rung below.

    Args:
        highest: the loss of each training, by its key.
        below: the same one rung below; trainings that are not in `highest` do not count.
        tolerance: trainings whose losses below differ by at most this have each other's places.
    """
    by_highest, by_below = (sorted(highest, key=losses.__getitem__) for losses in (highest, below))
    return all(abs(below[a] - below[b]) <= tolerance for a, b in zip(by_highest, by_below, strict=True))


def epsilon(curves: Sequence[Sequence[float]]) -> float:
    """The 90th percentile of the last differences between curves that cross at least twice; 0 if none do.

    Args:
        curves: objectives by level, of different lengths; two are compared as far as both go.
    """
    last = []
    for i, one in enumerate(curves):
        for other in curves[:i]:
            length = min(len(one), len(other))
            difference = np.subtract(one[:length], other[:length])
            signs = np.sign(difference[np.flatnonzero(difference)])  # NaN has no sign
            signs = signs[~np.isnan(signs)]
            if np.count_nonzero(signs[1:] != signs[:-1]) > 1:
                last.append(abs(float(difference[-1])))
    return float(np.nanpercentile(last, _PERCENTILE)) if last else 0.0
