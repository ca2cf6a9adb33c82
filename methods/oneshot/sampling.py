"""Architectures drawn from the distributions of a search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.benchmarks.spaces.cells import Stage, Ties
from nasbench.benchmarks.spaces.cells.operations import sized
from nasbench.benchmarks.spaces.cells.stages import EACH_ITS_OWN
from nasbench.benchmarks.spaces.published.cells import OPERATIONS

Rows = Sequence[Sequence[float]]


def stages(
    shares: Sequence[Rows],
    kernels: Sequence[int],
    depth: int,
    rng: Generator,
    ties: Ties = EACH_ITS_OWN,
    names: Sequence[str] = OPERATIONS,
) -> tuple[Stage, ...]:
    """One network: an operation for each edge, a size for each spatial convolution, and a depth for each stage.

    Args:
        shares: the distributions over operations (18 rows), and, if they are searched, kernel sizes and depths.
        kernels: kernel sizes, in the order of their columns; a single one if they are not searched.
        depth: depth of each stage if depths are not searched.
        ties: which edges and stages share a choice, which is that of the first of them.
        names: the operations, in the order of their columns.
    """
    places = (ties.searched, ties.searched, ties.deep)
    drawn = [_drawn(rows, rng) for rows in shares]
    choices = [[row[place] for place in chosen] for row, chosen in zip(drawn, places, strict=False)]
    return network_of(choices, kernels, depth, ties, names)


def network_of(
    choices: Sequence[Sequence[int]],
    kernels: Sequence[int],
    depth: int,
    ties: Ties = EACH_ITS_OWN,
    names: Sequence[str] = OPERATIONS,
) -> tuple[Stage, ...]:
    """The network with these choices: operations and, if searched, sizes and depths, in the order of `ties`."""
    operations, (sizes, depths) = choices[0], choices[1:] or ([0] * len(choices[0]), [depth - 1] * len(ties.deep))
    on = [sized(names[operation], kernels[size]) for operation, size in zip(operations, sizes, strict=True)]
    return ties.network(on, [1 + number for number in depths])


def _drawn(rows: Rows, rng: Generator) -> list[int]:
    """A choice for each row of probabilities, whose sums may differ from 1 by rounding."""
    ends: NDArray[np.float64] = np.cumsum(rows, axis=1)
    choices: list[int] = (ends <= rng.random((len(ends), 1)) * ends[:, -1:]).sum(1).tolist()
    return choices
