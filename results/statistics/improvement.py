"""Probability of improvement: that a run of one method is better than a run of another (Agarwal et al., 2021)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from nasbench.results.curves import Array
from nasbench.results.statistics.estimates import FEWEST, Strata

TOLERANCE = 1e-7
"""Largest relative difference of a tie: rounding errors of single precision (4.5e-9 in NAS-Bench-201's means, and sums
of them) must not be wins."""

MISSING = -1
"""The place of a missing run."""

_MOST_EXACT = 50
"""Largest number of runs per method for which a permutation test counts all permutations."""

_FEW = 4096
"""Largest number of pairs of runs per setting that are compared at once."""

Places: TypeAlias = NDArray[np.int32]


def places(values: Array) -> Places:
    """Place of each value in its column, 0 the lowest; ties share a place, and all NaN tie for the last place.

    A value ties with the next lower one if their relative difference is at most `TOLERANCE`.

    Args:
        values: shape (runs, points).
    """
    order = np.argsort(values, axis=0, kind="stable")  # NaN comes last
    ordered = np.take_along_axis(values, order, axis=0)
    lower, upper = ordered[:-1], ordered[1:]
    with np.errstate(invalid="ignore"):
        is_higher = upper - lower > TOLERANCE * np.maximum(np.abs(lower), np.abs(upper))
    is_higher |= np.isnan(upper) & ~np.isnan(lower)
    steps = np.zeros(values.shape, np.int32)
    np.cumsum(is_higher, axis=0, out=steps[1:])
    result = np.empty_like(steps)
    np.put_along_axis(result, order, steps, axis=0)
    return result


def improvement(ours: Places, theirs: Places) -> Array:
    """Probability that one of our runs is better than one of theirs in each setting, a tie is 1/2: shape (settings,).

    Args:
        ours: places of our runs, shape (settings, S), comparable with `theirs` inside a setting.
        theirs: shape (settings, T).

    Missing runs do not count; NaN if either side has none.
    """
    is_ours = ours >= 0
    won = np.where(is_ours, _wins(ours, theirs), 0).sum(axis=1)
    pairs = is_ours.sum(axis=1) * (theirs >= 0).sum(axis=1)
    probabilities: Array = np.divide(won, 2 * pairs, out=np.full(len(ours), np.nan), where=pairs > 0)
    return probabilities


def seed_scores(ours: Places, theirs: Places) -> Array:
    """The contribution of each seed to the probability of improvement PI: its linear part, with paired seeds.

    v_k = mean_j h(a_k, b_j) + mean_j h(a_j, b_k) - PI, where h is 1 if a is better and 1/2 for a tie; the mean over the
    seeds is PI.

    Args:
        ours: shape (settings, S), without missing runs, in the order of seeds of `theirs`.

    Returns:
        Shape (settings, S).
    """
    count = 2 * ours.shape[1]
    forward, backward = _wins(ours, theirs) / count, (count - _wins(theirs, ours)) / count
    scores: Array = forward + backward - forward.mean(axis=1, keepdims=True)
    return scores


def linear_parts(ours: Places, theirs: Places) -> Strata:
    """Mean and variance of `seed_scores` in each setting.

    Each setting uses the seeds that both methods have there. If any setting has fewer than `FEWEST` of them, all runs
    count and there is no variance.

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
    for rows, seeds in by_seeds(common):
        strata = Strata.of(seed_scores(ours[rows][:, seeds], theirs[rows][:, seeds]))
        means[rows], variances[rows] = strata.means, strata.variances
    return Strata(means, variances, counts)


def by_seeds(common: NDArray[np.bool_]) -> Iterator[tuple[list[int], NDArray[np.bool_]]]:
    """The settings that have the same seeds, with a mask of these seeds, shape (seeds,).

    Args:
        common: shape (settings, seeds).
    """
    settings: dict[bytes, list[int]] = {}
    for setting, seeds in enumerate(common):
        settings.setdefault(seeds.tobytes(), []).append(setting)
    for rows in settings.values():
        yield rows, common[rows[0]]


def permutation_p(ours: Places, theirs: Places) -> float:
    """Two-sided p of the Mann-Whitney test (1947): all assignments of the runs to two methods are equally likely.

    Exact, including ties, for up to `_MOST_EXACT` runs per method, unless the normal approximation (with corrections
    for ties and continuity) is clear enough. If methods share random numbers, so that their runs
    with the same seed are similar, the test is conservative.

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
    ways = np.zeros((count + 1, limit + 1))  # number of ways to choose k runs (row) with a sum of ranks (column)
    ways[0, 0] = 1.0
    for rank in np.sort(twice).tolist():
        if rank > limit:
            break
        ways[1:, rank:] += ways[:-1, : limit + 1 - rank]
    return min(1.0, 2 * float(ways[count].sum()) / float(special.comb(2 * count, count)))


def mid_ranks(places_: Places) -> Array:
    """Rank of each run among all runs, 1 the best; ties share their mean rank."""
    counts = np.bincount(places_)
    ranks: Array = (np.cumsum(counts) - (counts - 1) / 2)[places_]
    return ranks


def ties(ours: Places, theirs: Places) -> float:
    """Share of the pairs of runs that tie, over all settings."""
    is_ours = ours >= 0
    lower, at_most = _numbers_up_to(ours, theirs)
    pairs = int((is_ours.sum(axis=1) * (theirs >= 0).sum(axis=1)).sum())
    return int((at_most - lower)[is_ours].sum()) / max(1, pairs)


def _wins(ours: Places, theirs: Places) -> NDArray[np.int64]:
    """Twice the number of their runs that each of our runs beats, a tie is half a win; the shape of `ours`.

    Their missing runs do not count; the number of a missing run of ours means nothing.
    """
    lower, at_most = _numbers_up_to(ours, theirs)
    wins: NDArray[np.int64] = 2 * theirs.shape[1] - lower - at_most
    return wins


def _numbers_up_to(ours: Places, theirs: Places) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The number of their places below each of ours, and at or below it, shape (settings, S) each.

    `MISSING` is below every place. With many runs, the runs at each place are counted instead of comparing every pair:
    steps and memory in proportion to the number of runs.
    """
    if ours.shape[1] * theirs.shape[1] <= _FEW:
        a, b = ours[:, :, None], theirs[:, None, :]
        return np.count_nonzero(b < a, axis=2), np.count_nonzero(b <= a, axis=2)
    lower, at_most = np.empty((2, *ours.shape), np.int64)
    most = int(max(ours.max(), theirs.max())) + 2
    for setting, others in enumerate(theirs):
        below = np.concatenate(
            [[0], np.cumsum(np.bincount(others + 1, minlength=most))]
        )  # below[i + 1] is below place i
        lower[setting], at_most[setting] = below[ours[setting] + 1], below[ours[setting] + 2]
    return lower, at_most
