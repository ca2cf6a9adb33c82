"""The cell of NAS-Bench-201 (Dong and Yang, ICLR 2020): four nodes, an operation on each of six edges between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.combinators import identity, siso_residual, siso_sequential, substitution
from nasbench.benchmarks.spaces.language.graph import AnyHyperparameter, D, Part

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
EDGES = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
"""In the order of the official string: Op0 to Op5."""


def nasbench201(cells: int = 1, filters: int = 16, classes: int = 10) -> Part:
    """Three stages of so many equal cells: 5^6 = 15,625 architectures (the benchmark has five cells a stage)."""
    edges = [D(OPERATIONS, name=f"Op{k}") for k in range(len(EDGES))]

    def stage(number: int, width: int) -> Part:
        return siso_sequential([cell([_edge(width, which) for which in edges]) for _ in range(cells)])

    return skeleton(stage, filters, classes)


def skeleton(stage: Callable[[int, int], Part], filters: int, classes: int) -> Part:
    """A convolution, three stages with residual reductions between them, a classifier.

    Args:
        stage: makes the stage of this number, from 1, with so many channels: `filters`, then twice, then four times.
    """
    parts = [_conv_norm(filters, 3), stage(1, filters)]
    for number, width in ((2, 2 * filters), (3, 4 * filters)):
        parts += [_reduction(width), stage(number, width)]
    return layers.classifier(siso_sequential([*parts, layers.batch_norm(), layers.relu()]), classes)


def cell(edges: Sequence[Part]) -> Part:
    """Four nodes, of which each but the first adds what the edges from earlier ones bring."""
    inputs, outputs = identity()
    found = [outputs["out"]]
    for node in range(1, 4):
        taken = [k for k, (_, target) in enumerate(EDGES) if target == node]
        sum_inputs, sum_outputs = layers.add(len(taken))
        for position, k in enumerate(taken):
            part_inputs, part_outputs = edges[k]
            found[EDGES[k][0]].connect(part_inputs["in"])
            part_outputs["out"].connect(sum_inputs[f"in{position}"])
        found.append(sum_outputs["out"])
    return inputs, {"out": found[-1]}


def operation(name: str, filters: int, kernel_size: AnyHyperparameter | int = 3) -> Part:
    """What stands on an edge; `kernel_size` is that of the spatial convolution."""
    if name == "none":
        return layers.zero()
    if name == "skip_connect":
        return identity()
    if name == "avg_pool_3x3":
        return layers.avg_pool(3)
    size = 1 if name == "nor_conv_1x1" else kernel_size
    return siso_sequential([layers.relu(), _conv_norm(filters, size)])


def _edge(filters: int, which: AnyHyperparameter) -> Part:
    return substitution("operation", lambda values: operation(values["which"], filters), {"which": which})


def _reduction(filters: int) -> Part:
    """Half the size, twice the channels: two convolutions, beside a pooling and a pointwise one."""
    return siso_residual(
        lambda: siso_sequential(
            [layers.relu(), _conv_norm(filters, 3, stride=2), layers.relu(), _conv_norm(filters, 3)]
        ),
        lambda: siso_sequential([layers.avg_pool(2, 2), layers.conv2d(filters, 1, bias=False)]),
        layers.add,
    )


def _conv_norm(filters: int, kernel_size: AnyHyperparameter | int, stride: int = 1) -> Part:
    return siso_sequential([layers.conv2d(filters, kernel_size, stride, bias=False), layers.batch_norm()])
