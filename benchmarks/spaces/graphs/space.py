"""The space of all networks within bounds, explored by modifiers instead of a list of hyper-parameters."""

from __future__ import annotations

import json
from collections.abc import Sequence

from numpy.random import Generator

from nasbench.base.errors import UsageError
from nasbench.benchmarks.spaces.base import Configuration, ForeignConfiguration, Space, Values
from nasbench.benchmarks.spaces.graphs.bounds import NetworkLimits
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.modifiers import MODIFIERS, modified
from nasbench.benchmarks.spaces.graphs.networks import LABELS, check, network

_STEPS = 8


class NetworkSpace(Space):
    """Any valid graph of layers of one kind, within bounds; a configuration is a `LayerGraph`.

    Args:
        kind: cnn, mlp-reg or mlp-class.
        pool: the networks from which samples are made.

    Raises UsageError if a network of the pool lies outside the bounds.
    """

    def __init__(self, kind: str, bounds: NetworkLimits, pool: Sequence[LayerGraph]) -> None:
        self.kind, self.bounds, self.pool = kind, bounds, tuple(pool)
        for graph in pool:
            bounds.check(graph)

    def sample(self, rng: Generator) -> LayerGraph:
        """A random network of the pool after up to eight random modifications; no uniform distribution exists."""
        network = self.pool[int(rng.integers(len(self.pool)))]
        for _ in range(int(rng.integers(_STEPS + 1))):
            network = self.mutate(network, rng)
        return network

    def mutate(self, configuration: Configuration, rng: Generator) -> LayerGraph:
        """A network one modification of table 2 away."""
        return self.modified(configuration, rng)[0]

    def modified(self, configuration: Configuration, rng: Generator) -> tuple[LayerGraph, str]:
        """A network one modification away, and the modifier's name."""
        return modified(configuration, self.bounds, rng)

    def check(self, configuration: Configuration) -> None:
        if not isinstance(configuration, LayerGraph) or configuration.kind != self.kind:
            raise ForeignConfiguration(f"a configuration here is a graph of layers of a {self.kind}")
        try:
            check(configuration)
            self.bounds.check(configuration)
        except UsageError as error:
            raise ForeignConfiguration(str(error)) from None

    def values(self, configuration: Configuration) -> Values:
        graph: LayerGraph = configuration
        return {
            "nn_class": graph.kind,
            "labels": list(graph.labels),
            "units": list(graph.units),
            "edges": [list(edge) for edge in sorted(graph.edges)],
            "strides": list(graph.strides),
        }

    def from_values(self, values: Values) -> LayerGraph:
        for name in ("nn_class", "labels", "units", "edges", "strides"):
            if name not in values:
                raise UsageError(f"{name} is missing: a network has nn_class, labels, units, edges and strides")
        edges = [(int(a), int(b)) for a, b in values["edges"]]
        graph = network(values["nn_class"], values["labels"], values["units"], edges, values["strides"])
        try:
            self.check(graph)
        except ForeignConfiguration as error:
            raise UsageError(str(error)) from None
        return graph

    def to_json(self, configuration: Configuration) -> str:
        return json.dumps(self.values(configuration), separators=(",", ":"))

    def describe(self) -> list[tuple[str, str, str]]:
        bounds = [(name, "bounds", f"{low:g} to {high:g}") for name, (low, high) in vars(self.bounds).items()]
        return [
            ("layers", "any graph of", ", ".join(LABELS[self.kind])),
            *bounds,
            ("modifiers", "a step", ", ".join(MODIFIERS)),
        ]

    def as_graph(self, configuration: Configuration) -> LayerGraph:
        """The configuration itself."""
        graph: LayerGraph = configuration
        return graph

    def as_tokens(self, configuration: Configuration) -> list[str]:
        """Words for layers, for layers with their units and strides, and for connected pairs of layers."""
        graph: LayerGraph = configuration
        sized = [f"{layer}:{units}" for layer, units in zip(graph.labels, graph.units, strict=True) if units]
        strided = [f"{layer}/{stride}" for layer, stride in zip(graph.labels, graph.strides, strict=True) if stride]
        pairs = [f"{graph.labels[a]}>{graph.labels[b]}" for a, b in sorted(graph.edges)]
        return [*graph.labels, *sized, *strided, *pairs]
