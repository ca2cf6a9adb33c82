"""Several objectives: losses on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.base.metrics import Metric

Array: TypeAlias = NDArray[np.float64]

_LEAST = 1e-12  # the smallest value that has a logarithm here


def losses(objectives: Sequence[Metric], values: Array) -> Array:
    """Values of objectives as losses: lower is better, and by their logarithm where the metric is on a log scale.

    Args:
        values: in the metrics' units, shape (…, objectives).
    """
    logs = np.array([metric.log for metric in objectives])
    signs = np.array([1.0 if metric.minimize else -1.0 for metric in objectives])
    scaled: Array = signs * np.where(logs, np.log10(np.where(logs, np.maximum(values, _LEAST), 1.0)), values)
    return scaled
