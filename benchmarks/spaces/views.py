"""Views of a space: other forms of its configurations, which some spaces have and some methods need.

A space has a view if it has the method of the view's protocol: `isinstance(space, AsGraph)`. A method lists the
protocols that it needs in `Method.needs`. The view may still be impossible (an infinite program has no list of
hyper-parameters): then its method raises UsageError.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from nasbench.benchmarks.spaces.base import Configuration

if TYPE_CHECKING:
    from nasbench.benchmarks.spaces._sequence import Walk
    from nasbench.benchmarks.spaces.blocks import Blocks
    from nasbench.benchmarks.spaces.cells.searchable import Searchable
    from nasbench.benchmarks.spaces.flat import Flat
    from nasbench.benchmarks.spaces.graphs.layers import LayerGraph


@runtime_checkable
class AsFlat(Protocol):
    """A space that is a list of hyper-parameters, some of which may depend on others (TPE)."""

    def as_flat(self) -> Flat:
        """All hyper-parameters, and the way to coordinates and back. Raises UsageError if the list is infinite."""


@runtime_checkable
class AsSequence(Protocol):
    """A space whose configurations are made by one choice after the other, each among finitely many (tree search)."""

    def as_sequence(self) -> Walk:
        """The walk without any choice. Raises UsageError if a choice is a real number."""


@runtime_checkable
class AsGraph(Protocol):
    """A space whose configurations are neural networks, or contain one (NASBOT)."""

    def as_graph(self, configuration: Configuration) -> LayerGraph:
        """The network of a configuration as a graph of layers. Several configurations may have the same graph."""


@runtime_checkable
class AsScalars(Protocol):
    """A space whose configurations contain a network and numbers beside it, such as a learning rate (NASBOT)."""

    def as_scalars(self, configuration: Configuration) -> tuple[float, ...]:
        """All values that the graph does not show, scaled to [0, 1]; as many for every configuration."""

    def shows_all(self) -> bool:
        """Whether configurations with equal graphs are known to be equal in everything."""


@runtime_checkable
class AsSupernet(Protocol):
    """A space whose architectures can all be searched at once inside one large network (one-shot methods)."""

    def as_supernet(self) -> Searchable:
        """The images to train the large network on, and the way from a network of cells to its configuration."""


@runtime_checkable
class AsBlocks(Protocol):
    """A space of networks that repeat one cell, which grows block by block (POPNAS)."""

    def as_blocks(self) -> Blocks:
        """The possible blocks of a cell, and the way from a cell to its configuration."""


@runtime_checkable
class AsTokens(Protocol):
    """A space that says in its own words what a linear model should see of a configuration (SMBO)."""

    def as_tokens(self, configuration: Configuration) -> list[str]:
        """Words that describe a configuration, in any order; equal words mean equal properties."""


def missing(space: object, views: tuple[type, ...]) -> list[str]:
    """The `views` that a space lacks: for each, the kind of space that has it, from the view's docstring."""
    lines = [(view.__doc__ or view.__name__).partition("\n")[0] for view in views if not isinstance(space, view)]
    return [re.sub(r" \([^)]*\)\.?$|\.$", "", line).removeprefix("A ") for line in lines]
