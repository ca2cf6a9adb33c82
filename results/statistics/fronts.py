"""Hypervolumes of runs with several objectives, and the distance of their fronts from the exact one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.results.curves import Array
from nasbench.results.hypervolumes import hypervolumes

Scale: TypeAlias = tuple[str, str, bool, bool]
"""Name, unit, whether it is maximised and whether it is on a log scale: one of `Setting.scales`."""

_LEAST = 1e-12  # the smallest value that has a logarithm here
_MARGIN = 0.1  # of the front's extent, by which the reference point lies beyond it


@dataclass(frozen=True)
class Quality:
    """Indicators of one front; the losses of the exact front span 0 to 1/1.1 in each objective."""

    igd_plus: float
    """Mean distance IGD+ from the exact front (Ishibuchi et al., 2015); 0 for the exact front."""
    epsilon: float
    """Additive epsilon indicator (Zitzler et al., 2003): by how much every point must improve to cover the front."""
    found: float
    """Share of the points of the exact front that are among the run's, in [0, 1]."""


@dataclass(frozen=True, eq=False)
class UnionFront:
    """The front of all runs of a setting, where no table knows the exact one, and the scale on which it is measured."""

    ideal: Array
    extent: Array
    """Distance of the reference point from the ideal, shape (objectives,)."""
    volume: float

    @classmethod
    def of(cls, points: Array) -> UnionFront:
        """The front of losses of feasible evaluations, shape (evaluations, objectives), at least one."""
        from moocore import filter_dominated, hypervolume

        front = np.asarray(filter_dominated(points))
        ideal, nadir, worst = front.min(axis=0), front.max(axis=0), points.max(axis=0)
        extent = np.where(nadir > ideal, (1 + _MARGIN) * (nadir - ideal), _MARGIN * (worst - ideal))
        extent = np.where(extent > 0, extent, 1.0)
        return cls(ideal, extent, float(hypervolume((front - ideal) / extent, ref=np.ones(points.shape[1]))))

    def shares(self, points: Array, counts: NDArray[np.bool_]) -> Array:
        """Share of the hypervolume of this front that a run has after each evaluation; see `hypervolumes`."""
        return hypervolumes((points - self.ideal) / self.extent, counts) / self.volume


def losses(values: Array, scales: Sequence[Scale]) -> Array:
    """Values in the metrics' units as losses: lower is better, by the logarithm on a log scale; same shape."""
    scaled = np.array(values, float)
    for column, (_, _, is_maximised, is_log) in enumerate(scales):
        if is_log:
            scaled[:, column] = np.log10(np.maximum(scaled[:, column], _LEAST))
        if is_maximised:
            scaled[:, column] *= -1.0
    return scaled


def quality(values: Array, front: Array, scales: Sequence[Scale]) -> Quality:
    """The quality of a run's evaluations.

    Args:
        values: feasible evaluations in the metrics' units, shape (evaluations, objectives); if there is none, the
            reference point counts.
        front: the exact front, shape (points, objectives).
    """
    from moocore import epsilon_additive, igd_plus

    exact = losses(front, scales)
    low, extent = exact.min(axis=0), (1 + _MARGIN) * np.ptp(exact, axis=0)
    extent = np.where(extent > 0, extent, 1.0)
    reached = (losses(values, scales) - low) / extent if len(values) else np.ones((1, len(scales)))
    exact = (exact - low) / extent
    found = len(set(map(tuple, front.tolist())) & set(map(tuple, values.tolist()))) / len(front)
    return Quality(float(igd_plus(reached, ref=exact)), float(epsilon_additive(reached, ref=exact)), found)
