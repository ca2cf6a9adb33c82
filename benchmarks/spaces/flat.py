"""The flat view of a space: a list of named hyper-parameters, some of which may be absent from a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from nasbench.base.errors import UsageError, check_choice
from nasbench.benchmarks.spaces.base import Configuration, Values
from nasbench.benchmarks.spaces.hyperparameters import Float, Hyperparameter, Integer, belongs, index_of, values_text

Coordinate: TypeAlias = float | int | None
"""Coordinate of a configuration along one hyper-parameter: the index of the value if the hyper-parameter is categorical
or ordinal, the value itself if it is a float or integer, None if the configuration does not have it."""


def coordinate(h: Hyperparameter, value: object) -> Coordinate:
    """The coordinate of a value, which may be one of NumPy's. Raises UsageError where it is not in a list of values."""
    if isinstance(h, Float | Integer):
        return value.item() if isinstance(value, np.generic) else value  # type: ignore[return-value]  # callers check it
    return index_of(h, value)


class Condition(NamedTuple):
    """A hyper-parameter is present if and only if its parent, categorical or ordinal, takes a permitted value."""

    parent: int
    """Position of the parent in the list of hyper-parameters; parents stand before their children."""
    permitted: tuple[bool, ...]
    """Whether the hyper-parameter is present, for each value of the parent."""

    def holds(self, coordinates: Sequence[Coordinate]) -> bool:
        """Whether the hyper-parameter is present, given the coordinates of earlier hyper-parameters."""
        parent = coordinates[self.parent]
        return parent is not None and self.permitted[int(parent)]


class Flat(Protocol):
    """The flat view (`AsFlat.as_flat`), for methods that see a configuration as coordinates (TPE)."""

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        """All hyper-parameters that a configuration can have, parents before their children."""

    @property
    def conditions(self) -> tuple[Condition | None, ...]:
        """The condition of each hyper-parameter, in the same order; None if it is always present."""

    def coordinates(self, configuration: Configuration) -> Sequence[Coordinate]:
        """A configuration as coordinates, one per hyper-parameter."""

    def at(self, coordinates: Sequence[Coordinate]) -> Configuration:
        """The configuration at these coordinates: the inverse of `coordinates`."""


def uniquely_named(hyperparameters: Sequence[Hyperparameter]) -> tuple[Hyperparameter, ...]:
    """Hyper-parameters for a library that asks by name: further ones of a name are called `name#2`, `name#3`, …"""
    named: dict[str, Hyperparameter] = {}
    for h in hyperparameters:
        names = (h.name if number == 1 else f"{h.name}#{number}" for number in count(1))
        name = next(name for name in names if name not in named)
        named[name] = replace(h, name=name)
    return tuple(named.values())


def differ(proposed: Sequence[Coordinate], configuration: Sequence[Coordinate]) -> bool:
    """Whether a configuration's coordinates differ from the proposed ones, as when a list of rows gave its nearest row.

    Coordinates that the configuration does not need do not count.
    """
    return any(x is not None and x != y for x, y in zip(configuration, proposed, strict=True))


class Named:
    """A flat view in names and values, for those who know nothing of coordinates: programs, people."""

    def __init__(self, flat: Flat) -> None:
        self._flat = flat
        self.hyperparameters = uniquely_named(flat.hyperparameters)
        """All hyper-parameters, each with a name of its own."""
        self.conditions = flat.conditions
        """Their conditions."""

    def values(self, configuration: Configuration) -> Values:
        """The value of each hyper-parameter that the configuration has."""
        pairs = zip(self.hyperparameters, self._flat.coordinates(configuration), strict=True)
        return {h.name: _value(h, x) for h, x in pairs if x is not None}

    def configuration(self, values: Mapping[str, Any]) -> Configuration:
        """The configuration with these values; those that it does not have by its conditions are ignored.

        Raises UsageError for an unknown name, a missing value, or one that is not allowed.
        """
        names = [h.name for h in self.hyperparameters]
        for name in values:
            check_choice("hyper-parameter", name, names)
        coordinates: list[Coordinate] = []
        for h, condition in zip(self.hyperparameters, self.conditions, strict=True):
            is_there = condition is None or condition.holds(coordinates)
            if is_there and h.name not in values:
                raise UsageError(f"{h.name} is missing; allowed: {values_text(h)}")
            coordinates.append(_coordinate(h, values[h.name]) if is_there else None)
        return self._flat.at(coordinates)


def _value(h: Hyperparameter, x: float | int) -> Any:
    return x if isinstance(h, Float | Integer) else h.values[int(x)]


def _coordinate(h: Hyperparameter, value: Any) -> Coordinate:
    """The coordinate of a value from JSON, where 3.0 may stand for 3. Raises UsageError for one that is not allowed."""
    is_odd = isinstance(value, bool) and not isinstance(h, Float | Integer) and not any(v is value for v in h.values)
    if is_odd or isinstance(value, list | dict):  # 1 equals True
        raise UsageError(f"{h.name} cannot be {value!r}; allowed: {values_text(h)}")
    if isinstance(h, Integer) and isinstance(value, float) and value.is_integer():
        value = int(value)
    x = coordinate(h, value)
    if not belongs(h, x):
        raise UsageError(f"{h.name} cannot be {value!r}; allowed: {values_text(h)}")
    return x
