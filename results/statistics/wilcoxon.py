"""Wilcoxon's signed-rank test of every pair, Friedman's and Nemenyi's tests, over seeds, settings, benchmarks or
spaces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from nasbench.results.curves import Array
from nasbench.results.statistics.estimates import LEVEL, holm
from nasbench.results.statistics.improvement import TOLERANCE, places
from nasbench.results.statistics.nesting import Tasks

_MOST_EXACT, _MOST_EXACT_WITH_TIES = 50, 13  # as in scipy

Alternative: TypeAlias = Literal["two-sided", "greater"]
Unit: TypeAlias = Literal["seeds", "settings", "benchmarks", "spaces"]
UNITS: tuple[Unit, ...] = ("settings", "benchmarks", "spaces")
"""The blocks of several settings; the runs of one setting are paired by seed."""


class SignedRank(NamedTuple):
    """The outcome of Wilcoxon's signed-rank test (Wilcoxon, 1945) on paired differences, zeros dropped."""

    pairs: int
    """Number of differences that are not zero."""
    plus: float
    """Sum of the ranks of the positive differences."""
    minus: float
    """Sum of the ranks of the negative differences."""
    p: float
    """p-value; 1 if every difference is zero, NaN if there is no difference."""
    floor: float
    """p if all these differences had the same sign: the smallest p that their sizes allow."""
    is_exact: bool
    """Whether p counts all assignments of signs; if not, it is a normal approximation."""

    @property
    def statistic(self) -> float:
        """W, the smaller of the two sums."""
        return min(self.plus, self.minus)

    @property
    def effect(self) -> float:
        """Matched-pairs rank-biserial correlation (Kerby, 2014): 1 if all differences are positive; NaN for none."""
        total = self.plus + self.minus
        return (self.plus - self.minus) / total if total else np.nan


def signed_rank(differences: Array, alternative: Alternative = "two-sided") -> SignedRank:
    """Wilcoxon's signed-rank test; exact for up to 50 differences that are not zero, or up to 13 with tied sizes.

    Args:
        alternative: "greater" tests whether the differences tend to be positive.
    """
    kept = differences[differences != 0]
    if not len(kept):
        return SignedRank(0, 0.0, 0.0, 1.0 if len(differences) else np.nan, 1.0 if len(differences) else np.nan, True)
    ranks = stats.rankdata(np.abs(kept))
    are_tied = len(np.unique(ranks)) < len(ranks)
    is_exact = len(kept) <= (_MOST_EXACT_WITH_TIES if are_tied else _MOST_EXACT)
    p = float(stats.wilcoxon(kept, alternative=alternative).pvalue)
    if are_tied:
        floor = float(stats.wilcoxon(np.abs(kept), alternative=alternative).pvalue)
    else:
        floor = _floor(len(kept), alternative)
    plus = float(ranks[kept > 0].sum())
    return SignedRank(len(kept), plus, float(ranks.sum()) - plus, p, floor, is_exact)


@lru_cache(maxsize=1000)
def _floor(pairs: int, alternative: Alternative) -> float:
    """p if all differences have the same sign, without ties."""
    return float(stats.wilcoxon(np.arange(1.0, pairs + 1), alternative=alternative).pvalue)


def relative_differences(values: Array, baseline: Array) -> Array:
    """(value - baseline) / max(|value|, |baseline|), exactly 0 within `TOLERANCE`; comparable across settings."""
    scale = np.maximum(np.abs(values), np.abs(baseline))
    differences: Array = np.divide(values - baseline, scale, out=np.zeros_like(scale), where=scale > 0)
    differences[np.abs(differences) <= TOLERANCE] = 0.0
    return differences


@dataclass(frozen=True, eq=False)
class RankTests:
    """The tests with one value per seed of one setting, per setting, per benchmark, or per search space."""

    unit: Unit
    count: int
    """Number of blocks: seeds, settings, benchmarks or spaces."""
    ranks: Array
    """Average rank of each method over the blocks, shape (methods,)."""
    chi_square: float
    """Friedman's statistic (1937), corrected for ties; NaN for fewer than three methods or two blocks."""
    p: float
    """p of Friedman's test that all methods are equal."""
    critical_difference: float
    """Nemenyi's critical difference (1963; Demšar, JMLR 2006, section 3.2.2) at the 5 % level."""
    nemenyi: Array
    """p of every pair by Nemenyi's test, shape (methods, methods)."""
    pairs: dict[tuple[int, int], SignedRank]
    """The tests by (a, b) with a < b; a positive difference means that a is better."""
    holm: Array
    """p of every pair by Wilcoxon's test after Holm's correction over all, same shape as `nemenyi`."""

    def verdict(self, a: int, b: int) -> int:
        """1 if `a` is significantly better than `b` at 5 % (Holm), -1 if it is worse, else 0."""
        effect = self.pairs[min(a, b), max(a, b)].effect * (1 if a < b else -1)
        return int(np.sign(effect)) if self.holm[a, b] < LEVEL else 0


