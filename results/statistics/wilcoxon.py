"""Wilcoxon's signed-rank test of every pair, Friedman's and Nemenyi's tests, over seeds, settings, benchmarks or
spaces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
_AT_ONCE = 500  # tests in one call of scipy, which holds their differences a dozen times

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
    return signed_ranks(differences[None], alternative)[0]


def signed_ranks(differences: Array, alternative: Alternative = "two-sided") -> list[SignedRank]:
    """`signed_rank` of each row of shape (tests, differences): one call of scipy costs as much as hundreds of tests."""
    if not differences.shape[1]:
        return [SignedRank(0, 0.0, 0.0, np.nan, np.nan, True)] * len(differences)
    counts = np.count_nonzero(differences, axis=1)
    found = [SignedRank(0, 0.0, 0.0, 1.0, 1.0, True)] * len(differences)
    for count in np.unique(counts[counts > 0]).tolist():
        every = np.flatnonzero(counts == count)
        for rows in np.split(every, range(_AT_ONCE, len(every), _AT_ONCE)):
            kept = differences[rows]
            tests = _equally_many(kept[kept != 0].reshape(-1, count), alternative)
            for row, test in zip(rows.tolist(), tests, strict=True):
                found[row] = test
    return found


def _equally_many(differences: Array, alternative: Alternative) -> Iterator[SignedRank]:
    """The test of each row, none of which has a zero."""
    pairs = differences.shape[1]
    ranks = stats.rankdata(np.abs(differences), axis=1)
    are_tied = (np.diff(np.sort(ranks, axis=1), axis=1) == 0).any(axis=1)
    p, floors = np.empty((2, len(ranks)))
    for tied in set(are_tied.tolist()):
        rows = are_tied == tied
        p_values = _exact_with_ties if tied and pairs <= _MOST_EXACT_WITH_TIES else _of_scipy
        p[rows] = p_values(np.sign(differences[rows]) * ranks[rows], alternative)
        floors[rows] = p_values(ranks[rows], alternative)
    plus = np.where(differences > 0, ranks, 0.0).sum(axis=1)
    is_exact = pairs <= np.where(are_tied, _MOST_EXACT_WITH_TIES, _MOST_EXACT)
    columns = (plus, ranks.sum(axis=1) - plus, p, floors, is_exact)
    for outcome in zip(*(column.tolist() for column in columns), strict=True):
        yield SignedRank(pairs, *outcome)


def _of_scipy(signed: Array, alternative: Alternative) -> Array:
    """p of each row of signed ranks, all of which have ties or none."""
    return np.asarray(stats.wilcoxon(signed, alternative=alternative, axis=1).pvalue)


def _exact_with_ties(signed: Array, alternative: Alternative) -> Array:
    """p of each row of signed ranks, counted over all assignments of signs; scipy tries each in turn."""
    p = np.empty(len(signed))
    for row, ranks in enumerate(np.round(2 * signed).astype(np.int64)):  # with ties a rank may be a half
        ways = np.zeros(np.abs(ranks).sum() + 1)  # by twice the sum of the positive ranks
        ways[0] = 1.0
        for rank in np.abs(ranks):
            ways[rank:] += ways[:-rank].copy()
        plus = ranks[ranks > 0].sum()
        above, below = ways[plus:].sum() / ways.sum(), ways[: plus + 1].sum() / ways.sum()
        p[row] = above if alternative == "greater" else min(1.0, 2 * above, 2 * below)
    return p


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
    keys = list(combinations(range(methods), 2))
    tests = signed_ranks(np.array([joined_differences(unit, values[:, b], values[:, a], tasks) for a, b in keys]))
    pairs = dict(zip(keys, tests, strict=True))
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
