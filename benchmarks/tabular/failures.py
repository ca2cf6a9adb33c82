"""Numbers that people write where a training failed: -1, -999, an accuracy of 9999."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.tabular.direction import is_reversed, is_share, matches

_CONTINUOUS = re.compile(
    "loss(?:es)?|n?r?mse|rms?s?le|mae|s?mape|nll|(?:cross)?entropy|perplexity|ppl|logloss|deviance"
)
"""Quantities that are hardly ever exactly 0: that is what people fill in."""


def mark_of_failure(name: str, values: NDArray[np.float64]) -> float | None:
    """The number that seems to stand for failed trainings among the values of a metric; None if none does.

    It is the only one below 0, and whole; of a share the only one beyond 1, and far so, or the largest beyond 100; or
    of a loss 0, where no other value is close to it.
    """
    values = values[np.isfinite(values)]
    negative = np.unique(values[values < 0])
    if len(negative) == 1 and negative[0] % 1 == 0 and not is_reversed(name):
        return float(negative[0])
    if is_share(name):
        beyond = np.unique(values[values > 1])
        if len(beyond) and (beyond[-1] > 100.01 or (len(beyond) == 1 and beyond[0] > 2)):  # 100.00001 is rounding
            return float(beyond[-1])
    positive = values[values > 0]
    is_loss = matches(name, _CONTINUOUS) and not is_reversed(name) and not len(negative)
    if is_loss and 0 < len(values) - len(positive) < len(positive) and positive.min() > np.median(positive) / 20:
        return 0.0
    return None
