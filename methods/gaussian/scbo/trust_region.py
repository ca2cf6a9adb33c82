"""The trust region of SCBO: a box around a centre that grows with successes and shrinks with failures."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.methods.mixed import Mixed, Rows
from nasbench.methods.problem import Rank

FIRST, LONGEST, SHORTEST = 0.8, 1.6, 2.0**-7
"""Side lengths of the box: the first, the longest, and the one below which the search begins anew."""
_GAIN = 1e-3
"""A success improves on the best objective by at least this share of it."""


@dataclass
class TrustRegion:
    """The length of the box's side, and the numbers of consecutive successes and failures."""

    d: int
    """Number of hyper-parameters with more than one value."""
    length: float = FIRST
    """Side of the box, as a share of each hyper-parameter's range."""
    best: Rank | None = None
    """The best rank (violation, objective) observed in this region; None before the first observation."""
    successes: int = 0
    failures: int = 0

    def told(self, rank: Rank, counts: bool) -> None:
        """Takes in a rank. `counts`: whether it was proposed inside the box, and not at random at the beginning."""
        if counts and self.best is not None:
            success = _better(rank, self.best)
            self.successes = self.successes + 1 if success else 0
            self.failures = 0 if success else self.failures + 1
            if self.successes == max(3, math.ceil(self.d / 10)):
                self.length, self.successes = min(2 * self.length, LONGEST), 0
            elif self.failures == max(4, self.d):
                self.length, self.failures = self.length / 2, 0
        if self.best is None or rank < self.best:
            self.best = rank

    @property
    def over(self) -> bool:
        """Whether the box has shrunk so far that the search begins anew elsewhere."""
        return self.length < SHORTEST


def _better(rank: Rank, best: Rank) -> bool:
    """Whether a rank is a success: less violation, or, if both are feasible, a lower objective by a margin."""
    if rank[0] > 0 or best[0] > 0:
        return rank[0] < best[0]
    return rank[1] < best[1] - _GAIN * abs(best[1])


def proportions(lengths: NDArray[np.float64], varies: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Sides of a box in proportion to length-scales, with the geometric mean 1 (Eriksson et al., TuRBO, section 2).

    The side of a column of one level is 1: nothing can be learnt of its length-scale.

    Args:
        varies: whether each column has more levels than one, the shape of `lengths`.
    """
    sides = np.ones(len(lengths))
    if varies.any():
        sides[varies] = lengths[varies] / np.exp(np.log(lengths[varies]).mean())
    return sides


def candidates(
    mixed: Mixed, centre: NDArray[np.float64], sides: NDArray[np.float64], length: float, power: int, rng: Generator
) -> Rows:
    """Up to 2^power distinct rows inside a box around a centre of shape (d,).

    Each ordered column takes a scrambled Sobol point with probability min(1, 20/d); the box always includes a column's
    next values (on a log scale the low ones may lie farther apart). At most a share length/0.8 of the categorical
    columns (at least one) take another value. At least one column is redrawn.

    Args:
        sides: the box's side along each ordered column, as a multiple of `length`.
    """
    from scipy.stats import qmc

    n, categorical, levels = 2**power, mixed.categorical, mixed.levels
    rows = np.tile(centre, (n, 1))
    ordered = np.flatnonzero(~categorical)
    chance = min(1.0, 20 / len(centre))
    if len(ordered):
        half = np.maximum(sides * length / 2, np.where(levels[ordered] > 0, 1 / np.maximum(levels[ordered], 1), 0.0))
        low, high = np.maximum(centre[ordered] - half, 0.0), np.minimum(centre[ordered] + half, 1.0)
        points = low + (high - low) * qmc.Sobol(len(ordered), scramble=True, seed=rng).random_base2(power)
        redrawn = rng.random(points.shape) < chance
        varying = np.flatnonzero(levels[ordered] != 1)
        if len(varying):
            redrawn[np.arange(n), varying[rng.integers(len(varying), size=n)]] = True
        rows[:, ordered] = np.where(redrawn, points, rows[:, ordered])
    several = np.flatnonzero(categorical & (levels > 1))
    if len(several):
        radius = max(1, math.ceil(len(several) * min(1.0, length / FIRST)))
        changes = rng.integers(0 if len(ordered) else 1, radius + 1, size=n)
        order = rng.random((n, len(several))).argsort(axis=1).argsort(axis=1)
        steps = rng.integers(1, levels[several], size=(n, len(several)))
        rows[:, several] = (rows[:, several] + np.where(order < changes[:, None], steps, 0)) % levels[several]
    return np.unique(mixed.snapped(rows), axis=0)
