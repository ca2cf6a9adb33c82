"""The base class of all search spaces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

from numpy.random import Generator

from nasbench.base.errors import UsageError

Configuration: TypeAlias = Any
"""One point of a space, immutable and hashable. Its form depends on the space (a grid: a tuple of choice indices)."""

Values: TypeAlias = dict[str, Any]
"""A configuration for people and files: hyper-parameter name → value, as JSON can hold them."""


class ForeignConfiguration(ValueError):
    """A configuration that does not belong to the space."""


class Space(ABC):
    """A set of configurations, which can be sampled and mutated.

    Some methods need views of a space, which not every space has: see `spaces.views`.
    """

    table_kind: str = ""
    """Kind of grid (see `network_grids.GRIDS`) of a table of these configurations; empty for a plain grid."""

    @abstractmethod
    def sample(self, rng: Generator) -> Configuration:
        """A random configuration: uniform, unless the space says otherwise (priors, programs)."""

    @abstractmethod
    def mutate(self, configuration: Configuration, rng: Generator) -> Configuration:
        """A random neighbour: exactly one choice differs. Raises UsageError if there is none."""

    def mutant(self, configuration: Configuration, rng: Generator) -> Configuration:
        """A random neighbour; a random configuration if there is none, for constraints may forbid all of them."""
        try:
            return self.mutate(configuration, rng)
        except UsageError:
            return self.sample(rng)

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
