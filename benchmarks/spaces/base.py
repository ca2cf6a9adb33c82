"""The protocol every space follows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

from numpy.random import Generator

from nasbench.benchmarks.spaces.blockwise import Blockwise

Configuration: TypeAlias = Any
"""One point of a space: immutable and hashable; its form belongs to the space (a grid: a tuple of choice indices)."""

Block: TypeAlias = Any
"""Many configurations in the space's own dense form (a grid: an integer array of row numbers)."""

Values: TypeAlias = dict[str, Any]
"""The same point for people and files: hyper-parameter name → value, JSON-able."""


class ForeignConfiguration(ValueError):
    """A configuration that does not belong to the space."""


class Space(Blockwise, ABC):
    """A set of configurations: draws one at random, and finds neighbours of one.

    Some spaces also have views, which some methods need: see `spaces.views`.
    """

    table_kind: str = ""
    """Kind of grid (see `network_grids.GRIDS`) of a table of this space's configurations; empty for a plain one."""

    @abstractmethod
    def sample(self, rng: Generator) -> Configuration:
        """A configuration drawn uniformly."""

    def sample_block(self, n: int, rng: Generator) -> Block | None:
        """What n calls of `sample` would draw, from the same stream; None where the space has no form for many.

        Used only where the class declares `blockwise=True`.
        """
        return None

    @abstractmethod
    def mutate(self, configuration: Configuration, rng: Generator) -> Configuration:
        """A neighbour: exactly one choice differs."""

    @abstractmethod
    def check(self, configuration: Configuration) -> None:
        """Raises ForeignConfiguration, with the reason, unless `configuration` is an immutable member of this space."""

    @abstractmethod
    def values(self, configuration: Configuration) -> Values:
        """The configuration as names and values."""

    @abstractmethod
    def from_values(self, values: Values) -> Configuration:
        """The inverse of `values`. Raises UsageError that names the hyper-parameter and its allowed values."""

    @abstractmethod
    def to_json(self, configuration: Configuration) -> str:
        """`values(configuration)` as one line of JSON, as trajectories store it."""

    @abstractmethod
    def describe(self) -> list[tuple[str, str, str]]:
        """One line per hyper-parameter, for people: name, kind, values."""
