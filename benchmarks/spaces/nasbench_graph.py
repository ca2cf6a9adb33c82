"""The space of NAS-Bench-Graph (Qin et al., NeurIPS 2022): four layers for graphs, and the input of each layer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.spaces.base import Configuration
from nasbench.benchmarks.spaces.flat import Coordinate
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.hyperparameters import Categorical
from nasbench.benchmarks.spaces.listed import ListedChoices

Links = tuple[int, ...]
Rows = NDArray[np.int32]

LINKS: tuple[Links, ...] = (
    (0, 0, 0, 0),
    (0, 0, 0, 1),
    (0, 0, 1, 1),
    (0, 0, 1, 2),
    (0, 0, 1, 3),
    (0, 1, 1, 1),
    (0, 1, 1, 2),
    (0, 1, 2, 2),
    (0, 1, 2, 3),
)
"""The input of each of four nodes: 0 is the input of the network, k is node k. All other links are permutations."""
OPERATIONS = ("gat", "gcn", "gin", "cheb", "sage", "arma", "graph", "fc", "skip")
"""The operations of a node, in the order of the benchmark."""
OPERATIONS_OF_PROTEINS = ("gcn", "sage", "arma", "fc", "skip")
"""The operations that were trained on the data set proteins."""

_SKIP = "skip"
_NODES = 4
_WRITTEN = tuple(itertools.product(range(1), range(2), range(3), range(4)))
"""All ways to write links."""
_EXCHANGEABLE: dict[Links, tuple[int, ...]] = {  # nodes whose operations can be exchanged; for 0012 see `_sorted`
    (0, 0, 0, 0): (0, 1, 2, 3),
    (0, 0, 0, 1): (1, 2),
    (0, 0, 1, 1): (2, 3),
    (0, 1, 1, 1): (1, 2, 3),
    (0, 1, 2, 2): (2, 3),
}
_CHAINS = (0, 0, 1, 2)
_CHANNELS = 256  # of every layer: the largest number in the authors' networks


class GraphNetworks(ListedChoices):
    """The distinct architectures of NAS-Bench-Graph: 26,206 with all operations, 2,021 with those of proteins.

    A network can be written in up to 164 ways (other orders of nodes, other places of a skip); the flat view takes all
    of them. Two networks are neighbours if they can be written so that they differ in one operation or one link.
    """

    table_kind = "nas-bench-graph"
    revision = "+distinct"

    def __init__(self, operations: Sequence[str] = OPERATIONS) -> None:
        self._operations = tuple(operations)
        codes = _canonical_codes(self._operations)
        sizes = (len(LINKS), *[len(self._operations)] * _NODES)
        is_code = np.zeros(math.prod(sizes) + 1, bool)  # the last entry is for the code -1
        is_code[codes] = True
        listed = np.flatnonzero(is_code[:-1])
        row_of_code = np.full(len(is_code), -1, np.int32)
        row_of_code[listed] = np.arange(len(listed))
        self._rows: Rows = row_of_code[codes]
        """The row of each way to write a network, shape (2, 3, 4, operations, …): links of nodes 2 to 4, operations."""
        points = np.stack(np.unravel_index(listed, sizes), axis=1).astype(np.int8)
        words = ["".join(map(str, links)) for links in LINKS]
        nodes = [Categorical(f"op{k}", self._operations) for k in range(1, _NODES + 1)]
        super().__init__([Categorical("links", tuple(words)), *nodes], points)

    def row(self, links: Links, operations: Sequence[str]) -> int | None:
        """The row of a network written in any way; None for a network of skips alone, which is not in the table.

        Args:
            links: the input of each node, 0 to k - 1 for node k.
            operations: the name of each node's operation.
        """
        row = int(self._rows[(*links[1:], *map(self._operations.index, operations))])
        return None if row < 0 else row

    def find(self, coordinates: Sequence[Coordinate]) -> int | None:
        macro, *operations = [int(x or 0) for x in coordinates]
        return self.row(LINKS[macro], [self._operations[o] for o in operations])

    def neighbours(self, configuration: Configuration) -> list[int]:
        shape = self._rows.shape
        written = np.unravel_index(np.flatnonzero(self._rows.ravel() == configuration), shape)
        rows: set[int] = set()
        for axis, size in enumerate(shape):
            changed = (*written[:axis], np.arange(size)[:, None], *written[axis + 1 :])
            rows |= set(self._rows[changed].ravel().tolist())
        return sorted(rows - {-1, configuration})

    def key(self, configuration: Configuration) -> str:
        """The key of a configuration in the package's files."""
        return str(self.keys[configuration])

    def as_graph(self, configuration: Configuration) -> LayerGraph:
        """The four operations between `ip` and `op`, which joins the nodes that no other node reads."""
        macro, *operations = self.points[configuration].tolist()
        links = LINKS[macro]
        leaves = [node for node in range(1, _NODES + 1) if node not in links]
        edges = {(parent, node) for node, parent in enumerate(links, 1)} | {(leaf, _NODES + 1) for leaf in leaves}
        labels = [_LABELS.get(self._operations[o], self._operations[o]) for o in operations]
        none = (None,) * (_NODES + 2)
        return LayerGraph(("ip", *labels, "op"), none, frozenset(edges), kind="graph-network", channels=_CHANNELS)

    @cached_property
    def keys(self) -> NDArray[np.int64]:
        """The key of each row in the package: a digit for the links, then one per operation (of all nine)."""
        places = np.array([OPERATIONS.index(name) for name in self._operations])
        digits = np.column_stack([self.points[:, :1], places[self.points[:, 1:]]])
        keys: NDArray[np.int64] = digits @ (10 ** np.arange(_NODES, -1, -1))
        return keys