def levels(values: Array, tasks: Tasks) -> tuple[RankTests, ...]:
    """The tests over settings, over benchmarks and over search spaces.

    The value of a benchmark is the mean of its settings' relative differences and ranks, that of a space the mean of
    its families', with equal weights at each level; methods are then ranked again inside it.

    Args:
        values: shape (settings, methods), lower is better; settings with a NaN are left out.
        tasks: the tasks of these settings.
    """
    kept = np.flatnonzero(~np.isnan(values).any(axis=1))
    return tuple(_level(unit, values[kept], tasks.of(kept)) for unit in UNITS)


def over_seeds(values: Array, tasks: Tasks) -> RankTests:
    """The tests over the seeds of one setting, in which runs with the same seed are paired.

    Args:
        values: shape (seeds, methods), lower is better.
        tasks: the tasks of the setting.
    """
    return _level("seeds", values, tasks)


def _level(unit: Unit, values: Array, tasks: Tasks) -> RankTests:
    count, methods = values.shape
    nothing = np.full((methods, methods), np.nan)
    if not count or methods < 2:
        empty = np.full(methods, np.nan)
        return RankTests(unit, count, empty, np.nan, np.nan, np.nan, nothing, {}, nothing)
    ranks = stats.rankdata(places(values.T), axis=0).T
    if unit in UNITS[1:]:
        ranks = stats.rankdata(np.round([_joined(unit, column, tasks) for column in ranks.T], 9), axis=0).T
    count, mean = len(ranks), ranks.mean(axis=0)
    error = np.sqrt(methods * (methods + 1) / (6 * count))
    nemenyi = stats.studentized_range.sf(np.abs(mean[:, None] - mean) / error * np.sqrt(2), methods, np.inf)
    difference = float(stats.studentized_range.ppf(1 - LEVEL, methods, np.inf)) / np.sqrt(2) * error
    tested = methods >= 3 and count >= 2 and bool((ranks != ranks[:, :1]).any())
    chi_square, p = stats.friedmanchisquare(*ranks.T) if tested else (np.nan, np.nan)
    pairs = {}
    for a, b in combinations(range(methods), 2):
        pairs[a, b] = signed_rank(joined_differences(unit, values[:, b], values[:, a], tasks))
    corrected = np.ones((methods, methods))
    for (a, b), p_value in zip(pairs, holm(np.array([pair.p for pair in pairs.values()])), strict=True):
        corrected[a, b] = corrected[b, a] = p_value
    return RankTests(unit, count, mean, float(chi_square), float(p), difference, nemenyi, pairs, corrected)


def joined_differences(unit: Unit, values: Array, baseline: Array, tasks: Tasks) -> Array:
    """`relative_differences` of settings, or their means by benchmark or by space, exactly 0 within `TOLERANCE`."""
    means = _joined(unit, relative_differences(values, baseline), tasks)
    return np.where(np.abs(means) <= TOLERANCE, 0.0, means)


def _joined(unit: Unit, values: Array, tasks: Tasks) -> Array:
    """The mean value of each block, from the values of settings."""
    if unit not in UNITS[1:]:
        return values
    return tasks.by_bench(values) if unit == "benchmarks" else tasks.by_space(values)


def cliques(ranks: Array, differ: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """The maximal groups of methods with adjacent ranks of which no two differ.

    Args:
        differ: whether each pair differs, shape (methods, methods).
    """
    order = np.argsort(ranks, kind="stable")
    groups: list[tuple[int, ...]] = []
    reached = 0
    for start in range(len(order)):
        end = start + 1
        while end < len(order) and not differ[order[end], order[start:end]].any():
            end += 1
        if end - start > 1 and end > reached:
            groups.append(tuple(int(m) for m in order[start:end]))
        reached = max(reached, end)
    return groups
