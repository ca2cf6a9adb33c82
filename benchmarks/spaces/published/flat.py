"""The flat space of hierarchical representations (Liu et al., ICLR 2018): one cell, an operation on every edge."""

from __future__ import annotations

from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.combinators import identity, siso_or, siso_sequential
from nasbench.benchmarks.spaces.language.graph import AnyHyperparameter, D, Independent, Part

OPERATIONS = ("identity", "conv1x1", "depthwise3x3", "separable3x3", "max_pool3x3", "avg_pool3x3", "none")


def flat(nodes: int = 5, cells: int = 3, filters: int = 16, classes: int = 10) -> Part:
    """Cells of `nodes` nodes, all with the same operations: 7^(nodes (nodes - 1) / 2) architectures (7^10 by default).

    The paper has 11 nodes, and merges a node's inputs by concatenation and a 1x1 convolution; here they are added.
    Filters double and images halve between cells.
    """
    edges = {(i, j): D(range(len(OPERATIONS)), name=f"{i}-{j}") for j in range(nodes) for i in range(j)}
    parts = []
    for number in range(cells):
        width = filters * 2**number
        parts += [layers.conv_norm_relu(width, 3, 2 if number else 1), _cell(nodes, width, edges)]
    return layers.classifier(siso_sequential(parts), classes)


def _cell(nodes: int, filters: int, edges: dict[tuple[int, int], Independent]) -> Part:
    inputs, outputs = identity()
    results = [outputs["out"]]
    for j in range(1, nodes):
        sum_inputs, sum_outputs = layers.add(j)
        for i in range(j):
            part_inputs, part_outputs = _operation(filters, edges[i, j])
            results[i].connect(part_inputs["in"])
            part_outputs["out"].connect(sum_inputs[f"in{i}"])
        results.append(sum_outputs["out"])
    return inputs, {"out": results[-1]}


def _operation(filters: int, which: AnyHyperparameter) -> Part:
    return siso_or(
        [
            identity,
            lambda: layers.conv_norm_relu(filters, 1),
            lambda: siso_sequential([layers.depthwise_conv2d(3), layers.batch_norm(), layers.relu()]),
            lambda: siso_sequential([layers.separable_conv2d(filters), layers.batch_norm(), layers.relu()]),
            lambda: layers.max_pool(3),
            lambda: layers.avg_pool(3),
            layers.zero,
        ],
        which,
    )