_LABELS = {"fc": "dense"}  # OTMANN gives a special weight to the label `fc`


def _canonical_codes(operations: tuple[str, ...]) -> NDArray[np.int64]:
    """The canonical form of each way to write a network, as a mixed-radix number; -1 for a network of skips alone.

    Shape (2, 3, 4, operations, operations, operations, operations). The order of nodes depends only on the links and on
    the places of skips, so each of these cases is solved once, and applied to all operations together.
    """
    count = len(operations)
    every = np.stack(np.unravel_index(np.arange(count**_NODES), (count,) * _NODES), axis=1)
    skip = operations.index(_SKIP)
    patterns = [p for p in itertools.product((False, True), repeat=_NODES) if not all(p)]
    having = {pattern: np.flatnonzero(((every == skip) == pattern).all(axis=1)) for pattern in patterns}
    weights = count ** np.arange(_NODES - 1, -1, -1)
    codes = np.full((len(_WRITTEN), len(every)), -1, np.int64)
    for number, written in enumerate(_WRITTEN):
        for pattern, chosen in having.items():
            links, order = _moved(written, pattern)
            digits = _sorted(links, every[chosen[:, None], order])
            codes[number, chosen] = LINKS.index(links) * count**_NODES + digits @ weights
    return codes.reshape(2, 3, 4, *[count] * _NODES)


def _moved(written: Links, skips: tuple[bool, ...]) -> tuple[Links, list[int]]:
    """The links of the canonical form, and its nodes as numbers of the written nodes."""
    links, order = _renumbered(written)
    for i in range(_NODES):
        if skips[order[i]] and _moves(i, links, [skips[k] for k in order]):
            order = [order[i], *order[:i], *order[i + 1 :]]
            above = links[i]
            read = [above if parent == i + 1 else parent for parent in links]
            # Nodes that read the input now read the skip, which is node 1; nodes before it move by one.
            read = [parent + 1 if parent <= i else parent for parent in read]
            links = (0, *read[:i], *read[i + 1 :])
    again, then = _renumbered(links)
    return again, [order[k] for k in then]


def _moves(i: int, links: Links, skips: Sequence[bool]) -> bool:
    """Whether a skip moves to the front: not if it is a leaf with a sibling, and some node before it is no skip."""
    is_leaf = i + 1 not in links
    has_sibling = any(parent == links[i] for j, parent in enumerate(links) if j != i)
    node = i + 1
    while node and skips[node - 1]:
        node = links[node - 1]
    return not (is_leaf and has_sibling and node)


def _renumbered(links: Links) -> tuple[Links, list[int]]:
    """The member of `LINKS` that is a permutation of given links, and its nodes as numbers of the given nodes."""
    for order in itertools.permutations(range(_NODES)):
        place = {0: 0} | {node + 1: k for k, node in enumerate(order, 1)}
        renumbered = tuple(place[links[node]] for node in order)
        if renumbered in LINKS:
            return renumbered, list(order)
    raise AssertionError(links)


def _sorted(links: Links, digits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Operations, ascending among nodes that can be exchanged; shape (networks, nodes)."""
    result = digits.copy()
    nodes = list(_EXCHANGEABLE.get(links, ()))
    result[:, nodes] = np.sort(digits[:, nodes], axis=1)
    if links == _CHAINS:
        first, second = digits[:, [0, 2]], digits[:, [1, 3]]
        swapped = (first[:, 0] > second[:, 0]) | ((first[:, 0] == second[:, 0]) & (first[:, 1] > second[:, 1]))
        result[swapped] = digits[swapped][:, [1, 0, 3, 2]]
    return result
