"""Configurations as rows of numbers: ordered hyper-parameters in [0, 1], categorical ones as indices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.spaces import Categorical, Configuration, Coordinate, Flat, Float, Hyperparameter, Integer

Rows = NDArray[np.float64]
"""Shape (n, d): one row per configuration, one column per hyper-parameter."""


def truncated_normal(centre: Rows, width: Rows | float, u: Rows) -> Rows:
    """Draws from normal distributions truncated to [0, 1], by their distribution function's inverse at u."""
    from scipy.special import ndtr, ndtri  # SciPy takes a while

    low, high = ndtr(-centre / width), ndtr((1 - centre) / width)
    drawn: Rows = np.clip(centre + width * ndtri(low + u * (high - low)), 0.0, 1.0)
    return drawn


class Mixed:
    """A flat space as rows. A hyper-parameter that is absent from a configuration is 0.5, or its first category."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat
        """The space."""
        self.categorical = np.array([isinstance(h, Categorical) for h in flat.hyperparameters])
        """Shape (d,): which columns hold indices of categories."""
        self.levels = np.array([_levels(h) for h in flat.hyperparameters])
        """Shape (d,): number of values of each hyper-parameter; 0 for real numbers."""

    def row(self, configuration: Configuration) -> NDArray[np.float64]:
        """A configuration as a row, shape (d,)."""
        return self.at(self.flat.coordinates(configuration))

    def at(self, coordinates: Sequence[Coordinate]) -> NDArray[np.float64]:
        """Coordinates, None for an absent hyper-parameter, as a row, shape (d,)."""
        pairs = zip(self.flat.hyperparameters, coordinates, strict=True)
        return np.array([_absent(h) if x is None else float(_unit(h, np.asarray(float(x)))) for h, x in pairs])

    def configuration(self, row: NDArray[np.float64]) -> Configuration:
        """The configuration of a row that `snapped` returned."""
        coordinates: list[Coordinate] = []
        for h, condition, u in zip(self.flat.hyperparameters, self.flat.conditions, row, strict=True):
            value = float(_value(h, np.asarray(u)))
            present = condition is None or condition.holds(coordinates)
            if isinstance(h, Integer):
                value = min(max(int(value), h.low), h.high)  # above 2**53 the float beside the end may lie outside
            coordinates.append(None if not present else value if isinstance(h, Float) else int(value))
        return self.flat.at(coordinates)

    def snapped(self, rows: Rows) -> Rows:
        """The rows moved to existing configurations: rounded to values; absent hyper-parameters get their default."""
        values, present = np.empty_like(rows), np.ones(rows.shape, dtype=bool)
        result = np.empty_like(rows)
        for i, (h, condition) in enumerate(zip(self.flat.hyperparameters, self.flat.conditions, strict=True)):
            values[:, i] = _value(h, rows[:, i])
            if condition is not None:
                permitted = np.array(condition.permitted)[values[:, condition.parent].astype(int)]
                present[:, i] = present[:, condition.parent] & permitted
            result[:, i] = np.where(present[:, i], _unit(h, values[:, i]), _absent(h))
        return result


def _levels(h: Hyperparameter) -> int:
    if isinstance(h, Float):
        return 0
    return h.high - h.low + 1 if isinstance(h, Integer) else len(h.values)


def _absent(h: Hyperparameter) -> float:
    return 0.0 if isinstance(h, Categorical) else 0.5


def _ends(h: Float | Integer) -> tuple[float, float]:
    """The values at 0 and at 1; an integer's range is extended by 1/2 at either end."""
    half = 0.5 if isinstance(h, Integer) else 0.0
    return h.low - half, h.high + half


def _value(h: Hyperparameter, u: NDArray[np.float64]) -> NDArray[np.float64]:
    """The coordinates at `u`, of any shape."""
    if isinstance(h, Categorical):
        return u
    if not isinstance(h, Float | Integer):
        return np.clip(np.floor(u * len(h.values)), 0, len(h.values) - 1)
    low, high = _ends(h)
    values = low * (high / low) ** u if h.log else low + (high - low) * u
    return np.clip(np.rint(values) if isinstance(h, Integer) else values, h.low, h.high)


def _unit(h: Hyperparameter, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse of `_value`; an integer or ordinal value is at the middle of its part of [0, 1]."""
    if isinstance(h, Categorical):
        return values
    if not isinstance(h, Float | Integer):
        return (values + 0.5) / len(h.values)
    low, high = _ends(h)
    return np.log(values / low) / np.log(high / low) if h.log else (values - low) / (high - low)
