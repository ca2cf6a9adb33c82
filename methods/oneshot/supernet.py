"""The supernet: every operation on every edge, weighted by its probability, in a layout that computes each thing once.

From each node one ReLU, one convolution for all edges with the same kernel size, one batch normalisation and one
pooling leave. What has a probability of exactly zero is not computed: it would add nothing, and its gradient is zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d, avg_pool2d, batch_norm, conv2d, relu

from benchmarks.architectures.nasbench201 import EDGES
from benchmarks.cells.network import ConvNorm, Reduction
from methods.oneshot.distributions import Probabilities

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv", "avg_pool_3x3")
"""Columns of the probabilities."""
_SKIP, _POINTWISE, _SPATIAL, _POOL = 1, 2, 3, 4
_LEAVING = [[k for k, (source, _) in enumerate(EDGES) if source == node] for node in range(3)]
"""The edges that leave each node."""


class Supernet(nn.Module):
    """Three stages of mixed cells with residual reductions between them (ZO-DARTS++, section III-A).

    Args:
        filters: channels of the first stage; they double from stage to stage.
        depth: cells of each stage.
        kernel: the size of the spatial convolution, until `grow`.
        exact_skip: whether what has a probability of zero is left out; outputs and gradients are the same.
    """

    def __init__(
        self, filters: int, channels: int, classes: int, depth: int = 3, kernel: int = 3, exact_skip: bool = True
    ) -> None:
        super().__init__()
        self.exact_skip = exact_skip
        widths = [filters << stage for stage in range(3)]
        self.stem = ConvNorm(channels, filters, 3)
        self._cells = [[MixedCell(width, kernel) for _ in range(depth)] for width in widths]
        self._halvings = [Reduction(width, 2 * width) for width in widths[:-1]]
        self.cells = nn.ModuleList(cell for stage in self._cells for cell in stage)
        self.reductions = nn.ModuleList(self._halvings)
        self.norm = nn.BatchNorm2d(widths[-1])
        self.classifier = nn.Linear(widths[-1], classes)

    def forward(self, images: Tensor, probabilities: Probabilities) -> Tensor:
        """Scores, shape (batch, classes). Where depths are not searched a stage gives what its last cell gives."""
        x: Tensor = self.stem(images)
        for number, cells in enumerate(self._cells):
            if number:
                x = self._halvings[number - 1](x)
            mixed = MixedEdges(probabilities, number, self.exact_skip)
            depths = None if probabilities.depths is None else probabilities.depths[number]
            x = self._stage(cells, x, mixed, depths)
        scores: Tensor = self.classifier(adaptive_avg_pool2d(relu(self.norm(x)), 1).flatten(1))
        return scores

    def grow(self, kernels: Sequence[int]) -> list[nn.Parameter]:
        """Gives each spatial convolution more sizes, cut from the centre of the one it has; returns what is new.

        ZO-DARTS++, section III-B: from then on each size is a tensor of its own, trained like the others.
        """
        return [parameter for stage in self._cells for cell in stage for parameter in cell.grow(kernels)]

    def _stage(self, cells: list[MixedCell], x: Tensor, mixed: MixedEdges, depths: Tensor | None) -> Tensor:
        if depths is None:
            for cell in cells:
                x = cell(x, mixed)
            return x
        alive = [share > 0 or not self.exact_skip for share in depths.tolist()]
        total: Tensor | None = None
        for number in range(max(n for n, is_alive in enumerate(alive) if is_alive) + 1):
            x = cells[number](x, mixed)
            if alive[number]:
                total = _sum(total, depths[number] * x)
        assert total is not None
        return total


class MixedEdges:
    """The probabilities on the edges of a stage's cell, and which of them count."""

    def __init__(self, probabilities: Probabilities, stage: int, exact_skip: bool) -> None:
        rows = slice(6 * stage, 6 * stage + 6)
        self.operations = probabilities.operations[rows]
        self.kernels = None if probabilities.kernels is None else probabilities.kernels[rows]
        self._counts = (self.operations.detach() > 0).tolist()
        self._sizes = None if self.kernels is None else (self.kernels.detach() > 0).tolist()
        self._exact_skip = exact_skip

    def having(self, node: int, operation: int, size: int | None = None) -> list[int]:
        """The edges that leave a node and have an operation; of the spatial one, with the size of this number."""
        if not self._exact_skip:
            return _LEAVING[node]
        edges = [k for k in _LEAVING[node] if self._counts[k][operation]]
        return edges if size is None or self._sizes is None else [k for k in edges if self._sizes[k][size]]

    def share(self, edge: int, operation: int, size: int | None = None) -> Tensor:
        """The weight of an operation on an edge; of the spatial one, with the size of this number."""
        found = self.operations[edge, operation]
        return found if size is None or self.kernels is None else found * self.kernels[edge, size]


