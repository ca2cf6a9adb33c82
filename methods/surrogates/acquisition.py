"""Parts of acquisition functions: expected improvement, and the probability that a constraint holds."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.constraints import Bound

Array = NDArray[np.float64]


def expected_improvement(mean: Array, deviation: Array, best: float) -> Array:
    """Expected improvement below the best value (values are minimised); zero if certain and no better."""
    from scipy.special import ndtr

    gain = best - mean
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(deviation > 0, gain / deviation, np.where(gain > 0, np.inf, -np.inf))
    density = np.exp(-0.5 * np.minimum(z**2, 1e4)) / math.sqrt(2 * math.pi)
    improvement: Array = np.where(deviation > 0, gain * ndtr(z) + deviation * density, np.maximum(gain, 0.0))
    return improvement


def probability(bound: Bound, mean: Array, deviation: Array) -> Array:
    """The probability that normally distributed values satisfy a constraint."""
    from scipy.special import ndtr

    spread = np.maximum(deviation, 1e-12)
    if math.isfinite(bound.low) and math.isfinite(bound.high):
        between: Array = ndtr((bound.high - mean) / spread) - ndtr((bound.low - mean) / spread)
        return between
    holds: Array = ndtr(bound.slack(mean) / spread)
    return holds
