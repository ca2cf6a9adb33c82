"""Stages of a network of cells, and pruning of edges that do not matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from nasbench.benchmarks.spaces.cells.operations import EDGES, IDENTITY, LAST_NODE, SPATIAL, ZERO, named, sized
from nasbench.benchmarks.spaces.graphs.paths import on_paths
from nasbench.benchmarks.spaces.language.graph import Value

MINIATURE = (0, 3, 4)
"""The edges of a cell of `cells-mini` among `EDGES`: from its input to a node, to its output, and between these two."""
SEARCHED = (2, 3)
"""Numbers of the stages of `cells-mini` that are searched, from 1; they share the cell and the depth."""


class Stage(NamedTuple):
    """A chain of equal cells."""

    operations: tuple[str, ...]
    """Name of the operation on each edge, in the order of `EDGES`; see `cells.operations`."""
    depth: int
    """Number of cells."""


@dataclass(frozen=True)
class Ties:
    """Which edges, and which stages, of a network of three stages share a choice, and which have none."""

    edges: tuple[int | str, ...]
    """For each edge, stage by stage: the number of its choice, or the operation that it always has."""
    depths: tuple[int | None, ...]
    """For each stage: the number of the choice of its depth; None if it always is one cell."""

    @cached_property
    def searched(self) -> tuple[int, ...]:
        """The first edge with each choice, among the edges of all stages."""
        return tuple(self.edges.index(choice) for choice in range(len({e for e in self.edges if isinstance(e, int)})))

    @cached_property
    def deep(self) -> tuple[int, ...]:
        """The first stage with each choice of a depth."""
        return tuple(self.depths.index(choice) for choice in range(len({d for d in self.depths if d is not None})))

    def network(self, operations: Sequence[str], depths: Sequence[int]) -> tuple[Stage, ...]:
        """The network with these choices.

        Args:
            operations: the operation of each choice.
            depths: the depth of each choice.
        """
        names = [edge if isinstance(edge, str) else operations[edge] for edge in self.edges]
        return tuple(
            Stage(tuple(names[len(EDGES) * k : len(EDGES) * (k + 1)]), 1 if number is None else depths[number])
            for k, number in enumerate(self.depths)
        )


def equal_stages(choices: Mapping[str, Value], cells: int = 1) -> tuple[Stage, ...]:
    """The three stages of a configuration of `nasbench201`, all with the same cell.

    Args:
        choices: the configuration by name, Op0 to Op5.
        cells: cells per stage.
    """
    return (Stage(tuple(choices[f"Op{k}"] for k in range(len(EDGES))), cells),) * 3


def stages_of(choices: Mapping[str, Value]) -> tuple[Stage, ...]:
    """The three stages of a configuration of `cells`, each with its own cell and depth."""

    def operation(stage: int, edge: int) -> str:
        return sized(choices[f"stage{stage}-op{edge}"], choices.get(f"stage{stage}-kernel{edge}", 0))

    return tuple(
        Stage(tuple(operation(stage, edge) for edge in range(len(EDGES))), choices[f"stage{stage}-depth"])
        for stage in (1, 2, 3)
    )


def miniature_stages(choices: Mapping[str, Value]) -> tuple[Stage, ...]:
    """The three stages of a configuration of `cells-mini`; the first is empty: a cell that is a skip."""

    def stage(operations: Mapping[int, str], depth: int) -> Stage:
        return Stage(tuple(operations.get(edge, ZERO) for edge in range(len(EDGES))), depth)

    empty = stage({EDGES.index((0, LAST_NODE)): IDENTITY}, 1)
    searched = stage({edge: choices[f"op{k}"] for k, edge in enumerate(MINIATURE)}, choices["depth"])
    return tuple(searched if number in SEARCHED else empty for number in (1, 2, 3))


EACH_ITS_OWN = Ties(tuple(range(3 * len(EDGES))), (0, 1, 2))
"""A cell and a depth for each stage."""
ONE_CELL = Ties(tuple(range(len(EDGES))) * 3, (0, 0, 0))
"""One cell and one depth for all stages."""
_SKIP = tuple(IDENTITY if edge == (0, LAST_NODE) else ZERO for edge in EDGES)
_THREE_NODES: tuple[int | str, ...] = tuple(
    MINIATURE.index(edge) if edge in MINIATURE else ZERO for edge in range(len(EDGES))
)
MINIATURE_TIES = Ties((*_SKIP, *_THREE_NODES, *_THREE_NODES), (None, 0, 0))
"""The networks of `cells-mini`: the first stage is empty, and the other two have the same cell, of three edges."""


def choices_of(stages: Sequence[Stage]) -> dict[str, Value]:
    """The configuration of `cells`, by name, with the given stages: the inverse of `stages_of`."""
    choices: dict[str, Value] = {}
    for number, stage in enumerate(stages, 1):
        choices[f"stage{number}-depth"] = stage.depth
        for edge, operation in enumerate(stage.operations):
            kernel = named(operation).kernel
            choices[f"stage{number}-op{edge}"] = SPATIAL if kernel > 1 else operation
            if kernel > 1:
                choices[f"stage{number}-kernel{edge}"] = kernel
    return choices


def pruned(operations: Sequence[str]) -> tuple[str, ...]:
    """A cell's operations, with `none` on the edges that lie on no path from its input to its output."""
    alive = on_paths([edge for edge, operation in zip(EDGES, operations, strict=True) if operation != ZERO], LAST_NODE)
    return tuple(
        operation if source in alive and target in alive else ZERO
        for (source, target), operation in zip(EDGES, operations, strict=True)
    )


def without_dead_edges(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """The stages with pruned operations: equal for all ways to write one network."""
    return tuple(stage._replace(operations=pruned(stage.operations)) for stage in stages)


def dead_stages(stages: Sequence[Stage]) -> list[int]:
    """The stages, counted from 1, whose cell has no path from its input to its output. The network cannot learn."""
    return [number for number, stage in enumerate(stages, 1) if set(pruned(stage.operations)) == {ZERO}]
