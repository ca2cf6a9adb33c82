"""Grids that are more than a product of values: their configurations are networks, or have one in them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise

from nasbench.benchmarks.spaces import GridSpace
from nasbench.benchmarks.spaces.base import Configuration, Values
from nasbench.benchmarks.spaces.cells.graph import cell_graph
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.networks import DECISIONS
from nasbench.benchmarks.spaces.hyperparameters import Choice
from nasbench.benchmarks.spaces.published.nasbench201 import EDGES, OPERATIONS


class CellGrid(GridSpace, blockwise=True):
    """The cells of NAS-Bench-201: an operation on each of six edges."""

    def as_graph(self, configuration: Configuration) -> LayerGraph:
        """The cell as a graph of layers."""
        return cell_graph([str(value) for value in self.values(configuration).values()])


class PerceptronGrid(GridSpace):
    """A perceptron's layers and how it is trained, side by side: a chain of layers, and scalars beside it."""

    kind: str
    """mlp-reg or mlp-class."""
    architecture: tuple[str, ...]
    """The hyper-parameters that the graph shows."""

    @abstractmethod
    def layers(self, values: Values) -> Sequence[tuple[str, int]]:
        """Activation and units of each hidden layer."""

    def as_graph(self, configuration: Configuration) -> LayerGraph:
        """The layers as a chain."""
        hidden = self.layers(self.values(configuration))
        labels = ("ip", *(label for label, _ in hidden), DECISIONS[self.kind], "op")
        units = (None, *(count for _, count in hidden), None, None)
        return LayerGraph(labels, units, frozenset(pairwise(range(len(labels)))), kind=self.kind)

    def as_scalars(self, configuration: Configuration) -> tuple[float, ...]:
        """All that the graph does not show, each by its place among its values, in [0, 1]."""
        own = zip(self.hyperparameters, configuration, self.sizes, strict=True)
        return tuple(choice / max(size - 1, 1) for h, choice, size in own if h.name not in self.architecture)


class TwoLayerGrid(PerceptronGrid, blockwise=True):
    """HPOlib's: two layers of any activation and width, for regression."""

    kind = "mlp-reg"
    architecture = ("activation_fn_1", "activation_fn_2", "n_units_1", "n_units_2")

    def layers(self, values: Values) -> Sequence[tuple[str, int]]:
        return [(values[f"activation_fn_{k}"], values[f"n_units_{k}"]) for k in (1, 2)]


class EvenGrid(PerceptronGrid, blockwise=True):
    """HPOBench's: one to three rectified layers of one width, for classification."""

    kind = "mlp-class"
    architecture = ("depth", "width")

    def layers(self, values: Values) -> Sequence[tuple[str, int]]:
        return [("relu", values["width"])] * int(values["depth"])


def grid(hyperparameters: Sequence[Choice]) -> GridSpace:
    """The grid of some hyper-parameters, with the views that its configurations allow."""
    names = [h.name for h in hyperparameters]
    are_cells = names == [f"Op{k}" for k in range(len(EDGES))]
    if are_cells and all(set(h.values) <= set(OPERATIONS) for h in hyperparameters):
        return CellGrid(hyperparameters)
    return GridSpace(hyperparameters)
