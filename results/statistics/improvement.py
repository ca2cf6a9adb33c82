"""Probability of improvement: how often a run of one method is better than a run of another (Agarwal et al., 2021)."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.results.curves import Array

TOLERANCE = 1e-9
"""Relative difference up to which two values are a tie: rounding noise is not a win."""

MISSING = -1
"""The place of a run that is not there."""

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
