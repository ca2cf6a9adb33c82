"""Several objectives: the share of the attainable hypervolume after each evaluation of a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench.base.fronts import Array, Front, losses
from nasbench.benchmarks import Benchmark, Metric, UsageError
from nasbench.benchmarks.abilities import KnowsAllMeans
from nasbench.benchmarks.constraints import Bounds
from nasbench.results.store.trajectory import HYPERVOLUME, MEAN_OF


def added(objectives: tuple[Metric, ...]) -> tuple[str, ...]:
    """Names of the metrics that the harness adds to runs with these objectives, in the order of their columns."""
    return (HYPERVOLUME, *(MEAN_OF + metric.name for metric in objectives))


@dataclass(frozen=True, eq=False)
class Reference:
    """The exact feasible front of a table, and the scale on which hypervolumes are measured; it depends on no run."""

    objectives: tuple[Metric, ...]
    values: Array
    """The mean of each objective at each point of the front, in the metrics' units, shape (points, objectives)."""
    front: Front
    median: float
    """Share of the hypervolume that one evaluation of a random feasible configuration attains, the median."""

    def shares(self, values: Array, counts: NDArray[np.bool_]) -> Array:
        """Share of the hypervolume after each evaluation, shape (evaluations,).

        Args:
            values: of the objectives, in the metrics' units, shape (evaluations, objectives).
            counts: whether each evaluation counts, shape (evaluations,).
        """
        return self.front.shares(losses(values, [metric.scale for metric in self.objectives]), counts)


@lru_cache(maxsize=64)
def reference(benchmark: Benchmark, objectives: tuple[Metric, ...], bounds: Bounds) -> Reference | None:
    """The exact front of a table under constraints, by the means over repetitions; None where no table knows it.

    Raises UsageError if no configuration is feasible by its means, or an objective without a logarithm is to have one.
    """
    if not isinstance(benchmark, KnowsAllMeans):
        return None
    from moocore import is_nondominated

    means, places = benchmark.all_means(), benchmark.places
    values = means[:, [places[metric.name] for metric in objectives]]
    values = values[np.all(np.isfinite(values), axis=1) & bounds.satisfied(means, places)]
    if not len(values):
        limits = " and ".join(map(str, bounds)) or "every objective has a value"
        raise UsageError(f"no configuration of {benchmark.name} has means by which {limits}: there is no front")
    for metric, column in zip(objectives, values.T, strict=True):
        if metric.log and (column <= 0).any():
            raise UsageError(
                f"{metric.name} of {benchmark.name} counts by its logarithm, because it has the unit {metric.unit}, "
                f"and is {column.min():g} somewhere: take another objective, or leave its unit out"
            )
    points = losses(values, [metric.scale for metric in objectives])
    front = Front.of(points)
    alone = np.prod(np.maximum(1.0 - front.scaled(points), 0.0), axis=1)
    best = np.flatnonzero(is_nondominated(points))  # the first of equal ones
    best = best[np.lexsort(points[best].T[::-1])]
    return Reference(objectives, values[best], front, float(np.median(alone)) / front.volume)


def with_shares(
    columns: dict[str, NDArray[Any]],
    means: NDArray[np.float64],
    benchmark: Benchmark,
    objectives: tuple[Metric, ...],
    bounds: Bounds,
) -> dict[str, NDArray[Any]]:
    """The columns of a run with several objectives: the metrics `added`, and the first objective as `objective`.

    Only evaluations at the highest level of the fidelity count. Without an exact front (`reference`) all shares
    are NaN; a report then measures them by the front of all runs.

    Args:
        columns: the columns of a trajectory, as for one objective.
        means: the mean of every metric of each row's configuration, shape (evaluations, metrics); NaN if unknown.
    """
    places = [benchmark.places[metric.name] for metric in objectives]
    metrics = columns["metrics"]
    known = reference(benchmark, objectives, bounds)
    observed = attained = np.full(len(metrics), np.nan)
    if known is not None and len(metrics):
        whole = columns["level"] == benchmark.highest.work
        observed = known.shares(metrics[:, places], whole & columns["feasible"])
        by_means = whole & (columns["status"] == "ok") & (columns["score_feasible"] == True)  # noqa: E712 (None too)
        attained = known.shares(means[:, places], by_means)
    return columns | {
        "objective": metrics[:, places[0]],
        "incumbent": 1.0 - observed,
        "metrics": np.column_stack([metrics, attained, means[:, places]]),
    }
