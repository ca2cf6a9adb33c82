"""The flat view of a space: a list of named hyper-parameters, some of which may be absent from a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import NamedTuple, Protocol, TypeAlias

from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.hyperparameters import Float, Hyperparameter, Integer, index_of

Coordinate: TypeAlias = float | int | None
"""Coordinate of a configuration along one hyper-parameter: the index of the value if the hyper-parameter is categorical
or ordinal, the value itself if it is a float or integer, None if the configuration does not have it."""


def coordinate(h: Hyperparameter, value: object) -> Coordinate:
    """The coordinate of a value. Raises UsageError for a value that is not in a list of values."""
    if isinstance(h, Float | Integer):
        return value  # type: ignore[return-value]  # callers check the range
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
