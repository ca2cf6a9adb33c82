"""The expected number of parameters of a network drawn from distributions, differentiable for a penalty."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import torch
from torch import Tensor

from nasbench.benchmarks.spaces.cells import Stage, parameters_paper, pruned, size
from nasbench.benchmarks.spaces.cells.operations import EDGES, IDENTITY, SPATIAL, ZERO, named, sized
from nasbench.benchmarks.spaces.cells.searchable import Searchable
from nasbench.methods.oneshot.distributions import Probabilities


class ExpectedParameters:
    """E[parameters], exact and differentiable (ZO-DARTS++, equations 2 and 17).

    The paper also counts convolutions that no path reaches. Here an edge counts only if it is alive: the expectation
    runs over the 2⁶ sets of edges that are not `none`, including those that leave the cell dead. If no edge is `none`
    both are equal; if the distributions are on one architecture, the expectation is its number of parameters.

    Args:
        kernels: sizes of the spatial convolution, in the order of their columns.
        depth: cells of each stage if depths are not searched.
        paper: whether to count as the authors' scripts do (`parameters_paper`).
    """

    def __init__(
        self, space: Searchable, kernels: Sequence[int], depth: int, paper: bool, device: torch.device
    ) -> None:
        bare = [Stage((IDENTITY,) * len(EDGES), 1)] * 3
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
        """For each stage the operations with parameters and without a kernel size: (column, parameters)."""
        self._sizes = space.operations.index(SPATIAL)
        by_size = [[named(sized(SPATIAL, k)).counted(width, paper) for k in kernels] for width in widths]
        self._spatial = torch.tensor(by_size, device=device).double()
        self._depth = depth
        self._depths = torch.arange(1, depth + 1, device=device).double()
        carried = list(product((False, True), repeat=len(EDGES)))
        self._carried = torch.tensor(carried, device=device)
        self._alive = torch.tensor([_alive(edges) for edges in carried], device=device).double()
        self._diagonal = torch.eye(len(EDGES), dtype=torch.bool, device=device)

    def __call__(self, probabilities: Probabilities) -> Tensor:
        """The expected number of parameters, a scalar."""
        stages = [self._stage(probabilities, stage) for stage in range(3)]
        return self._fixed + torch.stack(stages).sum()

    def _stage(self, probabilities: Probabilities, stage: int) -> Tensor:
        rows = slice(len(EDGES) * stage, len(EDGES) * (stage + 1))
        operations = probabilities.operations[rows].double()
        costs = torch.zeros(len(EDGES), dtype=torch.float64, device=operations.device)
        for column, cost in self._costs[stage]:
            costs = costs + operations[:, column] * cost
        spatial = self._spatial[stage, 0]
        if probabilities.kernels is not None:
            spatial = (probabilities.kernels[rows].double() * self._spatial[stage]).sum(1)
        costs = costs + operations[:, self._sizes] * spatial
        none = operations[:, self._none]
        sets = torch.where(self._carried, 1 - none, none)
        # The probability of a set given the edge itself: the cost of an edge already includes its probability.
        others = torch.where(self._diagonal, 1.0, sets[:, None, :]).prod(2)
        cell = (others * self._alive).sum(0) @ costs
        if probabilities.depths is None:
            return self._depth * cell
        return (probabilities.depths[stage].double() * self._depths).sum() * cell


def _alive(carried: Sequence[bool]) -> list[bool]:
    """Whether each edge of a cell is on a path from its input to its output, given the edges that are not `none`."""
    return [o != ZERO for o in pruned([IDENTITY if c else ZERO for c in carried])]
