"""The cell of NAS-Bench-201 (Dong and Yang, ICLR 2020): four nodes, one of five operations on each of six edges."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.space.language import layers
from benchmarks.space.language.combinators import identity, siso_sequential, substitution
from benchmarks.space.language.graph import AnyHyperparameter, D, Part, Value

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
EDGES = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
"""In the order of the official string: Op0 to Op5."""


def nasbench201(cells: int = 1, filters: int = 16, classes: int = 10) -> Part:
    """Three stages of so many equal cells, with reductions between: 5^6 = 15,625 architectures.

    The cell is that of the benchmark; its convolutions have biases here, and a plain strided convolution stands between
    stages where the benchmark has a residual block.
    """
    operations = [D(OPERATIONS, name=f"Op{k}") for k in range(len(EDGES))]
    parts = [siso_sequential([layers.conv2d(filters), layers.batch_norm()])]
    for stage in range(3):
        width = filters * 2**stage
        if stage:
            parts.append(layers.conv_norm_relu(width, 3, 2))
        parts += [_cell(width, operations) for _ in range(cells)]
    return layers.classifier(siso_sequential([*parts, layers.batch_norm(), layers.relu()]), classes)


def _cell(filters: int, operations: Sequence[AnyHyperparameter]) -> Part:
    inputs, outputs = identity()
    found = [outputs["out"]]
    for node in range(1, 4):
        taken = [k for k, (_, target) in enumerate(EDGES) if target == node]
        sum_inputs, sum_outputs = layers.add(len(taken))
        for position, k in enumerate(taken):
            part_inputs, part_outputs = _operation(filters, operations[k])
            found[EDGES[k][0]].connect(part_inputs["in"])
            part_outputs["out"].connect(sum_inputs[f"in{position}"])
        found.append(sum_outputs["out"])
    return inputs, {"out": found[-1]}


def _operation(filters: int, which: AnyHyperparameter) -> Part:
    def chosen(values: dict[str, Value]) -> Part:
        if values["which"] == "none":
            return layers.zero()
        if values["which"] == "skip_connect":
            return identity()
        if values["which"] == "avg_pool_3x3":
            return layers.avg_pool(3)
        size = 1 if values["which"] == "nor_conv_1x1" else 3
        return siso_sequential([layers.relu(), layers.conv2d(filters, size), layers.batch_norm()])

    return substitution("operation", chosen, {"which": which})
