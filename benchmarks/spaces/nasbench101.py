"""The space of NAS-Bench-101 (Ying et al., ICML 2019): the cells of at most seven vertices that a table lists."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.base.errors import UsageError
from nasbench.benchmarks.spaces.base import Configuration, Values
from nasbench.benchmarks.spaces.flat import Coordinate
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.paths import on_paths
from nasbench.benchmarks.spaces.hyperparameters import Categorical
from nasbench.benchmarks.spaces.listed import Array, ListedChoices

VERTICES = 7
OPERATIONS = ("conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3")
"""The operations of the vertices between input and output, in the order of the benchmark."""
INNER = VERTICES - 2
EDGES = tuple((i, j) for j in range(1, VERTICES) for i in range(j))
"""The possible edges of a cell of seven vertices, (from, to). The output of a smaller cell is the last vertex, too."""

_LABELS = ("conv3", "conv1", "max-pool")
_CHANNELS = 16
_OUTPUT = VERTICES - 1

Point = tuple[int, ...]
"""A cell as coordinates: one bit per edge, then the operation of each inner vertex; 0 for an absent vertex."""


class ListedCells(ListedChoices):
    """The cells of a table, without repetition; the flat view finds the listed cell that is the same as any cell.

    Two cells are the same if they are isomorphic once vertices on no path from input to output are removed. The
    neighbours of a cell are the cells with one edge more or less, or with another operation.

    Args:
        points: the cells as `compact` gives them, shape (cells, 26), ascending, all different.
    """

    table_kind = "nas-bench-101"
    revision = "+distinct"

    def __init__(self, points: NDArray[np.number]) -> None:
        edges = [Categorical(f"{i}-{j}", (0, 1)) for i, j in EDGES]
        super().__init__([*edges, *(Categorical(f"op-{k}", OPERATIONS) for k in range(1, INNER + 1))], points)
        self._changed: dict[int, list[int]] = {}

    def find(self, coordinates: Sequence[Coordinate]) -> int | None:
        alive = pruned(tuple(int(x or 0) for x in coordinates))
        if alive is None:
            return None
        keys = _orders(alive) @ _WEIGHTS
        places = np.minimum(np.searchsorted(self._keys, keys), self.size - 1)
        rows = places[self._keys[places] == keys]
        return int(rows[0]) if len(rows) else None

    def distances(self, coordinates: Sequence[Coordinate]) -> Array:
        return self._mismatches(coordinates).astype(float)

    def neighbours(self, configuration: Configuration) -> list[int]:
        return sorted(set(self._reached(configuration)) - {-1}) or super().neighbours(configuration)

    def mutate(self, configuration: Configuration, rng: Generator) -> int:
        """The cell after one change, drawn uniformly among those that lead to another listed cell."""
        reached = self._reached(configuration)
        for place in rng.permutation(len(reached)).tolist():
            if reached[place] >= 0:
                return int(reached[place])
        return super().mutate(configuration, rng)

    def _reached(self, configuration: int) -> list[int]:
        """The cell that results from each change of a cell; -1 if it is the same cell, or not listed."""
        if configuration not in self._changed:
            cells = map(self.find, _changes(self.points[configuration].tolist()))
            self._changed[configuration] = [-1 if row is None or row == configuration else row for row in cells]
        return self._changed[configuration]

    def values(self, configuration: Configuration) -> Values:
        """The adjacency matrix row by row, and the operations, both as in the official file."""
        matrix, operations = matrix_of(tuple(self.points[configuration].tolist()))
        return {"adjacency": matrix, "operations": ",".join(operations)}

    def from_values(self, values: Values) -> int:
        if set(values) != {"adjacency", "operations"}:
            raise UsageError(f"a cell is given by adjacency and operations, not by {', '.join(values) or 'nothing'}")
        row = self.find(point_of(str(values["adjacency"]), str(values["operations"]).split(",")))
        if row is None:
            raise UsageError(f"the table has no cell with the adjacency matrix {values['adjacency']}")
        return row

    def as_tokens(self, configuration: Configuration) -> list[str]:
        """Words for edges, for the operation of each vertex, for counts of operations, and for connected pairs."""
        cell = tuple(self.points[configuration].tolist())
        names = ("input", *(OPERATIONS[x] for x in cell[len(EDGES) :]), "output")
        edges = sorted(_edges(cell))
        inner = sorted({v for edge in edges for v in edge} - {0, _OUTPUT})
        counts = Counter(names[v] for v in inner)
        return [
            *(f"{i}-{j}" for i, j in edges),
            *(f"{v}:{names[v]}" for v in inner),
            *(f"{name}x{k}" for name, most in sorted(counts.items()) for k in range(1, most + 1)),
            *(f"{names[i]}>{names[j]}" for i, j in edges),
        ]

    def as_graph(self, configuration: Configuration) -> LayerGraph:
        """The operations between `ip` and `op`; inputs of a vertex are added up."""
        matrix, operations = matrix_of(tuple(self.points[configuration].tolist()))
        count = len(operations)
        inner = [OPERATIONS.index(name) for name in operations[1:-1]]
        labels = ("ip", *(_LABELS[k] for k in inner), "op")
        units = (None, *(None if _LABELS[k] == "max-pool" else _CHANNELS for k in inner), None)
        edges = frozenset((k // count, k % count) for k, bit in enumerate(matrix) if bit == "1")
        return LayerGraph(labels, units, edges, kind="cell-101", channels=_CHANNELS, summed=True)

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        """A number per cell, ascending as the rows are."""
        keys: NDArray[np.int64] = self.points.astype(np.int64) @ _WEIGHTS
        return keys


_WEIGHTS = np.array([4**INNER * 2**k for k in reversed(range(len(EDGES)))] + [4**k for k in reversed(range(INNER))])


def hashed(adjacency: str, operations: Sequence[str]) -> str:
    """The benchmark's own hash of a cell without dead vertices; equal for isomorphic cells.

    Args:
        adjacency: the matrix row by row.
        operations: the operations of all vertices.
    """
    n = len(operations)
    numbers = {"input": -1, "output": -2} | {name: number for number, name in enumerate(OPERATIONS)}
    into = [[u for u in range(n) if adjacency[u * n + v] == "1"] for v in range(n)]
    out = [[w for w in range(n) if adjacency[v * n + w] == "1"] for v in range(n)]
    found = [_md5(str((len(out[v]), len(into[v]), numbers[operations[v]]))) for v in range(n)]
    for _ in range(n):
        around = [["".join(sorted(found[u] for u in side[v])) for side in (into, out)] for v in range(n)]
        found = [_md5("|".join([*sides, own])) for sides, own in zip(around, found, strict=True)]
    return _md5(str(sorted(found)))


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def point_of(adjacency: str, operations: Sequence[str]) -> Point:
    """A cell of the official file as coordinates.

    Args:
        adjacency: the matrix row by row, 0 or 1 for each pair of vertices; edges lead to later vertices.
        operations: the operations of all vertices, `input` first and `output` last.

    Raises UsageError if it is not a cell of at most seven vertices.
    """
    count = len(operations)
    inner = operations[1:-1]
    if len(adjacency) != count**2 or set(adjacency) - {"0", "1"}:
        raise UsageError(f"the adjacency {adjacency[:60]!r} is not a matrix of 0 and 1 for {count} vertices")
    if not 2 <= count <= VERTICES or (operations[0], operations[-1]) != ("input", "output"):
        raise UsageError(f"a cell has 2 to {VERTICES} vertices from input to output, not {', '.join(operations)[:120]}")
    if set(inner) - set(OPERATIONS):
        raise UsageError(f"operations are {', '.join(OPERATIONS)}, not {', '.join(inner)[:120]}")
    edges = [(k // count, k % count) for k, bit in enumerate(adjacency) if bit == "1"]
    if any(i >= j for i, j in edges):
        raise UsageError(f"an edge of the adjacency {adjacency} leads to an earlier vertex")
    moved = {(i, _OUTPUT if j == count - 1 else j) for i, j in edges}
    numbers = [OPERATIONS.index(name) for name in inner] + [0] * (VERTICES - count)
    return (*(int(edge in moved) for edge in EDGES), *numbers)


def matrix_of(point: Point) -> tuple[str, list[str]]:
    """The adjacency matrix and the operations of a cell, without isolated vertices."""
    edges = _edges(point)
    kept = sorted({0, _OUTPUT} | {v for edge in edges for v in edge})
    names = ["input", *(OPERATIONS[point[len(EDGES) + v - 1]] for v in kept[1:-1]), "output"]
    return "".join(str(int((i, j) in edges)) for i in kept for j in kept), names


def compact(point: Point) -> Point:
    """A pruned cell without gaps between its vertices. Raises UsageError if it has no path from input to output."""
    alive = pruned(point)
    if alive is None:
        raise UsageError("no path leads through the cell")
    touched = [any(v in edge for edge in _edges(alive)) for v in range(1, _OUTPUT)]
    if touched == sorted(touched, reverse=True):
        return alive
    # Orders ascend: the first one without gaps keeps the order of the vertices.
    first: Point = tuple(_orders(alive)[0].tolist())
    return first


def pruned(point: Point) -> Point | None:
    """A cell without edges and vertices on no path from input to output; None if there is no path."""
    alive = on_paths(_edges(point), _OUTPUT)
    if not alive:
        return None
    bits = [int(bit and i in alive and j in alive) for (i, j), bit in zip(EDGES, point, strict=False)]
    return (*bits, *(x if v in alive else 0 for v, x in enumerate(point[len(EDGES) :], 1)))


def _orders(point: Point) -> NDArray[np.int64]:
    """A pruned cell under all topological orders of its vertices, absent vertices last; shape (orders, 26)."""
    matrix = np.zeros((VERTICES, VERTICES), np.int64)
    matrix[_FROM, _TO] = point[: len(EDGES)]
    operations = np.array([0, *point[len(EDGES) :], 0])
    moved = matrix[_ORDERS[:, :, None], _ORDERS[:, None, :]]
    is_there = moved.any(axis=1)[:, 1:-1]
    onwards = (moved == np.triu(moved, 1)).all(axis=(1, 2)) & (is_there[:, :-1] >= is_there[:, 1:]).all(axis=1)
    cells: NDArray[np.int64] = np.hstack([moved[onwards][:, _FROM, _TO], operations[_ORDERS[onwards][:, 1:-1]]])
    return cells


_FROM, _TO = np.array(EDGES).T
_ORDERS = np.array([(0, *order, _OUTPUT) for order in itertools.permutations(range(1, _OUTPUT))])


def _changes(point: list[int]) -> Iterator[list[int]]:
    """All cells with one edge more or less, or with one other operation."""
    for place, value in enumerate(point):
        for other in range(2 if place < len(EDGES) else len(OPERATIONS)):
            if other != value:
                yield [*point[:place], other, *point[place + 1 :]]


def _edges(point: Sequence[int]) -> list[tuple[int, int]]:
    return [edge for edge, bit in zip(EDGES, point, strict=False) if bit]
