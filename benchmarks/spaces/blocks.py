"""The view of a space whose one cell grows block by block (PNAS, POPNAS)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from nasbench.benchmarks.spaces.base import Configuration

Half: TypeAlias = tuple[int, int]
"""(input, number of the operator): -1 is the cell before, -2 the one before that, from 0 on earlier blocks."""
Block: TypeAlias = tuple[Half, Half]
"""What is added: two operators, each on an input of its own."""
Cell: TypeAlias = tuple[Block, ...]
"""A cell; each block reads earlier cells, or earlier blocks of its own."""


class Blocks(NamedTuple):
    """What cells may be made of, and the way from a cell to its configuration."""

    most: int
    """The largest number of blocks."""
    lookbacks: int
    """How many earlier cells may be read."""
    operators: tuple[str, ...]
    """Their names; a block has their numbers."""
    cells: int
    """Number of cells of a network in which each reads the one before it."""
    configuration: Callable[[Cell], Configuration]
    """The configuration of the network that is built of a cell."""
