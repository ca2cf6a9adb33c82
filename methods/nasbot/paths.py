"""Path lengths of a network (NASBOT, section 3), compiled."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from nasbench.benchmarks.spaces.graphs.layers import LayerGraph


def path_lengths(
    graph: LayerGraph, memberships: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """From the input and to the output, each of shape (layers, 3 × groups): shortest, longest and of a random walk.

    A length counts the layers of a group on a path, the layer itself included, the end of the path not. The random walk
    goes on to any child, or back to any parent, with equal probability.
    """
    edges = np.array(sorted(graph.edges), np.int64).reshape(-1, 2)
    return _lengths(edges, memberships, False), _lengths(edges, memberships, True)


@njit(cache=True)
def _lengths(edges: NDArray[np.int64], memberships: NDArray[np.float64], forward: bool) -> NDArray[np.float64]:
    groups, layers = memberships.shape
    found = np.zeros((layers, 3 * groups))
    counts = np.zeros(layers, np.int64)
    for g in range(groups):
        found[:, 3 * g] = np.inf
    last = layers - 1 if forward else 0
    for g in range(groups):
        found[last, 3 * g] = 0.0
    # Edges ascend by their source. Towards the output a layer needs what its children have: sources descending.
    # From the input it needs what its parents have: the layers in order, with the edges that enter them.
    for step in range(1, layers):
        u = layers - 1 - step if forward else step
        for e in range(len(edges)):
            own, other = (edges[e, 0], edges[e, 1]) if forward else (edges[e, 1], edges[e, 0])
            if own != u:
                continue
            counts[u] += 1
            for g in range(groups):
                weight = memberships[g, u]
                found[u, 3 * g] = min(found[u, 3 * g], found[other, 3 * g] + weight)
                found[u, 3 * g + 1] = max(found[u, 3 * g + 1], found[other, 3 * g + 1] + weight)
                found[u, 3 * g + 2] += found[other, 3 * g + 2] + weight
        for g in range(groups):
            if counts[u]:
                found[u, 3 * g + 2] /= counts[u]
    return found
