"""Path lengths of a network (NASBOT, section 3), compiled."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from nasbench.benchmarks.spaces.graphs.layers import LayerGraph


def path_lengths(
    graph: LayerGraph, memberships: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lengths from the input and to the output, each of shape (layers, 3 × groups): shortest, longest, random walk.

    A length counts the layers of a group on a path, including the layer itself but not the end of the path. The random
    walk goes on to each child, or back to each parent, with equal probability.
    """
    edges = np.array(sorted(graph.edges), np.int64).reshape(-1, 2)
    return _lengths(edges, memberships, False), _lengths(edges, memberships, True)


@njit(cache=True)
def _lengths(edges: NDArray[np.int64], memberships: NDArray[np.float64], forward: bool) -> NDArray[np.float64]:
    groups, layers = memberships.shape
    lengths = np.zeros((layers, 3 * groups))
    counts = np.zeros(layers, np.int64)
    for g in range(groups):
        lengths[:, 3 * g] = np.inf
    last = layers - 1 if forward else 0
    for g in range(groups):
        lengths[last, 3 * g] = 0.0
    # Edges ascend by their source. Lengths to the output need those of the children, so layers are visited backwards;
    # lengths from the input need those of the parents, so layers are visited in order.
    for step in range(1, layers):
        u = layers - 1 - step if forward else step
        for e in range(len(edges)):
            layer, next_layer = (edges[e, 0], edges[e, 1]) if forward else (edges[e, 1], edges[e, 0])
            if layer != u:
                continue
            counts[u] += 1
            for g in range(groups):
                weight = memberships[g, u]
                lengths[u, 3 * g] = min(lengths[u, 3 * g], lengths[next_layer, 3 * g] + weight)
                lengths[u, 3 * g + 1] = max(lengths[u, 3 * g + 1], lengths[next_layer, 3 * g + 1] + weight)
                lengths[u, 3 * g + 2] += lengths[next_layer, 3 * g + 2] + weight
        for g in range(groups):
            if counts[u]:
                lengths[u, 3 * g + 2] /= counts[u]
    return lengths
