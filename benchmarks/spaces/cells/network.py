"""Networks of cells with merged operations: the same function, with fewer and larger operations.

The edges that leave a node with the same kernel size share one ReLU, one convolution and one batch normalisation, whose
output is split among them. An operation without parameters is computed once for all these edges. Edges on no path from
the input to the output are not built.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d, avg_pool2d, relu

from nasbench.benchmarks.spaces.cells.convolution import ConvNorm
from nasbench.benchmarks.spaces.cells.operations import EDGES, LAST_NODE, ZERO, named
from nasbench.benchmarks.spaces.cells.stages import Stage, pruned


class CellNetwork(nn.Module):
    """The network with the given stages: images (batch, channels, height, width) → scores (batch, classes).

    The sides of the image must be multiples of 4. Raises ValueError for a stage without a path from input to output.
    """

    def __init__(self, stages: Sequence[Stage], filters: int, channels: int, classes: int) -> None:
        super().__init__()
        self.stem = ConvNorm(channels, filters, 3)
        parts: list[nn.Module] = []
        for number, stage in enumerate(stages):
            width = filters << number
            if number:
                parts.append(Reduction(width // 2, width))
            parts += [Cell(stage.operations, width) for _ in range(stage.depth)]
        self.body = nn.Sequential(*parts)
        self.norm = nn.BatchNorm2d(width)
        self.classifier = nn.Linear(width, classes)

    def forward(self, images: Tensor) -> Tensor:
        features = relu(self.norm(self.body(self.stem(images))))
        scores: Tensor = self.classifier(adaptive_avg_pool2d(features, 1).flatten(1))
        return scores


class Cell(nn.Module):
    """A NAS-Bench-201 cell: each node adds up the outputs of the edges from earlier nodes."""

    def __init__(self, operations: Sequence[str], width: int) -> None:
        super().__init__()
        alive = pruned(operations)
        if set(alive) == {ZERO}:
            raise ValueError(f"no path leads through the cell {'|'.join(operations)}")
        self.leaving: list[dict[str, list[int]]] = [{} for _ in range(LAST_NODE)]
        """Operation → target nodes, for each node."""
        for (source, target), operation in zip(EDGES, alive, strict=True):
            if operation != ZERO:
                self.leaving[source].setdefault(operation, []).append(target)
        self.convolutions = nn.ModuleDict(
            {
                f"{node}-{operation}": ConvNorm(width, width * len(targets), named(operation).kernel)
                for node, leaving in enumerate(self.leaving)
                for operation, targets in leaving.items()
                if named(operation).kernel
            }
        )
        self.others = nn.ModuleDict(
            {
                f"{node}-{operation}": EqualEdges(operation, width, len(targets))
                for node, leaving in enumerate(self.leaving)
                for operation, targets in leaving.items()
                if not named(operation).kernel
            }
        )

    def forward(self, x: Tensor) -> Tensor:
        nodes: list[Tensor | None] = [x, None, None, None]
        for node, leaving in enumerate(self.leaving):
            value = nodes[node]
            if value is None:
                continue
            keys = {operation: f"{node}-{operation}" for operation in leaving}
            positive = relu(value) if any(key in self.convolutions for key in keys.values()) else value
            for operation, targets in leaving.items():
                key = keys[operation]
                if key in self.convolutions:
                    outputs = self.convolutions[key](positive).chunk(len(targets), 1)
                else:
                    outputs = self.others[key](value)
                for target, part in zip(targets, outputs, strict=True):
                    before = nodes[target]
                    nodes[target] = part if before is None else before + part
        end = nodes[LAST_NODE]
        assert end is not None
        return end


class EqualEdges(nn.Module):
    """Several edges with the same operation that leave the same node; returns the output of each edge."""

    def __init__(self, operation: str, width: int, edges: int) -> None:
        super().__init__()
        chosen = named(operation)
        self.modules_of_edges = nn.ModuleList(
            chosen.module(width) for _ in range(edges if chosen.parameters(width) else 1)
        )
        self._edges = edges

    def forward(self, x: Tensor) -> list[Tensor]:
        return self.outputs(x, range(self._edges))

    def outputs(self, x: Tensor, edges: Sequence[int]) -> list[Tensor]:
        """The outputs of the given edges, numbered from 0 in this module."""
        if len(self.modules_of_edges) == 1 and edges:
            return [self.modules_of_edges[0](x)] * len(edges)
        return [self.modules_of_edges[edge](x) for edge in edges]


class Reduction(nn.Module):
    """Halves the image and doubles the channels: two convolutions, added to a pooling and a pointwise convolution."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.first, self.second = ConvNorm(before, after, 3, stride=2), ConvNorm(after, after, 3)
        self.shortcut = nn.Conv2d(before, after, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        main: Tensor = self.second(relu(self.first(relu(x))))
        beside: Tensor = self.shortcut(avg_pool2d(x, 2))
        return main + beside
