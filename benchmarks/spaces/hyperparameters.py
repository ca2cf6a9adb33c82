"""Hyper-parameters: names with sets of values."""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from nasbench.base.errors import UsageError

_LARGEST, _LARGEST_INTEGER = 1e300, 2**62  # the ends of ranges from which NumPy can draw


@dataclass(frozen=True)
class Categorical:
    """Values without an order."""

    name: str
    values: tuple[str | int | float | bool, ...]
    prior: tuple[float, ...] = ()
    """Prior weight of each value, in any unit; empty for a uniform prior."""

    def __post_init__(self) -> None:
        _check_values(self)

    @property
    def kind(self) -> str:
        return "categorical"


@dataclass(frozen=True)
class Ordinal:
    """Numeric levels, ascending; with `log`, the distance of two levels is their ratio, not their difference."""

    name: str
    values: tuple[int | float, ...]
    log: bool = False
    prior: tuple[float, ...] = ()
    """Prior weight of each value, in any unit; empty for a uniform prior."""

    def __post_init__(self) -> None:
        _check_values(self)
        if list(self.values) != sorted(self.values):
            raise UsageError(f"the levels of {self.name} must ascend: {list(self.values)[:9]}")
        if self.log and self.values[0] <= 0:
            raise UsageError(f"the levels of {self.name} must be positive on a log scale: {list(self.values)[:9]}")

    @property
    def kind(self) -> str:
        return "ordinal, log" if self.log else "ordinal"


@dataclass(frozen=True)
class Float:
    """A real number in [low, high], drawn uniformly or, with `log`, log-uniformly."""

    name: str
    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        _check_range(self)

    @property
    def kind(self) -> str:
        return "float, log" if self.log else "float"


@dataclass(frozen=True)
class Integer:
    """An integer in [low, high], both included, drawn uniformly or, with `log`, almost log-uniformly."""

    name: str
    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        _check_range(self)

    @property
    def kind(self) -> str:
        return "integer, log" if self.log else "integer"


Choice: TypeAlias = Categorical | Ordinal
"""A hyper-parameter with a finite list of values."""

Hyperparameter: TypeAlias = Categorical | Ordinal | Float | Integer


def _check_range(hyperparameter: Float | Integer) -> None:
    low, high = hyperparameter.low, hyperparameter.high
    if not low < high or (hyperparameter.log and low <= 0):
        raise UsageError(
            f"the range of {hyperparameter.name} must ascend, and be positive on a log scale: [{low}, {high}]"
        )
    if isinstance(hyperparameter, Integer):
        too_large = max(-low, high) > _LARGEST_INTEGER or high - low >= sys.maxsize
    else:
        too_large = max(-low, high) > _LARGEST or (hyperparameter.log and high / low == math.inf)
    if too_large:
        raise UsageError(f"the range of {hyperparameter.name} is too large to be drawn from: [{low}, {high}]")


def _check_values(hyperparameter: Choice) -> None:
    values = as_json(hyperparameter.values, hyperparameter.name)
    if not values or len(set(values)) != len(values):
        raise UsageError(f"{hyperparameter.name} needs one or more distinct values, not {list(values)}")
    prior = hyperparameter.prior
    if prior and (len(prior) != len(values) or not all(0 < share <= _LARGEST for share in prior)):
        raise UsageError(f"the prior of {hyperparameter.name} needs a positive number per value, not {list(prior)}")


def as_json(values: Iterable[Any], name: str | None = None) -> tuple[Any, ...]:
    """Values as they come back from JSON: NumPy's numbers as Python's. Raises UsageError for any other kind."""
    plain = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
    for value in plain:
        if not isinstance(value, str | int | float | bool):
            hint = ": write 'none' for no value" if value is None else ""
            raise UsageError(
                f"the values of {name or 'a hyper-parameter'} are text, numbers or booleans, not {value!r}{hint}"
            )
    return plain


def index_of(h: Choice, value: object) -> int:
    """The index of a value. Raises UsageError, with the allowed values, if it is not one of them."""
    if value not in h.values:
        raise UsageError(f"{h.name} cannot be {value!r}; allowed: {values_text(h)}")
    return h.values.index(value)


