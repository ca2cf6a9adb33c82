"""The expected number of parameters of a network drawn from distributions, which a search can pull between bounds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import torch
from torch import Tensor

from nasbench.benchmarks.spaces.cells import Stage, parameters_paper, pruned, size
from nasbench.benchmarks.spaces.cells.operations import IDENTITY, SPATIAL, ZERO, named, sized
from nasbench.benchmarks.spaces.cells.searchable import Searchable
from nasbench.methods.oneshot.distributions import Probabilities

_EDGES = 6


class ExpectedParameters:
    """E[parameters], exact and differentiable (ZO-DARTS++, equations 2 and 17).

    The paper counts convolutions that no path reaches, too; here an edge costs something only where it is alive: the
    expectation runs over the 2⁶ sets of edges of a cell that carry anything, those that leave the cell dead included.
    Where no edge is `none` both are the same, and for distributions on one architecture this is its number of
    parameters.

    Args:
        kernels: sizes of the spatial convolution, in the order of their columns.
        depth: cells of each stage, where depths are not searched.
        paper: counts as the authors' scripts do (`parameters_paper`), else what there is.
    """

    def __init__(
        self, space: Searchable, kernels: Sequence[int], depth: int, paper: bool, device: torch.device
    ) -> None:
        bare = [Stage((IDENTITY,) * _EDGES, 1)] * 3
        if paper:
            self._fixed = parameters_paper(bare, space.filters, space.classes)
        else:
            self._fixed = size(bare, space.filters, space.shape, space.classes).parameters
        widths = [space.filters << stage for stage in range(3)]
        self._none = space.operations.index(ZERO)
        fixed = [(column, named(name)) for column, name in enumerate(space.operations) if name != SPATIAL]
        self._costs = [
            [(column, cost) for column, operation in fixed if (cost := operation.counted(width, paper))]
            for width in widths
        ]
        """For each stage the operations of one size that have parameters: (column, parameters)."""
        self._sizes = space.operations.index(SPATIAL) if SPATIAL in space.operations else None
        by_size = [[named(sized(SPATIAL, k)).counted(width, paper) for k in kernels] for width in widths]
        self._spatial = torch.tensor(by_size, device=device).double()
        self._depth = depth
        self._depths = torch.arange(1, depth + 1, device=device).double()
        carried = list(product((False, True), repeat=_EDGES))
        self._carried = torch.tensor(carried, device=device)
        self._alive = torch.tensor([_alive(edges) for edges in carried], device=device).double()
        self._own = torch.eye(_EDGES, dtype=torch.bool, device=device)

    def __call__(self, probabilities: Probabilities) -> Tensor:
        """A number, from the distributions over operations and, where they are searched, kernel sizes and depths."""
        stages = [self._stage(probabilities, stage) for stage in range(3)]
        return self._fixed + torch.stack(stages).sum()

    def _stage(self, probabilities: Probabilities, stage: int) -> Tensor:
        rows = slice(_EDGES * stage, _EDGES * (stage + 1))
        operations = probabilities.operations[rows].double()
        costs = torch.zeros(_EDGES, dtype=torch.float64, device=operations.device)
        for column, cost in self._costs[stage]:
            costs = costs + operations[:, column] * cost
        if self._sizes is not None:
            spatial = self._spatial[stage, 0]
            if probabilities.kernels is not None:
                spatial = (probabilities.kernels[rows].double() * self._spatial[stage]).sum(1)
            costs = costs + operations[:, self._sizes] * spatial
        none = operations[:, self._none]
        sets = torch.where(self._carried, 1 - none, none)
        # The edge itself is there wherever it costs something: the probability of the other edges remains.
        others = torch.where(self._own, 1.0, sets[:, None, :]).prod(2)
        cell = (others * self._alive).sum(0) @ costs
        if probabilities.depths is None:
            return self._depth * cell
        return (probabilities.depths[stage].double() * self._depths).sum() * cell


def _alive(carried: Sequence[bool]) -> list[bool]:
    """Which edges of a cell lie on a path from its input to its output, where only some carry anything."""
    return [o != ZERO for o in pruned([IDENTITY if c else ZERO for c in carried])]
