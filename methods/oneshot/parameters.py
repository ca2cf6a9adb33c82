"""How many parameters a network drawn from distributions is expected to have, so that the search can be pulled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import torch
from torch import Tensor

from nasbench.benchmarks.spaces.cells import Stage, parameters_paper, pruned, size
from nasbench.benchmarks.spaces.cells.searchable import Searchable
from nasbench.benchmarks.spaces.published.cells import OPERATIONS
from nasbench.methods.oneshot.distributions import Probabilities

_EDGES = 6
_NONE, _POINTWISE, _SPATIAL = (OPERATIONS.index(name) for name in ("none", "nor_conv_1x1", "nor_conv"))


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
        bare = [Stage(("skip_connect",) * _EDGES, 1)] * 3
        if paper:
            self._fixed = parameters_paper(bare, space.filters, space.classes)
        else:
            self._fixed = size(bare, space.filters, space.shape, space.classes).parameters
        cost: Callable[[int, int], int] = _paper_cost if paper else _cost
        widths = [space.filters << stage for stage in range(3)]
        self._pointwise = [cost(1, width) for width in widths]
        self._spatial = torch.tensor([[cost(k, width) for k in kernels] for width in widths], device=device).double()
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
        spatial = self._spatial[stage, 0]
        if probabilities.kernels is not None:
            spatial = (probabilities.kernels[rows].double() * self._spatial[stage]).sum(1)
        costs = operations[:, _POINTWISE] * self._pointwise[stage] + operations[:, _SPATIAL] * spatial
        none = operations[:, _NONE]
        sets = torch.where(self._carried, 1 - none, none)
        # The edge itself is there wherever it costs something: the probability of the other edges remains.
        others = torch.where(self._own, 1.0, sets[:, None, :]).prod(2)
        cell = (others * self._alive).sum(0) @ costs
        if probabilities.depths is None:
            return self._depth * cell
        return (probabilities.depths[stage].double() * self._depths).sum() * cell


def _alive(carried: Sequence[bool]) -> list[bool]:
    """Which edges of a cell lie on a path from its input to its output, where only some carry anything."""
    return [o != "none" for o in pruned(["skip_connect" if c else "none" for c in carried])]


def _cost(kernel: int, width: int) -> int:
    """Of a convolution from and to so many channels, and its normalisation."""
    return kernel**2 * width**2 + 2 * width


def _paper_cost(kernel: int, width: int) -> int:
    """Of a convolution with a bias."""
    return (kernel**2 * width + 1) * width
