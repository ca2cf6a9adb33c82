"""A NAS-Bench-201 cell as a graph of layers: an operation on an edge becomes a layer (NASBOT on cells)."""

from __future__ import annotations

from collections.abc import Sequence

from nasbench.benchmarks.spaces.cells.stages import LAST_NODE, pruned
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.published.nasbench201 import EDGES

LABELS = {
    "skip_connect": "skip",
    "nor_conv_1x1": "conv1",
    "nor_conv_3x3": "conv3",
    "avg_pool_3x3": "avg-pool",
}
"""Operation → layer. A skip is a layer too: as an edge alone, cells of one and of four identities would be the same."""
_CHANNELS = 16


def cell_graph(operations: Sequence[str]) -> LayerGraph:
    """The live operations of a cell between `ip` and `op`; nothing but these two, unconnected, where none is alive.

    Args:
        operations: on the six edges, in the order of `EDGES`.
    """
    alive = [(*edge, name) for edge, name in zip(EDGES, pruned(operations), strict=True) if name != "none"]
    last = len(alive) + 1
    edges = {(0, k) for k, (source, _, _) in enumerate(alive, 1) if source == 0}
    edges |= {(k, last) for k, (_, target, _) in enumerate(alive, 1) if target == LAST_NODE}
    edges |= {
        (k, other)
        for k, (_, target, _) in enumerate(alive, 1)
        for other, (source, _, _) in enumerate(alive, 1)
        if source == target
    }
    labels = tuple(LABELS[name] for _, _, name in alive)
    units = tuple(_CHANNELS if label.startswith("conv") else None for label in labels)
    return LayerGraph(
        ("ip", *labels, "op"), (None, *units, None), frozenset(edges), kind="cell", channels=_CHANNELS, summed=True
    )