def shares(h: Choice) -> tuple[float, ...]:
    """The prior probability of each value; the sum is 1."""
    total = math.fsum(h.prior)
    return tuple([share / total for share in h.prior]) if h.prior else (1 / len(h.values),) * len(h.values)


def has_many(h: Hyperparameter) -> bool:
    """Whether a hyper-parameter has more than one value."""
    return isinstance(h, Float | Integer) or len(h.values) > 1


def drawn_before(h: Choice, u: float) -> int:
    """The index of the value at the u-quantile of the prior, u in [0, 1)."""
    reached = list(accumulate(shares(h)))
    return min(bisect_right(reached, u), len(reached) - 1)


def draw(h: Hyperparameter, rng: Generator, prior: bool = True) -> float | int:
    """A coordinate drawn from the prior, if there is one, otherwise uniformly on the scale of the hyper-parameter."""
    if not isinstance(h, Float | Integer):
        return drawn_before(h, rng.random()) if prior and h.prior else int(rng.integers(len(h.values)))
    if isinstance(h, Integer) and not h.log:
        return int(rng.integers(h.low, h.high + 1))
    # The range of an integer is half a unit wider at both ends, so that its ends are as likely as other values.
    half = 0.5 if isinstance(h, Integer) else 0.0
    low, high = h.low - half, h.high + half
    value = math.exp(rng.uniform(math.log(low), math.log(high))) if h.log else rng.uniform(low, high)
    value = min(max(value, h.low), h.high)
    return round(value) if isinstance(h, Integer) else float(value)


def at_share(h: Hyperparameter, u: float) -> float | int:
    """The coordinate at the u-quantile of the prior, u in [0, 1]: a uniform u gives the distribution of `draw`."""
    if not isinstance(h, Float | Integer):
        return drawn_before(h, u)
    half = 0.5 if isinstance(h, Integer) else 0.0
    low, high = h.low - half, h.high + half
    value = low * (high / low) ** u if h.log else low + (high - low) * u
    value = min(max(value, h.low), h.high)
    return round(value) if isinstance(h, Integer) else float(value)


def share_of(h: Hyperparameter, x: float) -> float:
    """The inverse of `at_share`: the middle of the part of [0, 1] that gives the coordinate `x`."""
    if not isinstance(h, Float | Integer):
        each = shares(h)
        return math.fsum(each[: int(x)]) + each[int(x)] / 2
    half = 0.5 if isinstance(h, Integer) else 0.0
    low, high = h.low - half, h.high + half
    return math.log(x / low) / math.log(high / low) if h.log else (x - low) / (high - low)


def belongs(h: Hyperparameter, x: object) -> bool:
    """Whether `x` is a possible coordinate along `h`."""
    if isinstance(h, Float):
        return type(x) in (float, int) and h.low <= x <= h.high  # type: ignore[operator]
    if isinstance(h, Integer):
        return type(x) is int and h.low <= x <= h.high
    return type(x) is int and 0 <= x < len(h.values)


def binned(h: object, value: object) -> object:
    """One of eight bins, for a real number or an integer in the range of `h`; any other value unchanged."""
    if not isinstance(h, Float | Integer) or not isinstance(value, int | float):
        return value
    low, high, x = (math.log(v) if h.log else float(v) for v in (h.low, h.high, value))
    return min(7, int(8 * (x - low) / (high - low)))


def values_text(h: Hyperparameter) -> str:
    """The values of a hyper-parameter, for people: a list, or a range."""
    return f"[{h.low}, {h.high}]" if isinstance(h, Float | Integer) else ", ".join(map(str, h.values))


def brief(h: Hyperparameter) -> str:
    """The values of a hyper-parameter as part of a name."""
    if isinstance(h, Float | Integer):
        return f"{h.low}-to-{h.high}"
    texts = [str(value) for value in h.values]
    return "-".join(texts if len(texts) <= 4 else [*texts[:2], "to", texts[-1]])
