"""Tabular benchmarks: the configurations of a finite space, with repetitions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.base.errors import UsageError, unknown
from nasbench.base.metrics import Metric, Values
from nasbench.benchmarks.abilities import Oracle, quantile_rank
from nasbench.benchmarks.constraints import Bound, Bounds
from nasbench.benchmarks.contract import Benchmark, Evaluation, Status
from nasbench.benchmarks.fidelity import Level
from nasbench.benchmarks.spaces import Configuration, FiniteSpace

Array: TypeAlias = NDArray[np.float64]

MOST_REPETITIONS = 255
"""Largest number of repetitions of a configuration: they are counted in a byte each."""


class TabularBenchmark(Benchmark):
    """A table. An evaluation draws one stored repetition, and returns all metrics of that repetition.

    Args:
        name: see `Benchmark.name`; likewise `family`, `space`, `metrics`, `source`, `licence`, `checksum` and
            `search_space`.
        load: returns the values, shape (configurations, repetitions, metrics), in the order of the space and of
            `metrics`. If a configuration has fewer repetitions, the rest is NaN; if it has none, it is not in the
            table. The array may be memory-mapped. Called once, when a value is first needed.
        cost: the metric that is the cost of an evaluation in seconds, or one number of seconds for all evaluations.
        absent: the status of an evaluation of a configuration without a value of the objective. Its cost is the
            recorded cost of the first repetition, or 0.
        absence: the reason of such an evaluation, in a few words.
    """

    kind = "table"
    space: FiniteSpace

    def __init__(
        self,
        name: str,
        family: str,
        space: FiniteSpace,
        metrics: Sequence[Metric],
        load: Callable[[], Array],
        *,
        cost: str | float,
        source: str,
        licence: str,
        checksum: str,
        absent: Status = "failed",
        absence: str = "the table has no such configuration",
        search_space: str = "",
    ) -> None:
        self.name, self.family, self.space, self.metrics = name, family, space, tuple(metrics)
        self.source, self.licence, self.checksum, self.search_space = source, licence, checksum, search_space
        self._load, self.absent, self.absence = load, absent, absence
        self.cost_column = self.column(cost) if isinstance(cost, str) else None
        """The position of the metric that is the cost of an evaluation; None if all evaluations cost the same."""
        self._cost = 0.0 if isinstance(cost, str) else float(cost)

    @cached_property
    def values(self) -> Array:
        """All values of the table, shape (configurations, repetitions, metrics)."""
        values = np.asarray(self._load(), float)  # sums of seconds in single precision are not those of a loop
        if values.ndim != 3 or values.shape[::2] != (self.space.size, len(self.metrics)):
            raise ValueError(f"{self.name}: {values.shape} values, {self.space.size} configurations expected")
        if values.shape[1] > MOST_REPETITIONS:
            raise ValueError(
                f"{self.name}: {values.shape[1]} repetitions of a configuration; at most {MOST_REPETITIONS}"
            )
        return values

    def add_metrics(self, metrics: Sequence[Metric], load: Callable[[], Array], checksum: str) -> None:
        """Adds metrics with the same value for all repetitions of a configuration; called before values are read.

        Args:
            metrics: the metrics.
            load: returns the values, shape (configurations, metrics).
            checksum: checksum of the values; it becomes part of the table's checksum.

        Raises UsageError if the table has a metric with the same name.
        """
        for metric in metrics:
            if metric.name in [m.name for m in self.metrics]:
                raise UsageError(f"{self.name} has a metric called {metric.name} already")
        before = self._load

        def both() -> Array:
            values, added = before(), load()
            repeated = np.broadcast_to(added[:, None], (*values.shape[:2], added.shape[1]))
            return np.concatenate([values, repeated], axis=2)

        self.metrics, self._load, self.checksum = (*self.metrics, *metrics), both, f"{self.checksum}+{checksum}"
        self.__dict__.pop("places", None)

    def column(self, metric: str) -> int:
        """The position of a metric. Raises UsageError with the allowed names if there is none."""
        if metric not in self.places:
            raise unknown(f"metric of {self.name}", metric, list(self.places))
        return self.places[metric]

    @cached_property
    def repetition_counts(self) -> bytes:
        """Number of repetitions of each configuration, one byte each (indexing bytes is faster than an array)."""
        counts: NDArray[np.uint8] = np.isfinite(self.values[:, :, 0]).sum(axis=1).astype(np.uint8)
        return counts.tobytes()

    @cached_property
    def _rows(self) -> Array:
        """The values by (configuration, repetition), flattened: one index instead of two in the hot path."""
        return self.values.reshape(-1, len(self.metrics))

    @cached_property
    def repetitions(self) -> int:
        """Largest number of repetitions of a configuration."""
        return int(self.values.shape[1])

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        row = self.space.index(configuration)
        try:
            repetition = seed % self.repetition_counts[row]
        except ZeroDivisionError:
            cost = self.costs(self.values[row, :1])[0]
            cost = float(cost) if math.isfinite(cost) and self.cost_column is not None else 0.0
            return Evaluation({}, cost, self.absent, self.absence)
        values = tuple(self._rows[row * self.repetitions + repetition].tolist())
        cost = self._cost if self.cost_column is None else values[self.cost_column]
        return Evaluation(Values(self.places, values), cost)

    def known(self, metric: str, configuration: Configuration) -> float:
        return float(self.values[self.space.index(configuration), 0, self.column(metric)])

    @cached_property
    def _mean_rows(self) -> Array:
        """The mean over repetitions of every metric, shape (configurations, metrics)."""
        return np.stack([self.means(column) for column in range(len(self.metrics))], axis=1)

    def all_means(self) -> Array:
        return self._mean_rows

    def mean_metrics(self, configuration: Configuration) -> Values:
        return Values(self.places, tuple(self._mean_rows[self.space.index(configuration)].tolist()))

    def repetition_count(self, configuration: Configuration) -> int:
        return self.repetition_counts[self.space.index(configuration)] or self.repetitions

    @property
    def is_free(self) -> bool:
        """Whether all evaluations take 0 s, so that a budget in seconds never ends."""
        return self._cost == 0 if self.cost_column is None else not (self._rows[:, self.cost_column] > 0).any()

    def costs(self, metrics: Array) -> Array:
        """The costs of evaluations in seconds, shape (evaluations,), given their metrics."""
        return np.full(len(metrics), self._cost) if self.cost_column is None else metrics[:, self.cost_column]

    def means(self, column: int) -> Array:
        """Mean over repetitions of one metric, shape (configurations,); NaN if no repetition has a value.

        The mean is clipped to the range of the repetitions, so that the mean of equal values is exactly that value.
        An error of one ulp could put a group of ties on the wrong side of a quantile.
        """
        values = self.values[:, :, column]
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # rows without a value
            mean: Array = np.clip(np.nanmean(values, axis=1), np.nanmin(values, axis=1), np.nanmax(values, axis=1))
        return mean

    def quantile(self, metric: str, q: float) -> float:
        """The value at 0-based rank ceil(q N) of the configurations' means, ascending (c-TPE, authors' thresholds).

        For a maximised metric, the order is descending. q = 1 gives the last value. NaN if there is no value at all.
        """
        column = self.column(metric)
        means = self.means(column)
        means = np.sort(means[~np.isnan(means)])
        n = len(means)
        if not n:
            return math.nan
        rank = quantile_rank(q, n)
        return float(means[rank] if self.metrics[column].minimize else means[n - 1 - rank])

    def extremes(self, column: int) -> tuple[float, float]:
        """The smallest and the largest value of a metric over all repetitions."""
        values = self.values[:, :, column]
        return float(np.nanmin(values)), float(np.nanmax(values))

    def oracle(self, bounds: Sequence[Bound]) -> Oracle:
        feasible = np.isfinite(self._rows[:, 0])
        rows = int(feasible.sum())
        for bound in bounds:
            feasible = self._apply(bound, feasible, len(bounds) > 1)
        objective = self._rows[feasible, 0]
        means = self._mean_rows[np.isfinite(self._mean_rows[:, 0])]
        means = means[Bounds.of(bounds).satisfied(means, self.places)]
        return Oracle(
            best=float(objective.min()),
            worst=float(objective.max()),
            feasible_share=len(objective) / rows,
            median=float(np.median(objective)),
            best_mean=float(means[:, 0].min()) if len(means) else math.nan,
            worst_mean=float(means[:, 0].max()) if len(means) else math.nan,
            noise=self._noise(feasible),
        )

    def _noise(self, feasible: NDArray[np.bool_]) -> float:
        """Repetition noise of the objective among the best tenth of the feasible configurations (`Oracle.noise`)."""
        values = np.where(feasible, self._rows[:, 0], np.nan).reshape(-1, self.repetitions)
        values = values[np.isfinite(values).sum(axis=1) >= 2]
        if not len(values):
            return math.nan
        means = np.nanmean(values, axis=1)
        best = np.argsort(means, kind="stable")[: max(1, len(means) // 10)]
        return float(np.median(np.nanstd(values[best], axis=1, ddof=1)))

    def _apply(self, bound: Bound, feasible: NDArray[np.bool_], has_others: bool) -> NDArray[np.bool_]:
        """The rows of `feasible` that also satisfy `bound`. Raises UsageError if none does."""
        column = self._rows[:, self.column(bound.metric.name)]
        kept: NDArray[np.bool_] = feasible & bound.holds(column)
        if not kept.any():
            known = column[feasible & np.isfinite(column)]
            extreme = "nearest" if len(bound.sides) > 1 else "smallest" if bound.high < math.inf else "largest"
            reachable = f"{known[np.argmax(bound.slack(known))]:.7g} {bound.metric.unit}" if len(known) else "not known"
            beside = " (beside the other constraints)" if has_others else ""
            raise UsageError(
                f"no configuration of {self.name} satisfies {bound}{beside}: the {extreme} reachable value is "
                f"{reachable}"
            )
        return kept
