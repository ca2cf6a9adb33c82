"""A NAS-Bench-201 cell as a graph of layers: each operation on an edge becomes a layer (NASBOT on cells)."""

from __future__ import annotations

from collections.abc import Sequence

from nasbench.benchmarks.spaces.cells.operations import EDGES, LAST_NODE, ZERO, named
from nasbench.benchmarks.spaces.cells.stages import pruned
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph

_CHANNELS = 16


def cell_graph(operations: Sequence[str]) -> LayerGraph:
    """The live operations of a cell between `ip` and `op`; only these two, unconnected, if the cell has no path.

    Args:
        operations: names of the operations on the six edges, in the order of `EDGES`.
    """
    alive = [(*edge, name) for edge, name in zip(EDGES, pruned(operations), strict=True) if name != ZERO]
    last = len(alive) + 1
    edges = {(0, k) for k, (source, _, _) in enumerate(alive, 1) if source == 0}
    edges |= {(k, last) for k, (_, target, _) in enumerate(alive, 1) if target == LAST_NODE}
    edges |= {
        (k, other)
        for k, (_, target, _) in enumerate(alive, 1)
        for other, (source, _, _) in enumerate(alive, 1)
        if source == target
    }
    layers = [named(name) for _, _, name in alive]
    labels = tuple(operation.layer for operation in layers)
    units = tuple(_CHANNELS if operation.parameters(_CHANNELS) else None for operation in layers)
    return LayerGraph(
        ("ip", *labels, "op"), (None, *units, None), frozenset(edges), kind="cell", channels=_CHANNELS, summed=True
    )
