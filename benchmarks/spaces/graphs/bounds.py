"""Limits on the size of networks of any shape."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nasbench.base.errors import UsageError
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph


@dataclass(frozen=True)
class NetworkLimits:
    """Bounds on a network, as pairs (least, most); the defaults are those of the authors' demonstrations (NASBOT)."""

    layers: tuple[int, int] = (5, 60)
    edges: tuple[int, int] = (0, 200)
    parents: tuple[int, int] = (0, 5)
    children: tuple[int, int] = (0, 55)
    units: tuple[int, int] = (8, 1024)
    weights: tuple[float, float] = (0, math.inf)
    """Incoming channels times units, summed over all layers (`LayerGraph.weights`)."""

    def hold_size(self, layers: int, edges: int) -> bool:
        """Whether a network may have these numbers of layers and edges."""
        return self.layers[0] <= layers <= self.layers[1] and self.edges[0] <= edges <= self.edges[1]

    def check(self, graph: LayerGraph) -> None:
        """Raises UsageError that names the bound, if a network violates one."""
        units = [u for u in graph.units if u is not None] or [self.units[0]]
        measured: dict[str, tuple[float, float]] = {
            "layers": (len(graph.labels),) * 2,
            "edges": (len(graph.edges),) * 2,
            "parents": (max(map(len, graph.parents)),) * 2,
            "children": (max(map(len, graph.children)),) * 2,
            "units": (min(units), max(units)),
            "weights": (graph.weights,) * 2,
        }
        for name, (least, most) in measured.items():
            low, high = getattr(self, name)
            if least < low or most > high:
                raise UsageError(f"{name} must lie in [{low:g}, {high:g}], not {least if least < low else most:g}")
