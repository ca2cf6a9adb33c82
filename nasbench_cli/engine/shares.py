"""Several objectives: the share of the attainable hypervolume after each evaluation of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks import Benchmark, Bound, Metric, fronts
from nasbench.results.hypervolumes import hypervolumes
from nasbench.results.store.trajectory import HYPERVOLUME, MEAN_OF


def added(objectives: tuple[Metric, ...]) -> tuple[str, ...]:
    """Names of the metrics that the harness adds to runs with these objectives, in the order of their columns."""
    return (HYPERVOLUME, *(MEAN_OF + metric.name for metric in objectives))


def with_shares(
    columns: dict[str, NDArray[Any]],
    means: NDArray[np.float64],
    benchmark: Benchmark,
    objectives: tuple[Metric, ...],
    bounds: tuple[Bound, ...],
) -> dict[str, NDArray[Any]]:
    """The columns of a run with several objectives: the metrics `added`, and the first objective as `objective`.

    Only evaluations at the highest level of the fidelity count. Without an exact front (`fronts.reference`) all shares
    are NaN; a report then measures them by the front of all runs.

    Args:
        columns: the columns of a trajectory, as for one objective.
        means: the mean of every metric of each row's configuration, shape (evaluations, metrics); NaN if unknown.
    """
    places = [benchmark.places[metric.name] for metric in objectives]
    metrics = columns["metrics"]
    reference = fronts.reference(benchmark, objectives, bounds)
    observed = attained = np.full(len(metrics), np.nan)
    if reference is not None and len(metrics):
        whole = columns["level"] == benchmark.highest.work
        points = reference.normalised(metrics[:, places])
        observed = hypervolumes(points, whole & columns["feasible"]) / reference.volume
        by_means = whole & (columns["status"] == "ok") & (columns["score_feasible"] == True)  # noqa: E712 (None too)
        attained = hypervolumes(reference.normalised(means[:, places]), by_means) / reference.volume
    return columns | {
        "objective": metrics[:, places[0]],
        "incumbent": 1.0 - observed,
        "metrics": np.column_stack([metrics, attained, means[:, places]]),
    }
