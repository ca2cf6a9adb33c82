"""The hypervolume of a run with several objectives after each of its evaluations."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]


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
