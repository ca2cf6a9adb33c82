"""Feed-forward chains of a free space as a list of hyper-parameters, for TreeBO.

NASBOT's authors compared with TreeBO on such chains; their encoding is not published, so this is a reconstruction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nasbench.benchmarks.spaces.flat import Condition, Coordinate
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.networks import (
    CONVOLUTIONS,
    DECISIONS,
    POOLS,
    RECTIFIERS,
    SIGMOIDS,
    image_sizes,
    network,
)
from nasbench.benchmarks.spaces.graphs.space import NetworkSpace
from nasbench.benchmarks.spaces.hyperparameters import Categorical, Float, Hyperparameter, Integer, Ordinal
from nasbench.benchmarks.spaces.parameters import ParameterSpace

_DEEPEST = 8  # hidden layers of a perceptron
_LAYERS = (1, 2, 3, 4)  # of a block of convolutions
_STRIDE = "stride"


class Chains:
    """The chains of a free space: a flat view whose configurations are networks.

    Perceptrons: the number of hidden layers (2 to 8, within the bounds) decides which layers there are; each has units
    and an activation. Convolutional networks: the number of blocks decides. A block has one to four layers of one kind
    and width; every block except the first halves its image by pooling or by its first stride. One fully connected
    layer follows.
    """

    def __init__(self, space: NetworkSpace) -> None:
        self._kind = space.kind
        low, high = space.bounds.units
        self._units = max(low, 1), high
        hyperparameters, conditions = self._blocks(space) if space.kind == "cnn" else self._hidden(space)
        flat = ParameterSpace(hyperparameters, conditions)
        self.hyperparameters: tuple[Hyperparameter, ...] = flat.hyperparameters
        self.conditions: tuple[Condition | None, ...] = flat.conditions
        self._names = [h.name for h in hyperparameters]
        self._made: dict[LayerGraph, tuple[Coordinate, ...]] = {}

    def coordinates(self, configuration: LayerGraph) -> Sequence[Coordinate]:
        """The coordinates from which `at` made a network."""
        return self._made[configuration]

    def at(self, coordinates: Sequence[Coordinate]) -> LayerGraph:
        """The chain at these coordinates; it may violate a bound of the space."""
        pairs = zip(self.hyperparameters, coordinates, strict=True)
        values: dict[str, Any] = {}
        for h, x in pairs:
            if x is not None:
                values[h.name] = x if isinstance(h, Float | Integer) else h.values[int(x)]
        layers = self._convolutions(values) if self._kind == "cnn" else self._activations(values)
        layers = [("ip", None, None), *layers, (DECISIONS[self._kind], None, None), ("op", None, None)]
        labels, units, strides = zip(*layers, strict=True)
        edges = [(i, i + 1) for i in range(len(labels) - 1)]
        graph = network(self._kind, labels, units, edges, strides)
        self._made[graph] = tuple(coordinates)
        return graph

    def _width(self, name: str) -> Integer:
        return Integer(name, *self._units, log=True)

    def _hidden(self, space: NetworkSpace) -> tuple[list[Hyperparameter], dict[str, tuple[str, Sequence[object]]]]:
        least, most = (bound - 3 for bound in space.bounds.layers)  # without ip, the decision and op
        depths = tuple(range(max(least, 1), max(min(most, _DEEPEST), least, 1) + 1))
        hyperparameters: list[Hyperparameter] = [Ordinal("layers", depths)]
        conditions: dict[str, tuple[str, Sequence[object]]] = {}
        for i in range(1, depths[-1] + 1):
            hyperparameters += [self._width(f"units{i}"), Categorical(f"activation{i}", (*RECTIFIERS, *SIGMOIDS))]
            if i > depths[0]:
                for h in hyperparameters[-2:]:
                    conditions[h.name] = "layers", [depth for depth in depths if depth >= i]
        return hyperparameters, conditions

    def _blocks(self, space: NetworkSpace) -> tuple[list[Hyperparameter], dict[str, tuple[str, Sequence[object]]]]:
        halvings = max(int(math.log2(max(size or 1 for size in image_sizes(graph)))) for graph in space.pool)
        counts = tuple(range(1, halvings + 2))
        hyperparameters: list[Hyperparameter] = [Ordinal("blocks", counts), self._width("fc")]
        conditions: dict[str, tuple[str, Sequence[object]]] = {}
        for b in counts:
            block: list[Hyperparameter] = [
                Ordinal(f"layers{b}", _LAYERS),
                Categorical(f"kind{b}", CONVOLUTIONS),
                self._width(f"units{b}"),
            ]
            if b > 1:
                block.append(Categorical(f"halving{b}", (*POOLS, _STRIDE)))
                for h in block:
                    conditions[h.name] = "blocks", [count for count in counts if count >= b]
            hyperparameters += block
        return hyperparameters, conditions

    def _activations(self, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        return [(values[f"activation{i}"], values[f"units{i}"], None) for i in range(1, int(values["layers"]) + 1)]

    def _convolutions(self, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        layers: list[tuple[Any, ...]] = []
        for b in range(1, int(values["blocks"]) + 1):
            halving = values.get(f"halving{b}")
            if halving in POOLS:
                layers.append((halving, None, None))
            for layer in range(int(values[f"layers{b}"])):
                layers.append((values[f"kind{b}"], values[f"units{b}"], 2 if halving == _STRIDE and not layer else 1))
        return [*layers, ("fc", values["fc"], None)]
