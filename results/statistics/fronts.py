"""The distance of the fronts that runs have found from the exact front of their setting, and attainment surfaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nasbench.base.fronts import MARGIN, losses
from nasbench.base.metrics import Scale
from nasbench.results.curves import Array


@dataclass(frozen=True)
class Quality:
    """Indicators of one front; the losses of the exact front span 0 to 1/1.1 in each objective."""

    igd_plus: float
    """Mean distance IGD+ from the exact front (Ishibuchi et al., 2015); 0 for the exact front."""
    epsilon: float
    """Additive epsilon indicator (Zitzler et al., 2003): by how much every point must improve to cover the front."""
    found: float
    """Share of the points of the exact front that are among the run's, in [0, 1]."""


def quality(values: Array, front: Array, scales: Sequence[Scale]) -> Quality:
    """The quality of a run's evaluations.

    Args:
        values: feasible evaluations in the metrics' units, shape (evaluations, objectives); if there is none, the
            reference point counts.
        front: the exact front, shape (points, objectives).
    """
    from moocore import epsilon_additive, igd_plus

    exact = losses(front, scales)
    low, extent = exact.min(axis=0), (1 + MARGIN) * np.ptp(exact, axis=0)
    extent = np.where(extent > 0, extent, 1.0)
    reached = (losses(values, scales) - low) / extent if len(values) else np.ones((1, len(scales)))
    exact = (exact - low) / extent
    found = len(set(map(tuple, front.tolist())) & set(map(tuple, values.tolist()))) / len(front)
    return Quality(float(igd_plus(reached, ref=exact)), float(epsilon_additive(reached, ref=exact)), found)


def attained(surface: Array, at: Array) -> Array:
    """The least second loss at or below each value of the first, shape (points,); NaN where there is none."""
    least = np.where(surface[:, 0] <= at[:, None], surface[:, 1], np.inf).min(axis=1)
    found: Array = np.where(np.isfinite(least), least, np.nan)
    return found


def median_surface(runs: Sequence[Array]) -> Array:
    """Points of the surface that half of the runs attain, shape (points, 2); empty if fewer runs have a point."""
    sets = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
    if len(set(sets.tolist())) * 2 < len(runs) or not len(sets):
        return np.zeros((0, 2))
    import moocore

    # A run without a point attains nothing, so half of all runs is a larger share of the runs with points.
    share = min(100.0, 50.0 * len(runs) / len(set(sets.tolist())))
    surface: Array = np.asarray(moocore.eaf(np.concatenate(runs), sets, percentiles=[share]))
    return surface[:, :2]
