"""The flat view of a space: a list of named hyper-parameters, some of which may be absent from a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.hyperparameters import Hyperparameter

Coordinate: TypeAlias = float | int | None
"""Of a categorical or ordinal hyper-parameter the index of its value, of a float or integer the value itself; None
where the configuration does not have the hyper-parameter."""


class Condition(NamedTuple):
    """When a hyper-parameter is present: where its parent, a categorical or ordinal one, takes a permitted value."""

    parent: int
    """Position of the parent, which comes first."""
    permitted: tuple[bool, ...]
    """One a value of the parent."""

    def holds(self, coordinates: Sequence[Coordinate]) -> bool:
        """Whether it is present where the ones before it have these coordinates."""
        parent = coordinates[self.parent]
        return parent is not None and self.permitted[int(parent)]


class Flat(Protocol):
    """What `Space.as_flat()` returns, for methods that see a configuration as coordinates (TPE)."""

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        """All that can be present, parents before their children."""

    @property
    def conditions(self) -> tuple[Condition | None, ...]:
        """One a hyper-parameter; None where it is always present."""

    def coordinates(self, configuration: Configuration) -> Sequence[Coordinate]:
        """A configuration as coordinates, one a hyper-parameter."""

    def at(self, coordinates: Sequence[Coordinate]) -> Configuration:
        """The inverse of `coordinates`."""
