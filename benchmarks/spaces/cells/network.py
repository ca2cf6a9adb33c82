"""Networks of cells in a layout that computes less often: the same function, fewer and larger operations.

At each node the edges with the same kernel size share one ReLU, one convolution and one batch normalisation, whose
output is split among them; an operation without parameters is computed once for all its edges. Edges that lie on no
path from the input to the output are not built.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d, avg_pool2d, relu

from nasbench.benchmarks.spaces.cells.convolution import ConvNorm
from nasbench.benchmarks.spaces.cells.operations import EDGES, LAST_NODE, ZERO, named
from nasbench.benchmarks.spaces.cells.stages import Stage, pruned


class CellNetwork(nn.Module):
    """The network that stages name: images (batch, channels, height, width) → scores (batch, classes).

    Sides of the image must be multiples of 4. Raises ValueError for a stage without a path from input to output.
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
    """A NAS-Bench-201 cell: each node adds what the edges from earlier ones bring."""

    def __init__(self, operations: Sequence[str], width: int) -> None:
        super().__init__()
        alive = pruned(operations)
        if set(alive) == {ZERO}:
            raise ValueError(f"no path leads through the cell {'|'.join(operations)}")
        self.leaving: list[dict[str, list[int]]] = [{} for _ in range(LAST_NODE)]
        """For each node, operation → the nodes that it brings something to."""
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
                f"{node}-{operation}": Alike(operation, width, len(targets))
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
                    brought = self.convolutions[key](positive).chunk(len(targets), 1)
                else:
                    brought = self.others[key](value)
                for target, part in zip(targets, brought, strict=True):
                    before = nodes[target]
                    nodes[target] = part if before is None else before + part
        end = nodes[LAST_NODE]
        assert end is not None
        return end


class Alike(nn.Module):
    """One operation on several edges that leave the same node; returns what each of them brings."""

    def __init__(self, operation: str, width: int, edges: int) -> None:
        super().__init__()
        made = named(operation)
        self.each = nn.ModuleList(made.module(width) for _ in range(edges if made.parameters(width) else 1))
        self._edges = edges

    def forward(self, x: Tensor) -> list[Tensor]:
        return self.some(x, range(self._edges))

    def some(self, x: Tensor, edges: Sequence[int]) -> list[Tensor]:
        """What some of the edges bring, by their number among the edges that leave the node."""
        if len(self.each) == 1 and edges:
            return [self.each[0](x)] * len(edges)
        return [self.each[edge](x) for edge in edges]


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
