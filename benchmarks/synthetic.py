"""Networks of any shape, scored by a formula, so that searches over graphs can be compared in seconds (NASBOT)."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from nasbench.base.metrics import Metric
from nasbench.benchmarks.contract import BENCHMARKS, Benchmark, Evaluation
from nasbench.benchmarks.fidelity import Level
from nasbench.benchmarks.spaces import Configuration
from nasbench.benchmarks.spaces.graphs.bounds import NetworkLimits
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.networks import RECTIFIERS
from nasbench.benchmarks.spaces.graphs.pool import convolutional, perceptrons
from nasbench.benchmarks.spaces.graphs.space import NetworkSpace

_SECONDS = 1.0


class SyntheticBenchmark(Benchmark):
    """A noiseless error: the mean of 1 - exp(-((x - best) / scale)² / 2) over properties x of a network; 0 at best.

    The properties are the longest path, the logarithm of the number of weights, the number of edges beyond those of a
    chain, the share of one kind of layers, and the growth in width from the first to the last layer.
    """

    family = "synthetic"
    source, licence = "a formula of ours", "MIT"
    metrics = (
        Metric("error", "", description="mean of five penalties of a network's shape"),
        Metric("weights", "", description="incoming channels times units, summed over all layers", cheap=True),
    )
    checksum = "formula:1"

    def __init__(self, name: str, space: NetworkSpace, is_counted: Callable[[str], bool]) -> None:
        self.name, self.search_space = name, name
        self.space, self._is_counted = space, is_counted

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        terms = [
            1 - math.exp(-(((x - best) / scale) ** 2) / 2)
            for x, best, scale in properties(configuration, self._is_counted)
        ]
        metrics = {"error": sum(terms) / len(terms), "weights": float(configuration.weights)}
        return Evaluation(metrics, _SECONDS)

    def known(self, metric: str, configuration: Configuration) -> float:
        return float(configuration.weights)


def properties(graph: LayerGraph, is_counted: Callable[[str], bool]) -> list[tuple[float, float, float]]:
    """The measured properties of a network: for each its value, its best value, and its scale."""
    longest = [0] * len(graph.labels)
    for v, parents in enumerate(graph.parents):
        longest[v] = max((longest[p] + 1 for p in parents), default=0)
    with_units = [(label, count) for label, count in zip(graph.labels, graph.units, strict=True) if count is not None]
    layers = with_units or [("", 1)]  # a perceptron may have its last layer only
    return [
        (longest[-1], 20.0, 5.0),
        (math.log2(max(graph.weights, 1)), 20.0, 2.0),
        (len(graph.edges) - len(graph.labels) + 1, 6.0, 3.0),
        (sum(is_counted(label) for label, _ in layers) / len(layers), 0.7, 0.25),
        (math.log2(layers[-1][1] / layers[0][1]), 2.0, 1.5),
    ]


def convolutional_networks() -> Benchmark:
    """`synthetic-cnn`: convolutional networks; residual layers count."""
    space = NetworkSpace("cnn", NetworkLimits(), convolutional(16, 2))
    return SyntheticBenchmark("synthetic-cnn", space, lambda label: label.startswith("res"))


def multilayer_perceptrons() -> Benchmark:
    """`synthetic-mlp`: perceptrons; rectifiers count."""
    space = NetworkSpace("mlp-reg", NetworkLimits(), perceptrons("linear", 32))
    return SyntheticBenchmark("synthetic-mlp", space, lambda label: label in RECTIFIERS)


BENCHMARKS.add("synthetic-cnn", convolutional_networks)
BENCHMARKS.add("synthetic-mlp", multilayer_perceptrons)
