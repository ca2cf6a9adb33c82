"""Networks scored by a formula."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from nasbench.benchmarks import BenchmarkSpec, abilities, open_benchmark
from nasbench.benchmarks.spaces import Configuration
from nasbench.benchmarks.spaces.graphs.networks import network


def chain(units: list[int], labels: list[str]) -> Any:
    layers = ["ip", *labels, "fc", "softmax", "op"]
    edges = [(i, i + 1) for i in range(len(layers) - 1)]
    strides = [None, *[1] * len(labels), None, None, None]
    return network("cnn", layers, [None, *units, 64, None, None], edges, strides)


def test_the_formula_by_hand() -> None:
    """Three layers of 16, 16 and 32 filters, two of them residual, and 64 units behind: paths of six edges."""
    benchmark = BenchmarkSpec.parse("synthetic-cnn").open()
    graph = chain([16, 16, 32], ["conv3", "res3", "res5"])
    weights = 16 + 16 * 16 + 16 * 32 + 32 * 64
    terms = [
        1 - math.exp(-(((6 - 20) / 5) ** 2) / 2),
        1 - math.exp(-(((math.log2(weights) - 20) / 2) ** 2) / 2),
        1 - math.exp(-(((0 - 6) / 3) ** 2) / 2),
        1 - math.exp(-(((2 / 4 - 0.7) / 0.25) ** 2) / 2),
        1 - math.exp(-(((2 - 2) / 1.5) ** 2) / 2),
    ]
    evaluation = benchmark.evaluate(graph, 0)
    assert evaluation.metrics == pytest.approx({"error": sum(terms) / 5, "weights": weights})
    assert abilities.known(benchmark, "weights", graph) == weights


@pytest.mark.parametrize("name", ["synthetic-cnn", "synthetic-mlp"])
def test_every_network_has_a_score(name: str) -> None:
    benchmark = BenchmarkSpec.parse(name).open()
    rng = np.random.default_rng(0)
    scores = [benchmark.evaluate(benchmark.space.sample(rng), 0).metrics["error"] for _ in range(300)]
    assert min(scores) >= 0
    assert max(scores) <= 1
    assert len(set(scores)) > 100


def test_a_perceptron_of_nothing_but_decisions_has_one_too() -> None:
    labels = ["ip", "linear", "linear", "linear", "op"]
    edges = [(0, k) for k in (1, 2, 3)] + [(k, 4) for k in (1, 2, 3)]
    graph = network("mlp-reg", labels, [None] * 5, edges, [None] * 5)
    assert 0 < BenchmarkSpec.parse("synthetic-mlp").open().evaluate(graph, 0).metrics["error"] < 1


@pytest.mark.parametrize(
    ("configuration", "value"),
    [
        ((0, 0, None, 0.5, None, None, None, 0.25, None), 0.25 + 0.1 + 0.25),
        ((0, 1, None, None, -0.5, None, None, 0.0, None), 0.25 + 0.2),
        ((1, None, 0, None, None, 0.0, None, None, 0.5), 0.3 + 0.5),
        ((1, None, 1, None, None, None, 1.0, None, 1.0), 1.0 + 0.4 + 1.0),
        ((0, 0, None, 0.0, None, None, None, 0.0, None), 0.1),  # the minimum
    ],
)
def test_the_tree_function_by_hand(configuration: Configuration, value: float) -> None:
    benchmark = open_benchmark("synthetic-tree")
    benchmark.space.check(configuration)
    assert benchmark.evaluate(configuration, 0).metrics["value"] == pytest.approx(value, abs=1e-15)
