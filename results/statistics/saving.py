"""How long a baseline must search to be as good as a method is after some evaluations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nasbench.results.curves import Array
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.estimates import Estimate

_POINTS = 100
"""Largest number of points of the baseline's budget that are compared."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Needed:
    """The point of its budget at which a run of the baseline is as often better as worse than a run of a method."""

    method: int
    at: float
    """The point of the method's budget, in the unit of the curves."""
    needed: float
    """The baseline's point; infinite if its whole budget does not suffice."""
    these: Interval
    """95 % CI on these benchmarks: the points at which the probability 1/2 is not rejected. NaN with too few seeds."""
    new: Interval
    """95 % CI on new tasks; NaN where there is none."""


def needed(comparison: Comparison, method: int, at: float) -> Needed | None:
    """What the baseline needs for the score of a method at one point; None if they share no setting.

    The probability that a run of the baseline, after t, is better than a run of the method, after `at`, grows with t:
    the result is where it passes 1/2, interpolated. The interval inverts the t tests of that probability: its ends are
    where the upper and the lower end of the probability's interval pass 1/2.
    """
    curves = comparison.curves
    points = np.linspace(0, curves.end, _POINTS + 1)[1:]
    points = np.union1d([1.0], np.ceil(points)) if curves.seconds is None else points
    pairs = comparison.against_later(method, at, points)
    known = [pair for pair in pairs if pair is not None]
    if not known:
        return None
    these, new = [pair.these for pair in known], [pair.new for pair in known]
    passed = _passes(points, np.array([estimate.value for estimate in these]))
    return Needed(method, at, passed, _inverted(points, these), _inverted(points, new))


def _inverted(points: Array, estimates: list[Estimate]) -> Interval:
    if not all(estimate.known for estimate in estimates):
        return np.nan, np.nan
    lows, highs = np.array([estimate.interval() for estimate in estimates]).T
    return _passes(points, highs), _passes(points, lows)


def _passes(points: Array, probabilities: Array) -> float:
    """Where a curve first reaches 1/2, interpolated between points; infinite if it never does."""
    reached = np.flatnonzero(probabilities >= 0.5)
    if not len(reached):
        return np.inf
    i = int(reached[0])
    if i == 0:
        return float(points[0])
    return float(np.interp(0.5, probabilities[i - 1 : i + 1], points[i - 1 : i + 1]))
