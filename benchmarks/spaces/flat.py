"""The flat view of a space: a list of named hyper-parameters, some of which may be absent from a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.errors import UsageError
from nasbench.benchmarks.spaces.hyperparameters import Float, Hyperparameter, Integer

Coordinate: TypeAlias = float | int | None
"""Place of a configuration along one hyper-parameter: the index of the value if it is categorical or ordinal, the value
itself if it is a float or integer; None where the configuration does not have the hyper-parameter."""


def coordinate(h: Hyperparameter, value: object) -> Coordinate:
    """The place of a value along a hyper-parameter. Raises UsageError if it is none of a list's values."""
    if isinstance(h, Float | Integer):
        return value  # type: ignore[return-value]  # whoever asks checks the range
    if value not in h.values:
        raise UsageError(f"{h.name} cannot be {value!r}; allowed: {', '.join(map(str, h.values))}")
    return h.values.index(value)


class Condition(NamedTuple):
    """When a hyper-parameter is present: where its parent, a categorical or ordinal one, takes a permitted value."""

    parent: int
    """Position of the parent in the list of hyper-parameters; parents stand before their children."""
    permitted: tuple[bool, ...]
    """For each value of the parent, whether the hyper-parameter is present then."""

    def holds(self, coordinates: Sequence[Coordinate]) -> bool:
        """Whether the hyper-parameter is present, given the coordinates of those before it."""
        parent = coordinates[self.parent]
        return parent is not None and self.permitted[int(parent)]


class Flat(Protocol):
    """What `Space.as_flat()` returns, for methods that see a configuration as coordinates (TPE)."""

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        """All hyper-parameters that a configuration can have, parents before their children."""

    @property
    def conditions(self) -> tuple[Condition | None, ...]:
        """The condition of each hyper-parameter, in the same order; None where it is always present."""

    def coordinates(self, configuration: Configuration) -> Sequence[Coordinate]:
        """A configuration as coordinates, one per hyper-parameter."""

    def at(self, coordinates: Sequence[Coordinate]) -> Configuration:
        """The configuration at these coordinates: the inverse of `coordinates`."""
