"""Architectures drawn from the distributions of a search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.benchmarks.spaces.cells import Stage
from nasbench.benchmarks.spaces.cells.operations import EDGES, sized
from nasbench.benchmarks.spaces.published.cells import OPERATIONS

Rows = Sequence[Sequence[float]]


def stages(
    shares: Sequence[Rows],
    kernels: Sequence[int],
    depth: int,
    rng: Generator,
    same: bool = False,
    names: Sequence[str] = OPERATIONS,
) -> tuple[Stage, ...]:
    """One network: an operation for each edge, a size for each spatial convolution, and a depth for each stage.

    Args:
        shares: the distributions over operations (18 rows), and, if they are searched, kernel sizes and depths.
        kernels: kernel sizes, in the order of their columns; a single one if they are not searched.
        depth: depth of each stage if depths are not searched.
        same: whether all stages have the same cell, drawn once.
        names: the operations, in the order of their columns.
    """
    return network_of([_drawn(rows, rng) for rows in shares], kernels, depth, same, names)


def network_of(
    choices: Sequence[Sequence[int]],
    kernels: Sequence[int],
    depth: int,
    same: bool = False,
    names: Sequence[str] = OPERATIONS,
) -> tuple[Stage, ...]:
    """The network with these choices: an operation per edge, and, if they are searched, sizes and depths (`stages`)."""
    operations, (sizes, depths) = choices[0], choices[1:] or (None, None)
    network = []
    for number in range(1 if same else 3):
        rows = range(len(EDGES) * number, len(EDGES) * (number + 1))
        on = [sized(names[operations[row]], kernels[0 if sizes is None else sizes[row]]) for row in rows]
        network.append(Stage(tuple(on), depth if depths is None else 1 + depths[number]))
    return tuple(network * 3) if same else tuple(network)


def _drawn(rows: Rows, rng: Generator) -> list[int]:
    """A choice for each row of probabilities, whose sums may differ from 1 by rounding."""
    ends: NDArray[np.float64] = np.cumsum(rows, axis=1)
    choices: list[int] = (ends <= rng.random((len(ends), 1)) * ends[:, -1:]).sum(1).tolist()
    return choices
