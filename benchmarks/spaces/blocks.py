"""The view of a space whose one cell grows block by block (PNAS, POPNAS)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from nasbench.benchmarks.spaces.base import Configuration

Half: TypeAlias = tuple[int, int]
"""(input, number of the operator). Input -1 is the previous cell, -2 the one before it, k >= 0 block k of this cell."""
Block: TypeAlias = tuple[Half, Half]
"""Two operators, each with an input, whose results are added."""
Cell: TypeAlias = tuple[Block, ...]
"""A cell; each block reads earlier cells, or earlier blocks of the same cell."""


class Blocks(NamedTuple):
    """The possible cells of a space, and the way from a cell to its configuration."""

    most: int
    """The largest number of blocks."""
    lookbacks: int
    """The number of earlier cells that may be read."""
    operators: tuple[str, ...]
    """Names of the operators; blocks refer to them by position."""
    cells: int
    """Number of cells of a network in which each cell reads the previous one."""
    configuration: Callable[[Cell], Configuration]
    """Returns the configuration of the network that repeats a cell."""
