"""ZO-DARTS++'s space (Xie et al., section III): each of three stages has its own cell, kernel sizes and depth.

And a miniature of it, small enough for a table of all its networks: one stage is searched, of cells with three nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

from nasbench.benchmarks.spaces.cells.operations import EDGES, SPATIAL, conv_norm, named, sized
from nasbench.benchmarks.spaces.cells.stages import MINIATURE, SEARCHED
from nasbench.benchmarks.spaces.language import layers
from nasbench.benchmarks.spaces.language.combinators import identity, siso_sequential, substitution
from nasbench.benchmarks.spaces.language.graph import AnyHyperparameter, D, Part, ordinal
from nasbench.benchmarks.spaces.published.nasbench201 import cell, edge, skeleton

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", SPATIAL, "avg_pool_3x3")
"""Possible operations on an edge; `nor_conv` is the convolution whose kernel size is a separate choice."""
KERNELS = (3, 5, 7)
DEPTHS = (1, 2, 3)
SIZED = tuple(sized(name, kernel) for name in OPERATIONS for kernel in (KERNELS if name == SPATIAL else (0,)))
"""The same operations, where the kernel size is a part of the choice: seven."""


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


def miniature(filters: int = 16, classes: int = 10) -> Part:
    """Three edges with seven operations each and a depth, shared by two stages: 7^3 × 3 = 1,029 architectures.

    The network is that of `cells` with all other choices fixed: the first stage has no cell, and the second and the
    third have the same one, of three nodes.

    Args:
        filters: channels of the first stage.
        classes: number of scores.
    """
    which, depth = [D(SIZED, name=f"op{k}") for k in range(len(MINIATURE))], ordinal(DEPTHS, name="depth")

    def three_nodes(width: int) -> Part:
        edges = dict(zip(MINIATURE, which, strict=True))
        return cell([edge(width, edges[k]) if k in edges else layers.zero() for k in range(len(EDGES))])

    def stage(number: int, width: int) -> Part:
        if number not in SEARCHED:
            return identity()
        return substitution(
            "stage",
            lambda values: siso_sequential([three_nodes(width) for _ in range(values["depth"])]),
            {"depth": depth},
        )

    return skeleton(stage, filters, classes)


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