class MixedCell(nn.Module):
    """A NAS-Bench-201 cell with everything on every edge, normalised by the statistics of the batch."""

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self._width = width
        self._pointwise = [self._convolution(node, 1) for node in range(3)]
        self._spatial = [[self._convolution(node, kernel)] for node in range(3)]
        self.pointwise = nn.ModuleList(self._pointwise)
        self.spatial = nn.ModuleList(sizes[0] for sizes in self._spatial)

    def forward(self, x: Tensor, mixed: MixedEdges) -> Tensor:
        nodes: list[Tensor | None] = [x, None, None, None]
        for node in range(3):
            value = nodes[node]
            if value is None:
                continue  # nothing arrives, so nothing leaves: a convolution of zeros, normalised, is zeros
            for edge, part in self._brought(node, value, mixed):
                target = EDGES[edge][1]
                nodes[target] = _sum(nodes[target], part)
        return torch.zeros_like(x) if nodes[3] is None else nodes[3]

    def grow(self, kernels: Sequence[int]) -> list[nn.Parameter]:
        """See `Supernet.grow`."""
        new: list[nn.Parameter] = []
        for node, sizes in enumerate(self._spatial):
            (largest,) = sizes
            for kernel in kernels:
                margin = (largest.kernel_size[0] - kernel) // 2
                centre = slice(margin, margin + kernel)
                convolution = self._convolution(node, kernel).to(largest.weight)
                convolution.weight.data.copy_(largest.weight.data[:, :, centre, centre])
                sizes.append(convolution)
                self.spatial.append(convolution)
                new += convolution.parameters()
        return new

    def _brought(self, node: int, value: Tensor, mixed: MixedEdges) -> Iterator[tuple[int, Tensor]]:
        """What the edges that leave a node bring: (edge, weighted output)."""
        pointwise = [(self._pointwise[node], mixed.having(node, _POINTWISE), _POINTWISE, None)]
        spatial = [
            (convolution, mixed.having(node, _SPATIAL, size), _SPATIAL, size)
            for size, convolution in enumerate(self._spatial[node])
        ]
        jobs = [job for job in [*pointwise, *spatial] if job[1]]
        positive = relu(value) if jobs else value
        for convolution, edges, operation, size in jobs:
            for k, part in zip(edges, self._convolved(node, convolution, edges, positive), strict=True):
                yield k, mixed.share(k, operation, size) * part
        for k in mixed.having(node, _SKIP):
            yield k, mixed.share(k, _SKIP) * value
        pooling = mixed.having(node, _POOL)
        if pooling:
            pooled = avg_pool2d(value, 3, 1, 1, count_include_pad=False)
            for k in pooling:
                yield k, mixed.share(k, _POOL) * pooled

    def _convolution(self, node: int, kernel: int) -> nn.Conv2d:
        width = self._width
        return nn.Conv2d(width, width * len(_LEAVING[node]), kernel, padding=kernel // 2, bias=False)

    def _convolved(self, node: int, convolution: nn.Conv2d, edges: list[int], positive: Tensor) -> tuple[Tensor, ...]:
        """What a convolution brings to some of the edges that leave a node."""
        weight = convolution.weight
        if edges != _LEAVING[node]:
            weight = torch.cat([weight.chunk(len(_LEAVING[node]))[_LEAVING[node].index(k)] for k in edges])
        found = conv2d(positive, weight, padding=weight.shape[-1] // 2)
        return batch_norm(found, None, None, training=True).chunk(len(edges), 1)


def _sum(before: Tensor | None, part: Tensor) -> Tensor:
    return part if before is None else before + part
