"""Random networks of layers."""

from __future__ import annotations

import numpy as np

from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.methods.nasbot.families import CONVOLUTIONS, POOLS


def random_network(rng: np.random.Generator, layers: int | None = None) -> LayerGraph:
    """A chain of convolutions and pools, with skips, and fully connected layers at its end."""
    n = int(rng.integers(2, 12)) if layers is None else layers - 4
    labels = ["ip", *(str(rng.choice(CONVOLUTIONS if rng.random() < 0.8 else POOLS)) for _ in range(n))]
    labels += ["fc", "softmax", "op"]
    units = [
        int(rng.integers(4, 64)) if label[:4] in ("conv", "res3", "res5", "res7", "fc") else None for label in labels
    ]
    edges = {(i, i + 1) for i in range(len(labels) - 1)}
    for _ in range(int(rng.integers(0, 4))):
        a, b = sorted(rng.choice(n + 1, 2, replace=False).tolist())
        edges.add((a, b))
    return LayerGraph(tuple(labels), tuple(units), frozenset(edges))
