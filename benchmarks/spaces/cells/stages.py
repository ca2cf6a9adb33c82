"""A network of cells as three stages, and which of their edges matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nasbench.benchmarks.spaces.language.graph import Value
from nasbench.benchmarks.spaces.published.nasbench201 import EDGES

CONVOLUTIONS = {f"nor_conv_{k}x{k}": k for k in (1, 3, 5, 7)}
"""Operation → kernel size."""
LAST_NODE = 3


class Stage(NamedTuple):
    """Equal cells, one after the other."""

    operations: tuple[str, ...]
    """One an edge, in the order of `EDGES`: none, skip_connect, avg_pool_3x3, or a convolution."""
    depth: int
    """How many cells."""


def stages_of(choices: Mapping[str, Value], cells: int = 1) -> tuple[Stage, ...]:
    """The stages that a configuration of `cells`, or of `nasbench201` with so many cells a stage, names."""
    if "Op0" in choices:
        return (Stage(tuple(choices[f"Op{k}"] for k in range(len(EDGES))), cells),) * 3

    def on(stage: int, edge: int) -> str:
        operation: str = choices[f"stage{stage}-op{edge}"]
        if operation != "nor_conv":
            return operation
        kernel = choices[f"stage{stage}-kernel{edge}"]
        return f"nor_conv_{kernel}x{kernel}"

    return tuple(
        Stage(tuple(on(stage, edge) for edge in range(len(EDGES))), choices[f"stage{stage}-depth"])
        for stage in (1, 2, 3)
    )


def choices_of(stages: Sequence[Stage]) -> dict[str, Value]:
    """The configuration of `cells`, by name, that stages make: the inverse of `stages_of`."""
    choices: dict[str, Value] = {}
    for number, stage in enumerate(stages, 1):
        choices[f"stage{number}-depth"] = stage.depth
        for edge, operation in enumerate(stage.operations):
            kernel = CONVOLUTIONS.get(operation, 1)
            choices[f"stage{number}-op{edge}"] = "nor_conv" if kernel > 1 else operation
            if kernel > 1:
                choices[f"stage{number}-kernel{edge}"] = kernel
    return choices


def pruned(operations: Sequence[str]) -> tuple[str, ...]:
    """A cell's operations, `none` on the edges that lie on no path from its input to its output."""
    forward, backward = {0}, {LAST_NODE}
    alive = [edge for edge, operation in zip(EDGES, operations, strict=True) if operation != "none"]
    # The edges are sorted by target: one pass forth and one back see every path.
    for source, target in alive:
        forward |= {target} if source in forward else set()
    for source, target in reversed(alive):
        backward |= {source} if target in backward else set()
    return tuple(
        operation if source in forward and target in backward else "none"
        for (source, target), operation in zip(EDGES, operations, strict=True)
    )


def dead_stages(stages: Sequence[Stage]) -> list[int]:
    """The stages, from 1, whose cell has no path from its input to its output: such a network cannot learn."""
    return [number for number, stage in enumerate(stages, 1) if set(pruned(stage.operations)) == {"none"}]
