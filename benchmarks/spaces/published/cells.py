"""ZO-DARTS++'s space (Xie et al., section III): each of three stages has its own cell, kernel sizes and depth."""

from __future__ import annotations

from collections.abc import Sequence

from nasbench.benchmarks.spaces.cells.operations import EDGES, SPATIAL, conv_norm, named
from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.combinators import siso_sequential, substitution
from nasbench.benchmarks.spaces.language.graph import AnyHyperparameter, D, Part, ordinal
from nasbench.benchmarks.spaces.published.nasbench201 import cell, skeleton

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", SPATIAL, "avg_pool_3x3")
"""Possible operations on an edge; `nor_conv` is the convolution whose kernel size is a separate choice."""
KERNELS = (3, 5, 7)
DEPTHS = (1, 2, 3)


def cells(filters: int = 16, classes: int = 10, operations: Sequence[str] = OPERATIONS) -> Part:
    """Seven choices on each of 18 edges and three depths: 7^18 × 3^3 = 4.397e16 architectures.

    A stage repeats one NAS-Bench-201 cell one to three times. The kernel size of a spatial convolution is a further
    choice.

    Args:
        filters: channels of the first stage.
        classes: number of scores.
        operations: names of the possible operations (see `cells.operations`); `nor_conv` is possible, too.
    """
    return skeleton(lambda number, width: _stage(number, width, operations), filters, classes)


def _stage(number: int, filters: int, operations: Sequence[str]) -> Part:
    which = [D(tuple(operations), name=f"stage{number}-op{k}") for k in range(len(EDGES))]
    kernels = [ordinal(KERNELS, name=f"stage{number}-kernel{k}") for k in range(len(EDGES))]

    def repeated(values: dict[str, int]) -> Part:
        return siso_sequential([_cell(which, kernels, filters) for _ in range(values["depth"])])

    return substitution("stage", repeated, {"depth": ordinal(DEPTHS, name=f"stage{number}-depth")})


def _cell(which: Sequence[AnyHyperparameter], kernels: Sequence[AnyHyperparameter], filters: int) -> Part:
    return cell([_edge(filters, w, kernel) for w, kernel in zip(which, kernels, strict=True)])


def _edge(filters: int, which: AnyHyperparameter, kernel: AnyHyperparameter) -> Part:
    return substitution("operation", lambda values: _operation(values["which"], filters, kernel), {"which": which})


def _operation(name: str, filters: int, kernel: AnyHyperparameter) -> Part:
    if name == SPATIAL:
        return siso_sequential([layers.relu(), conv_norm(filters, kernel)])
    return named(name).part(filters)
