"""A small grid with a loss, a size that is known beforehand, and a time; searches by TPE are tested on it."""

from __future__ import annotations

import math

from nasbench.benchmarks import Bound, Evaluation, Metric
from nasbench.benchmarks.spaces import Categorical, GridSpace, Ordinal
from nasbench.methods import Method, Observation, Problem

GRID = GridSpace(
    [Ordinal("a", tuple(range(1, 9)), log=True), Ordinal("b", tuple(range(8))), Categorical("c", (0, 1, 2))]
)
SIZE, TIME = Metric("size", "", cheap=True), Metric("time", "s")
UPPER, LOWER = Bound(SIZE, high=3.0), Bound(TIME, low=5.0)
FAILED = Evaluation({"loss": math.nan, "size": math.nan, "time": math.nan}, 0.0, "failed", "out of memory")


def problem(*bounds: Bound) -> Problem:
    return Problem(GRID, (Metric("loss", ""),), bounds, known=lambda metric, c: float(c[0]))


def score(configuration: tuple[int, ...]) -> dict[str, float]:
    """Loss falls with a and b, size is a, time is b."""
    a, b, c = configuration
    return {"loss": 20.0 - a - b + (c != 1) * 3.0, "size": float(a), "time": float(b)}


def tell(method: Method, configuration: tuple[int, ...], metrics: dict[str, float], bounds: tuple[Bound, ...]) -> None:
    feasible = all(b.holds(metrics[b.metric.name]) for b in bounds)
    method.tell(Observation(configuration, Evaluation(metrics, 1.0), feasible))
