"""Estimates with t intervals, over seeds (stratified by setting) or over tasks; Holm's correction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from nasbench.results.curves import Array
from nasbench.results.statistics.nesting import Tasks

LEVEL = 0.05
"""Significance level of a report."""
FEWEST = 5
"""Fewest seeds for an interval and a p; with fewer, a t interval covers too rarely."""

_ROUNDING = 1e-20
"""Variance of seeds up to which they are the same: rounding alone would make degrees of freedom."""


def cannot_differ(floors: Sequence[float]) -> bool:
    """Whether no test can be significant after Holm's correction, given the smallest p that each can have."""
    return min(floors, default=1.0) * len(floors) >= LEVEL


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error, confidence interval and p by Student's t."""

    value: float
    error: float = np.nan
    """Standard error; if it is NaN, there is no interval and no p."""
    freedom: float = 0
    """Degrees of freedom."""
    exact: float | None = None
    """Two-sided p of a permutation test that the quantity is one half, used instead of the t test's p if known."""

    @property
    def known(self) -> bool:
        """Whether the estimate has an interval."""
        return bool(np.isfinite(self.error)) and self.freedom > 0

    def interval(self, lowest: float = 0.0, highest: float = 1.0, level: float = LEVEL) -> tuple[float, float]:
        """Confidence interval (95 % by default), cut to [lowest, highest]; NaN if there is none."""
        if not self.known:
            return np.nan, np.nan
        half = float(special.stdtrit(self.freedom, 1 - level / 2)) * self.error
        return max(lowest, self.value - half), min(highest, self.value + half)

    def p(self) -> float:
        """Two-sided p of the hypothesis that the quantity is one half; NaN if there is none."""
        if not self.known:
            return np.nan
        if self.exact is not None:
            return self.exact
        distance = abs(self.value - 0.5)
        if distance <= 1e-12:
            return 1.0
        return float(2 * special.stdtr(self.freedom, -distance / self.error)) if self.error else 0.0

    def p_outside(self, low: float, high: float) -> float:
        """p of the hypothesis that the quantity lies outside [low, high]; NaN if there is no interval.

        Two one-sided t tests (Schuirmann, 1987), each at half the level: p is below a level exactly if the confidence
        interval of that level lies inside [low, high].
        """
        if not self.known:
            return np.nan
        nearest = min(self.value - low, high - self.value)
        if not self.error:
            return 0.0 if nearest >= 0 else 1.0
        return float(min(1.0, 2 * special.stdtr(self.freedom, -nearest / self.error)))


@dataclass(frozen=True, eq=False)
class Strata:
    """Mean and sample variance of a quantity over the seeds of each setting, and their number, shape (settings,)."""

    means: Array
    variances: Array
    seeds: NDArray[np.intp]

    @classmethod
    def of(cls, values: Array) -> Strata:
        """The strata of values of each seed in each setting, shape (settings, seeds), at least two seeds."""
        counts = np.full(len(values), values.shape[1], np.intp)
        return cls(values.mean(axis=1), values.var(axis=1, ddof=1), counts)

    def kept(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Strata:
        """The strata of some settings."""
        return Strata(self.means[rows], self.variances[rows], self.seeds[rows])

    def estimate(self, weights: Array, least: float = 0.0, extra: float = 0.0) -> Estimate:
        """The weighted mean over settings with its stratified standard error.

        se² = max(Σ w² s²/S, Σ w² least/(S(S - 1))) + Σ w² extra/(S(S - 1)), with the degrees of freedom of
        Satterthwaite (1946), at least those of one setting. `least` and `extra` prevent an interval of length zero if
        all seeds give the same value; then the degrees of freedom are those of the second sum. There is no error if a
        setting has too few seeds, or no known variance.
        """
        value = float(weights @ self.means)
        if not len(self.seeds) or self.seeds.min() < FEWEST or np.isnan(self.variances).any():
            return Estimate(value)
        variances = np.where(self.variances > _ROUNDING, self.variances, 0.0)
        parts, floors = weights**2 * variances / self.seeds, weights**2 / (self.seeds * (self.seeds - 1))
        total, squares = float(parts.sum()), float(floors.sum())
        deciding = parts if total else floors
        freedom = float(deciding.sum() ** 2 / np.sum(deciding**2 / (self.seeds - 1)))
        error = np.sqrt(max(total, least * squares) + extra * squares)
        return Estimate(value, float(error), max(float(self.seeds.min() - 1), freedom))


def over_tasks(values: Array, tasks: Tasks, these: Estimate) -> tuple[Estimate, str, Array]:
    """The estimate for new tasks, with a t interval over the highest level with several members.

    se² = max(variance of the means / their number, se² of `these`): never smaller than for these benchmarks.

    Args:
        values: value of each setting, averaged over seeds, shape (settings,).
        these: the estimate of the same quantity for these benchmarks.

    Returns:
        The estimate; the name of the level (`spaces`, `families`, `benchmarks`, or empty if there is a single
        benchmark); and the means of its members.
    """
    for unit, means in (
        ("spaces", tasks.by_space(values)),
        ("families", tasks.by_family(values)),
        ("benchmarks", tasks.by_bench(values)),
    ):
        if len(means) > 1:
            error = max(float(np.std(means, ddof=1) / np.sqrt(len(means))), these.error)
            return Estimate(these.value, error if these.known else np.nan, len(means) - 1), unit, means
    return Estimate(these.value), "", tasks.by_bench(values)


def holm(p_values: Array) -> Array:
    """p-values after Holm's correction (1979). NaN stays NaN and is not counted.

    Not from statsmodels (with which the tests compare it), which collects garbage at every call: 0.1 s in a large
    report.
    """
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    steps = p_values[order] * np.arange(len(order), 0, -1)
    corrected = np.full(len(p_values), np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected
