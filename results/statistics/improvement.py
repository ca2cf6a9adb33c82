"""Probability of improvement: how often a run of one method is better than a run of another (Agarwal et al., 2021)."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from nasbench.results.curves import Array
from nasbench.results.statistics.estimates import FEWEST, Strata

TOLERANCE = 1e-7
"""Relative difference up to which two values are a tie: noise of single precision (4.5e-9 in NAS-Bench-201's means, and
sums of it) is not a win."""

MISSING = -1
"""The place of a run that is not there."""

_MOST_EXACT = 20
"""Runs of a method up to which a permutation test counts all permutations."""

_FEW = 4096
"""Pairs of runs of a setting up to which all are compared at once."""

Places: TypeAlias = NDArray[np.int32]


def places(values: Array) -> Places:
    """Place of each value among those of its column, 0 the lowest; ties share one, and NaN is a tie behind all others.

    Values tie where the next lower one is within `TOLERANCE` of them, relatively.

    Args:
        values: shape (runs, points).
    """
    order = np.argsort(values, axis=0, kind="stable")  # NaN comes last
    ordered = np.take_along_axis(values, order, axis=0)
    lower, upper = ordered[:-1], ordered[1:]
    with np.errstate(invalid="ignore"):
        apart = upper - lower > TOLERANCE * np.maximum(np.abs(lower), np.abs(upper))
    apart |= np.isnan(upper) & ~np.isnan(lower)
    steps = np.zeros(values.shape, np.int32)
    np.cumsum(apart, axis=0, out=steps[1:])
    found = np.empty_like(steps)
    np.put_along_axis(found, order, steps, axis=0)
    return found


def improvement(ours: Places, theirs: Places) -> Array:
    """Probability that a run of ours is better than one of theirs, ties one half, in each setting: shape (settings,).

    Args:
        ours: places of our runs, shape (settings, S), comparable with `theirs` inside a setting.
        theirs: shape (settings, T).

    Runs that are missing do not count; NaN where either has none.
    """
    if (ours >= 0).all() and (theirs >= 0).all():
        whole: Array = _wins(ours, theirs).sum(axis=1) / (2 * ours.shape[1] * theirs.shape[1])
        return whole
    both = (ours >= 0)[:, :, None] & (theirs >= 0)[:, None, :]
    won = np.where(both, _outcomes(ours, theirs), 0).sum(axis=(1, 2), dtype=np.int64) / 2
    counts = both.sum(axis=(1, 2))
    found: Array = np.divide(won, counts, out=np.full(len(ours), np.nan), where=counts > 0)
    return found


def seed_scores(ours: Places, theirs: Places) -> Array:
    """What each seed says of the probability of improvement: its linear part, in which seeds stay paired.

    v_k = mean_j h(a_k, b_j) + mean_j h(a_j, b_k) - PI, with h 1 where a is better, 1/2 for a tie; the mean over the
    seeds is PI itself.

    Args:
        ours: shape (settings, S), all present, seed for seed with `theirs`.

    Returns:
        Shape (settings, S).
    """
    count = 2 * ours.shape[1]
    forward, backward = _wins(ours, theirs) / count, (count - _wins(theirs, ours)) / count
    scores: Array = forward + backward - forward.mean(axis=1, keepdims=True)
    return scores


def linear_parts(ours: Places, theirs: Places) -> Strata:
    """What the seeds of each setting say of the probability of improvement (`seed_scores`), by mean and variance.

    A setting is judged on the seeds that both have there; where one has fewer than `FEWEST`, all runs count, and there
    is no variance.

    Args:
        ours: shape (settings, seeds), `MISSING` where there is no run.
        theirs: same shape.
    """
    common = (ours >= 0) & (theirs >= 0)
    counts = common.sum(axis=1)
    if common.all() and counts[0] >= FEWEST:
        return Strata.of(seed_scores(ours, theirs))
    means, variances = np.empty(len(ours)), np.full(len(ours), np.nan)
    if counts.min() < FEWEST:
        return Strata(improvement(ours, theirs), variances, counts)
    patterns, number = np.unique(common, axis=0, return_inverse=True)
    for i, seeds in enumerate(patterns):
        rows = np.flatnonzero(number.ravel() == i)
        own = Strata.of(seed_scores(ours[rows][:, seeds], theirs[rows][:, seeds]))
        means[rows], variances[rows] = own.means, own.variances
    return Strata(means, variances, counts)


def permutation_p(ours: Places, theirs: Places) -> float:
    """Two-sided p of Mann and Whitney's test (1947): all ways to give the runs to two methods are equally likely.

    Exact, ties and all, for up to `_MOST_EXACT` runs each where the normal approximation (with corrections for ties and
    continuity, which errs to the cautious side) does not already settle it. Where methods share random numbers, so that
    their runs of one seed resemble each other, the test is cautious.

    Args:
        ours: places of our runs in one setting, shape (S,), comparable with `theirs`, of the same shape.
    """
    count = len(ours)
    twice = np.rint(2 * mid_ranks(np.concatenate([ours, theirs]))).astype(np.intp)
    middle = count * (2 * count + 1)  # twice the expected sum of our ranks
    distance = abs(int(twice[:count].sum()) - middle)
    if not distance:
        return 1.0
    spread = np.sqrt(count / (2 * (2 * count - 1)) * np.sum((twice - (2 * count + 1)) ** 2.0))
    rough = float(2 * special.ndtr(-max(distance - 1, 0) / spread))
    if not 1e-7 < rough < 0.2 or count > _MOST_EXACT:
        return min(rough, 1.0)
    limit = middle - distance
    ways = np.zeros((count + 1, limit + 1))  # of choosing so many runs with such a sum of ranks
    ways[0, 0] = 1.0
    for rank in np.sort(twice).tolist():
        if rank > limit:
            break
        ways[1:, rank:] += ways[:-1, : limit + 1 - rank]
    return min(1.0, 2 * float(ways[count].sum()) / float(special.comb(2 * count, count)))


def mid_ranks(places_: Places) -> Array:
    """Rank of each run among all, 1 the best; ties share their mean rank."""
    counts = np.bincount(places_)
    ranks: Array = (np.cumsum(counts) - (counts - 1) / 2)[places_]
    return ranks


def ties(ours: Places, theirs: Places) -> float:
    """Share of the pairs of runs that tie, over all settings."""
    both = (ours >= 0)[:, :, None] & (theirs >= 0)[:, None, :]
    return float((both & (ours[:, :, None] == theirs[:, None, :])).sum() / max(1, both.sum()))


def _wins(ours: Places, theirs: Places) -> NDArray[np.int64]:
    """Twice the number of their runs that each of ours beats, where a tie is half a win; all present: shape of ours.

    Of many runs by search in the sorted ones: every pair would be too many.
    """
    settings, count = ours.shape
    if count * theirs.shape[1] <= _FEW:
        few: NDArray[np.int64] = _outcomes(ours, theirs).sum(axis=2, dtype=np.int64)
        return few
    ordered = np.sort(theirs, axis=1)
    found = np.empty((settings, count), np.int64)
    for own, others, row in zip(ours, ordered, found, strict=True):
        row[:] = 2 * len(others) - np.searchsorted(others, own) - np.searchsorted(others, own, side="right")
    return found


def _outcomes(ours: Places, theirs: Places) -> NDArray[np.int8]:
    """Of every pair of runs: 2 where ours is better, 1 where they tie, 0 where it is worse; (settings, S, T)."""
    a, b = ours[:, :, None], theirs[:, None, :]
    return (a < b).view(np.int8) + (a <= b).view(np.int8)
