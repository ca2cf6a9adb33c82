"""Grids whose configurations are networks, or contain one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from nasbench.base.errors import UsageError, unknown
from nasbench.benchmarks.spaces.base import Configuration, Values
from nasbench.benchmarks.spaces.cells.graph import cell_graph
from nasbench.benchmarks.spaces.cells.operations import EDGES, named
from nasbench.benchmarks.spaces.cells.stages import MINIATURE
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.networks import DECISIONS
from nasbench.benchmarks.spaces.grid import GridSpace
from nasbench.benchmarks.spaces.hyperparameters import Choice
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.benchmarks.spaces.listed import ListedSpace
from nasbench.benchmarks.spaces.published.cells import DEPTHS, SIZED, miniature


class CellGrid(GridSpace):
    """The cells of NAS-Bench-201: an operation on each of six edges, in the order of `cells.operations.EDGES`.

    Raises UsageError if there are not six hyper-parameters, or a value is not the name of a cell operation.
    """

    table_kind = "nasbench201"

    def __init__(self, hyperparameters: Sequence[Choice]) -> None:
        super().__init__(hyperparameters)
        if len(hyperparameters) != len(EDGES):
            raise UsageError(f"a cell has {len(EDGES)} edges, so its grid needs {len(EDGES)} hyper-parameters")
        for value in (value for h in hyperparameters for value in h.values):
            named(str(value))

    def key(self, configuration: Configuration) -> str:
        """The string of a cell in the benchmark's files: `|op~0|+|op~0|op~1|+|op~0|op~1|op~2|`."""
        names = [
            f"{value}~{source}" for value, (source, _) in zip(self.values(configuration).values(), EDGES, strict=True)
        ]
        return "|" + "|+|".join("|".join(names[k : k + n]) for k, n in ((0, 1), (1, 2), (3, 3))) + "|"

    def as_graph(self, configuration: Configuration) -> LayerGraph:
        """The cell as a graph of layers."""
        return cell_graph([str(value) for value in self.values(configuration).values()])


class MiniatureGrid(GridSpace):
    """The networks of `cells-mini`: seven operations on each of three edges of a cell, and a number of cells.

    Raises UsageError for other hyper-parameters.
    """

    table_kind = "cells-mini"

    def __init__(self, hyperparameters: Sequence[Choice]) -> None:
        super().__init__(hyperparameters)
        wanted = {**{f"op{k}": set(SIZED) for k in range(len(MINIATURE))}, "depth": set(DEPTHS)}
        if {h.name: set(h.values) for h in hyperparameters} != wanted:
            raise UsageError(f"a table of cells-mini has {', '.join(wanted)}, with all of their values")

    def as_graph(self, configuration: Configuration) -> LayerGraph:
        """The network as a graph of layers."""
        return self._program.as_graph(self._program.from_values(dict(self.values(configuration))))

    @cached_property
    def _program(self) -> Program:
        return Program(lambda: miniature(filters=4))


class PerceptronGrid(GridSpace):
    """Perceptrons and their training settings: the layers are a chain, the settings are scalars beside it."""

    kind: str
    """Kind of the networks: mlp-reg (regression) or mlp-class (classification)."""
    architecture: tuple[str, ...]
    """Names of the hyper-parameters that the graph represents."""

    @abstractmethod
    def layers(self, values: Values) -> Sequence[tuple[str, int]]:
        """Activation and number of units of each hidden layer."""

    def as_graph(self, configuration: Configuration) -> LayerGraph:
        """The layers as a chain."""
        hidden = self.layers(self.values(configuration))
        labels = ("ip", *(label for label, _ in hidden), DECISIONS[self.kind], "op")
        units = (None, *(count for _, count in hidden), None, None)
        return LayerGraph(labels, units, frozenset(pairwise(range(len(labels)))), kind=self.kind)

    def as_scalars(self, configuration: Configuration) -> tuple[float, ...]:
        """All hyper-parameters that the graph does not represent: the indices of their values, scaled to [0, 1]."""
        choices = zip(self.hyperparameters, configuration, self.sizes, strict=True)
        return tuple(choice / max(size - 1, 1) for h, choice, size in choices if h.name not in self.architecture)

    def shows_all(self) -> bool:
        """Whether the graph represents all hyper-parameters: it does not."""
        return False


class TwoLayerGrid(PerceptronGrid):
    """The grid of HPOlib: two layers of any activation and width, for regression."""

    kind = "mlp-reg"
    architecture = ("activation_fn_1", "activation_fn_2", "n_units_1", "n_units_2")

    def layers(self, values: Values) -> Sequence[tuple[str, int]]:
        return [(values[f"activation_fn_{k}"], values[f"n_units_{k}"]) for k in (1, 2)]


class EvenGrid(PerceptronGrid):
    """The grid of HPOBench: one to three ReLU layers of one width, for classification."""

    kind = "mlp-class"
    architecture = ("depth", "width")

    def layers(self, values: Values) -> Sequence[tuple[str, int]]:
        return [("relu", values["width"])] * int(values["depth"])


GRIDS: dict[str, type[GridSpace]] = {
    "": GridSpace,
    CellGrid.table_kind: CellGrid,
    MiniatureGrid.table_kind: MiniatureGrid,
}
"""The kinds of grid that a table's specification may name (`space = "nasbench201"`); the empty name is a plain grid."""


def grid(kind: str, hyperparameters: Sequence[Choice]) -> GridSpace:
    """The grid of given hyper-parameters with the views of its kind.

    Raises UsageError for an unknown kind, or hyper-parameters that do not fit it.
    """
    if kind not in GRIDS:
        raise unknown("space of a table", kind, [*filter(None, GRIDS), ListedSpace.table_kind])
    return GRIDS[kind](hyperparameters)
