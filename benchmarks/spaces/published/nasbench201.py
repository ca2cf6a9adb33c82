"""The cell of NAS-Bench-201 (Dong and Yang, ICLR 2020): four nodes, an operation on each of six edges between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nasbench.benchmarks.spaces.cells.operations import EDGES, conv_norm, named
from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.combinators import identity, siso_residual, siso_sequential, substitution
from nasbench.benchmarks.spaces.language.graph import AnyHyperparameter, D, Part

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
"""The operations of the benchmark, in its order."""


def nasbench201(cells: int = 1, filters: int = 16, classes: int = 10, operations: Sequence[str] = OPERATIONS) -> Part:
    """Three stages of equal cells: 5^6 = 15,625 architectures.

    Args:
        cells: cells per stage (the published benchmark has five).
        filters: channels of the first stage.
        classes: number of scores.
        operations: names of the possible operations (see `cells.operations`).
    """
    edges = [D(tuple(operations), name=f"Op{k}") for k in range(len(EDGES))]

    def stage(number: int, width: int) -> Part:
        return siso_sequential([cell([edge(width, which) for which in edges]) for _ in range(cells)])

    return skeleton(stage, filters, classes)


def skeleton(stage: Callable[[int, int], Part], filters: int, classes: int) -> Part:
    """A convolution, three stages with residual reductions between them, and a classifier.

    Args:
        stage: (number from 1, channels) → the stage.
        filters: channels of the first stage; they double from stage to stage.
        classes: number of scores.
    """
    parts = [conv_norm(filters, 3), stage(1, filters)]
    for number, width in ((2, 2 * filters), (3, 4 * filters)):
        parts += [_reduction(width), stage(number, width)]
    return layers.classifier(siso_sequential([*parts, layers.batch_norm(), layers.relu()]), classes)


def cell(edges: Sequence[Part]) -> Part:
    """Four nodes; each but the first adds up the outputs of the edges from earlier nodes."""
    inputs, outputs = identity()
    results = [outputs["out"]]
    for node in range(1, 4):
        taken = [k for k, (_, target) in enumerate(EDGES) if target == node]
        sum_inputs, sum_outputs = layers.add(len(taken))
        for position, k in enumerate(taken):
            part_inputs, part_outputs = edges[k]
            results[EDGES[k][0]].connect(part_inputs["in"])
            part_outputs["out"].connect(sum_inputs[f"in{position}"])
        results.append(sum_outputs["out"])
    return inputs, {"out": results[-1]}


def edge(filters: int, which: AnyHyperparameter) -> Part:
    """An edge whose operation is a choice among names of cell operations."""
    return substitution("operation", lambda values: named(values["which"]).part(filters), {"which": which})


def _reduction(filters: int) -> Part:
    """Halves the image and doubles the channels: two convolutions, added to a pooling and a pointwise convolution."""
    return siso_residual(
        lambda: siso_sequential([layers.relu(), conv_norm(filters, 3, stride=2), layers.relu(), conv_norm(filters, 3)]),
        lambda: siso_sequential([layers.avg_pool(2, 2), layers.conv2d(filters, 1, bias=False)]),
        layers.add,
    )
