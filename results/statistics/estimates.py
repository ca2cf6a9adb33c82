"""An estimate with its t interval: over seeds, for the listed benchmarks, or over tasks, for others like them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

from nasbench.results.curves import Array

FEWEST = 5
"""Seeds below which there is no interval and no p, only the values: a t interval of so few covers too rarely."""


@dataclass(frozen=True)
class Estimate:
    """A mean, its standard error, and the interval and the p that Student's t gives them."""

    value: float
    error: float = np.nan
    """Standard error; NaN where there is none, and then no interval and no p."""
    freedom: int = 0
    """Degrees of freedom."""

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return bool(np.isfinite(self.error)) and self.freedom > 0

    def interval(self, lowest: float = 0.0, highest: float = 1.0) -> tuple[float, float]:
        """95 % interval, cut to what the quantity can be; NaN where there is none."""
        if not self.known:
            return np.nan, np.nan
        half = float(special.stdtrit(self.freedom, 0.975)) * self.error
        return max(lowest, self.value - half), min(highest, self.value + half)

    def p(self, null: float = 0.5) -> float:
        """Two-sided p that the quantity is `null`; NaN where there is none."""
        if not self.known:
            return np.nan
        distance = abs(self.value - null)
        if distance <= 1e-12:
            return 1.0
        return float(2 * special.stdtr(self.freedom, -distance / self.error)) if self.error else 0.0


def over_seeds(seeds: Array, least: float = 0.0, extra: float = 0.0) -> Estimate:
    """t interval in which the seed is the unit, whatever correlation there is across settings.

    se² = SS / (S (S - 1)) with SS = max(sum of squares of the seeds' values, `least`) + `extra`, S - 1 degrees of
    freedom. `least` and `extra` keep the interval from being a point where every seed gives the same.

    Args:
        seeds: value of each seed, averaged over settings, shape (S,).
    """
    count = len(seeds)
    mean = float(np.mean(seeds))
    if count < FEWEST:
        return Estimate(mean)
    squares = max(float(np.sum((seeds - mean) ** 2)), least) + extra
    return Estimate(mean, float(np.sqrt(squares / (count * (count - 1)))), count - 1)


def smallest_p(seeds: int, weights: Array) -> float:
    """The smallest p that so many seeds can give a probability of improvement, however clear the difference."""
    if seeds < FEWEST:
        return 1.0
    return Estimate(1.0, float(np.sqrt(0.5 * np.sum(weights**2) / (seeds * (seeds - 1)))), seeds - 1).p()


@dataclass(frozen=True, eq=False)
class Tasks:
    """Settings nested in benchmarks, nested in families; all of a level weigh alike."""

    family: NDArray[np.intp]
    """Number of the family of each setting, shape (settings,)."""
    bench: NDArray[np.intp]
    """Number of the benchmark of each setting, same shape."""

    _known: dict[bytes, Tasks] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def weights(self) -> Array:
        """1 / families / benchmarks of the family / constraints of the benchmark: shape (settings,), sum 1."""
        benches, constraints = self._benches
        families, sizes = self._families
        found: Array = 1.0 / (len(sizes) * sizes[families][benches] * constraints[benches])
        return found

    def by_bench(self, values: Array) -> Array:
        """Mean over the constraints of each benchmark, shape (benchmarks,)."""
        number, counts = self._benches
        found: Array = np.bincount(number, weights=values) / counts
        return found

    def by_family(self, values: Array) -> Array:
        """Mean over the benchmarks of each family, shape (families,)."""
        number, counts = self._families
        found: Array = np.bincount(number, weights=self.by_bench(values)) / counts
        return found

    def of(self, kept: NDArray[np.intp]) -> Tasks:
        """Some of the settings; the same object for the same ones, which are asked for once a pair."""
        key = kept.tobytes()
        if key not in self._known:
            self._known[key] = Tasks(self.family[kept], self.bench[kept])
        return self._known[key]

    @cached_property
    def _benches(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Number of the benchmark of each setting, and the settings of each benchmark."""
        _, number, counts = np.unique(self.bench, return_inverse=True, return_counts=True)
        return number, counts

    @cached_property
    def _families(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Number of the family of each benchmark, and the benchmarks of each family."""
        _, first = np.unique(self.bench, return_index=True)
        _, number, counts = np.unique(self.family[first], return_inverse=True, return_counts=True)
        return number, counts


def over_tasks(values: Array, tasks: Tasks, here: Estimate) -> tuple[Estimate, str]:
    """t interval over the families, or over the benchmarks where there is one family: for tasks like these.

    se² = max(variance of the means / their number, se² of `here`), never narrower than for the listed tasks alone.

    Args:
        values: of each setting, averaged over seeds, shape (settings,).
        here: the same quantity with the listed tasks fixed.

    Returns:
        The estimate, and what it is over: `families`, `benchmarks`, or nothing where there is a single benchmark.
    """
    means, unit = tasks.by_family(values), "families"
    if len(means) == 1:
        means, unit = tasks.by_bench(values), "benchmarks"
    if len(means) == 1:
        return Estimate(here.value), ""
    error = max(float(np.std(means, ddof=1) / np.sqrt(len(means))), here.error)
    return Estimate(here.value, error if here.known else np.nan, len(means) - 1), unit


def holm(p_values: Array) -> Array:
    """p-values corrected for their number (Holm, 1979); empty in, empty out. NaN stays NaN and is not counted.

    Ours, since statsmodels' (which the tests hold it against) collects garbage at every call: 0.1 s in a large report.
    """
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    steps = p_values[order] * np.arange(len(order), 0, -1)
    corrected = np.full(len(p_values), np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected
