"""Architectures drawn from what a search has found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.benchmarks.spaces.cells import Stage
from nasbench.benchmarks.spaces.cells.operations import sized
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
    """One network: an operation for each edge, where that is the spatial convolution its size, and a depth.

    Args:
        shares: the distributions over operations (18 rows), and where they are searched kernel sizes and depths.
        kernels: sizes, in the order of their columns; the only one where they are not searched.
        depth: of each stage where depths are not searched.
        same: the stages have one cell in common, drawn once.
        names: the operations, in the order of their columns.
    """
    operations, sizes, depths = ([_drawn(rows, rng) for rows in shares] + [None, None])[:3]
    assert operations is not None
    found = []
    for number in range(1 if same else 3):
        rows = range(6 * number, 6 * number + 6)
        on = [sized(names[operations[row]], kernels[0 if sizes is None else sizes[row]]) for row in rows]
        found.append(Stage(tuple(on), depth if depths is None else 1 + depths[number]))
    return tuple(found * 3) if same else tuple(found)


def _drawn(rows: Rows, rng: Generator) -> list[int]:
    """A choice for each row of probabilities, whatever rounding has made of their sums."""
    ends: NDArray[np.float64] = np.cumsum(rows, axis=1)
    found: list[int] = (ends <= rng.random((len(ends), 1)) * ends[:, -1:]).sum(1).tolist()
    return found
