"""Several objectives: losses on one scale, and the exact front of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.abilities import KnowsAllMeans
from nasbench.benchmarks.constraints import Bound
from nasbench.benchmarks.contract import Benchmark
from nasbench.benchmarks.metrics import Metric
from nasbench.benchmarks.spaces.errors import UsageError

Array: TypeAlias = NDArray[np.float64]

_MARGIN = 0.1  # of the front's extent, by which the reference point lies beyond the front
_LEAST = 1e-12  # the smallest value that has a logarithm here


def losses(objectives: Sequence[Metric], values: Array) -> Array:
    """Values of objectives as losses: lower is better, and by their logarithm where the metric is on a log scale.

    Args:
        values: in the metrics' units, shape (…, objectives).
    """
    logs = np.array([metric.log for metric in objectives])
    signs = np.array([1.0 if metric.minimize else -1.0 for metric in objectives])
    scaled: Array = signs * np.where(logs, np.log10(np.where(logs, np.maximum(values, _LEAST), 1.0)), values)
    return scaled


@dataclass(frozen=True, eq=False)
class Reference:
    """The exact feasible front of a table, and the scale on which hypervolumes are measured.

    An objective's ideal is 0, and the reference point is 1: it lies a tenth of the front's extent beyond the front's
    worst value. None of this depends on any run.
    """

    objectives: tuple[Metric, ...]
    front: Array
    """The mean of each objective at each point of the front, in the metrics' units, shape (points, objectives)."""
    ideal: Array
    """The smallest loss of each objective on the front, shape (objectives,)."""
    extent: Array
    """Distance of the reference point from the ideal, shape (objectives,)."""
    volume: float
    """Hypervolume of the front in units of the box between the ideal and the reference point."""
    median: float
    """Share of the hypervolume that one evaluation of a random feasible configuration attains, the median."""

    def normalised(self, values: Array) -> Array:
        """Losses on the scale where the ideal is 0 and the reference point 1, shape (…, objectives)."""
        scaled: Array = (losses(self.objectives, values) - self.ideal) / self.extent
        return scaled


@lru_cache(maxsize=64)
def reference(benchmark: Benchmark, objectives: tuple[Metric, ...], bounds: tuple[Bound, ...]) -> Reference | None:
    """The exact front of a table under constraints, by the means over repetitions; None where no table knows it.

    Raises UsageError if no configuration is feasible by its means.
    """
    if not isinstance(benchmark, KnowsAllMeans):
        return None
    from moocore import hypervolume, is_nondominated

    means, places = benchmark.all_means(), benchmark.places
    values = means[:, [places[metric.name] for metric in objectives]]
    feasible = np.all(np.isfinite(values), axis=1)
    for bound in bounds:
        feasible &= bound.holds(means[:, places[bound.metric.name]])
    values = values[feasible]
    if not len(values):
        limits = " and ".join(map(str, bounds)) or "every objective has a value"
        raise UsageError(f"no configuration of {benchmark.name} has means by which {limits}: there is no front")
    points = losses(objectives, values)
    best = np.flatnonzero(is_nondominated(points))  # the first of equal ones
    best = best[np.lexsort(points[best].T[::-1])]
    front = points[best]
    ideal, nadir, worst = front.min(axis=0), front.max(axis=0), points.max(axis=0)
    extent = np.where(nadir > ideal, (1 + _MARGIN) * (nadir - ideal), _MARGIN * (worst - ideal))
    extent = np.where(extent > 0, extent, 1.0)
    ones = np.ones(len(objectives))
    volume = float(hypervolume((front - ideal) / extent, ref=ones))
    alone = np.prod(np.maximum(1.0 - (points - ideal) / extent, 0.0), axis=1)
    return Reference(objectives, values[best], ideal, extent, volume, float(np.median(alone)) / volume)
