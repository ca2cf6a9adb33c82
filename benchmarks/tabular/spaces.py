"""Grids that are more than a product of values."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.architectures.nasbench201 import EDGES, OPERATIONS
from benchmarks.cells.graph import cell_graph
from benchmarks.space import GridSpace
from benchmarks.space.base import Configuration
from benchmarks.space.hyperparameters import Choice
from benchmarks.space.layers import LayerGraph


class CellGrid(GridSpace):
    """The cells of NAS-Bench-201: an operation on each of six edges."""

    def as_graph(self, configuration: Configuration) -> LayerGraph:
        """The cell as a graph of layers."""
        return cell_graph([str(value) for value in self.values(configuration).values()])


def grid(hyperparameters: Sequence[Choice]) -> GridSpace:
    """The grid of some hyper-parameters, with the views that its configurations allow."""
    names = [h.name for h in hyperparameters]
    are_cells = names == [f"Op{k}" for k in range(len(EDGES))]
    if are_cells and all(set(h.values) <= set(OPERATIONS) for h in hyperparameters):
        return CellGrid(hyperparameters)
    return GridSpace(hyperparameters)
