"""PASHA: ASHA whose highest rung rises while the order of trainings still changes (Bohdal et al., ICLR 2023)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.random import Generator

from nasbench.benchmarks import Level
from nasbench.methods.contract import METHODS
from nasbench.methods.fidelity.asha import ASHA, Rung
from nasbench.methods.problem import Observation, Problem

K = TypeVar("K", bound=Hashable)

_PERCENTILE = 90.0  # of the differences of curves that cross twice (the paper, section 4.3)


@METHODS.register("pasha")
class PASHA(ASHA):
    """ASHA that begins with two rungs, and adds a rung whenever the two highest order their trainings differently.

    A training may stand in the place of another of the lower rung if the two differ there by at most epsilon: the 90th
    percentile of the final differences between trainings of the highest rung whose learning curves cross at least
    twice; after each rung that is added it is 0 until curves cross there. Trainings that violate a constraint are not
    compared; where eta trainings have reached the highest rung, and none is feasible in both of the two highest, a rung
    is added, too, for the constraint may be met at higher levels only. So under tight constraints it is soon ASHA.

    Once the order is stable nothing is trained longer, so that few networks or none are trained to the end, and
    incumbents are those of the highest level reached.

    Take it for trainings that can be watched, where few epochs may be enough.

    Beside its source: it was not set beside its authors' code; in equal epochs it is equivalent to `asha`.

    Options:
        eta: the best 1/eta of the trainings of a rung continue; at least 2.
        lowest: no level below this one is used; 0 for the first level.
    """

    about = replace(
        ASHA.about,
        source=(
            "O. Bohdal, L. Balles, M. Wistuba, B. Ermis, C. Archambeau and G. Zappella. PASHA: Efficient HPO and "
            "NAS with Progressive Resource Allocation. ICLR 2023."
        ),
        version=4,
        seconds=1e-4,
    )

    def __init__(self, problem: Problem, rng: Generator, *, eta: int = 3, lowest: int = 0) -> None:
        super().__init__(problem, rng, eta=eta, lowest=lowest)
        self._top = min(1, len(self._levels) - 1)
        """Number of the highest rung at present, from 0."""
        self._losses: list[dict[Hashable, float]] = [{} for _ in self._levels]
        """For each rung the objective of every feasible training: by trial, or by configuration if levels are trainings
        of their own."""
        self._crossings = Crossings()
        """The crossings between curves of trainings that reached the highest rung."""
        self._ended = 0
        """Number of trainings that reached the highest rung since it was added."""

    def _open(self) -> Sequence[tuple[Rung, int, Level]]:
        return self._downwards[len(self._downwards) - self._top :]

    def tell(self, observation: Observation) -> None:
        super().tell(observation)
        number = self._levels.index(observation.level)
        if observation.evaluation.status != "ok":
            return
        key: Hashable = observation.trial if self._continuable else observation.configuration
        is_new = observation.feasible and key not in self._losses[number]
        if observation.feasible:
            self._losses[number][key] = observation.objective
        if number != self._top or number == len(self._levels) - 1:
            return  # no rung is left to add
        self._ended += 1
        if is_new and observation.curve is not None:
            self._crossings.add(observation.curve)
        if not self._is_stable():
            self._top, self._crossings, self._ended = self._top + 1, Crossings(), 0

    def _is_stable(self) -> bool:
        """Whether the two highest rungs order the trainings of the highest in the same way, up to epsilon.

        Where of η trainings none is feasible in both, the order is not known.
        """
        below = self._losses[self._top - 1]
        highest = {key: loss for key, loss in self._losses[self._top].items() if key in below}
        if not highest:
            return self._ended < self._eta
        return is_same_order(highest, below, self._crossings.epsilon)


class Crossings:
    """The last differences between learning curves that cross at least twice (the paper, section 4.3)."""

    def __init__(self) -> None:
        self._curves: list[Sequence[float]] = []
        self._last: list[float] = []

    def add(self, curve: Sequence[float]) -> None:
        """Adds a curve: objectives by level, as many as in those before it. NaN is on no side of another curve."""
        if self._curves:
            differences = np.subtract(self._curves, curve)
            signs = np.nan_to_num(np.sign(differences))
            places = np.maximum.accumulate(np.where(signs != 0, np.arange(len(curve)), 0), axis=1)
            signs = np.take_along_axis(signs, places, axis=1)  # a tie is on the side of the level before it
            crossings = np.count_nonzero(signs[:, 1:] * signs[:, :-1] < 0, axis=1)
            self._last += np.abs(differences[crossings > 1, -1]).tolist()
        self._curves.append(curve)

    @property
    def epsilon(self) -> float:
        """The 90th percentile of the differences; 0 if no two curves cross twice."""
        return float(np.nanpercentile(self._last, _PERCENTILE)) if self._last else 0.0


def is_same_order(highest: Mapping[K, float], below: Mapping[K, float], tolerance: float) -> bool:
    """Whether each training of the highest rung has its place in the order of the rung below; a tie has any order.

    Args:
        highest: the loss of each training, by its key.
        below: the same one rung below; trainings that are not in `highest` do not count.
        tolerance: trainings whose losses below differ by at most this have each other's places.
    """
    by_highest = sorted(highest, key=lambda key: (highest[key], below[key]))
    by_below = sorted(highest, key=below.__getitem__)
    return all(abs(below[a] - below[b]) <= tolerance for a, b in zip(by_highest, by_below, strict=True))
