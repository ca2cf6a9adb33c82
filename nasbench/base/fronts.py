"""Fronts of several objectives, and the hypervolumes of runs on the scale of a front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.base.metrics import Scale

Array: TypeAlias = NDArray[np.float64]
MARGIN = 0.1
"""Share of a front's extent by which the reference point lies beyond the front."""

_LEAST = 1e-12  # the smallest value that has a logarithm here


def hypervolumes(points: Array, counts: NDArray[np.bool_]) -> Array:
    """Hypervolume up to the point (1, …, 1) that a run dominates after each of its evaluations, shape (evaluations,).

    It never falls. NaN before the first evaluation that counts.

    Args:
        points: losses of the evaluations, shape (evaluations, objectives).
        counts: whether each evaluation counts, shape (evaluations,).
    """
    from moocore import hypervolume

    ones = np.ones(points.shape[1])
    volumes, archive, volume = np.full(len(points), np.nan), np.empty((0, len(ones))), 0.0
    for i in np.flatnonzero(counts):
        point = points[i]
        if np.all(point < 1.0) and not np.any(np.all(archive <= point, axis=1)):
            archive = np.vstack([archive[~np.all(point <= archive, axis=1)], point])
            volume = max(volume, hypervolume(archive, ref=ones))
        volumes[i] = volume
    last = np.maximum.accumulate(np.where(counts, np.arange(len(counts)), -1))
    return np.where(last < 0, np.nan, volumes[last])  # an evaluation that does not count changes nothing


def nondominated(points: Array) -> Array:
    """The different non-dominated rows, ascending by the first column, shape (points, objectives)."""
    from moocore import filter_dominated

    front: Array = np.unique(filter_dominated(points), axis=0)
    return front


@dataclass(frozen=True, eq=False)
class Front:
    """The scale that a front gives to hypervolumes.

    An objective's ideal is 0 and the reference point is 1: it lies a tenth of the front's extent beyond the front's
    worst value.
    """

    ideal: Array
    """The smallest loss of each objective on the front, shape (objectives,)."""
    extent: Array
    """Distance of the reference point from the ideal, shape (objectives,)."""
    volume: float
    """Hypervolume of the front on this scale."""

    @classmethod
    def of(cls, points: Array) -> Front:
        """The front of losses of feasible evaluations, shape (evaluations, objectives), at least one."""
        from moocore import hypervolume

        front = nondominated(points)
        ideal, nadir, worst = front.min(axis=0), front.max(axis=0), points.max(axis=0)
        extent = np.where(nadir > ideal, (1 + MARGIN) * (nadir - ideal), MARGIN * (worst - ideal))
        extent = np.where(extent > 0, extent, 1.0)
        return cls(ideal, extent, float(hypervolume((front - ideal) / extent, ref=np.ones(points.shape[1]))))

    def scaled(self, points: Array) -> Array:
        """Losses with the ideal at 0 and the reference point at 1, shape (…, objectives)."""
        result: Array = (points - self.ideal) / self.extent
        return result

    def shares(self, points: Array, counts: NDArray[np.bool_]) -> Array:
        """Share of this front's hypervolume that a run has after each evaluation; see `hypervolumes`."""
        return hypervolumes(self.scaled(points), counts) / self.volume


def losses(values: Array, scales: Sequence[Scale]) -> Array:
    """Values in the metrics' units as losses: lower is better, by their logarithm on a log scale; same shape."""
    logs = np.array([scale.log for scale in scales])
    signs = np.array([-1.0 if scale.maximised else 1.0 for scale in scales])
    scaled: Array = signs * np.where(logs, np.log10(np.where(logs, np.maximum(values, _LEAST), 1.0)), values)
    return scaled
