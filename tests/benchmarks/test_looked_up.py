"""The expectation over what a search has learnt, held against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from examples.looked_up import EDGES, Truth, final_probabilities
from nasbench.benchmarks import open_benchmark
from nasbench.benchmarks.images import LookUp
from nasbench.benchmarks.spaces.cells import Stage, dead_stages


@pytest.fixture(scope="module")
def truth() -> Truth:
    return Truth("digits", "nb201-cifar10")


def test_the_expectation_is_over_cells_with_a_path(truth: Truth) -> None:
    look_up = open_benchmark("supernet:digits:nb201-cifar10")
    assert isinstance(look_up, LookUp)
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(5), size=6)
    probabilities[:, [1, 4]] = 0  # three operations: 729 cells
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    total = weight = 0.0
    for cell in itertools.product((0, 2, 3), repeat=6):
        operations = tuple(truth.operations[choice] for choice in cell)
        if dead_stages([Stage(operations, 1)] * 3):
            continue
        p = float(np.prod([probabilities[edge, choice] for edge, choice in enumerate(cell)]))
        configuration = look_up.space.from_values({f"Op{i}": name for i, name in enumerate(operations)})
        total += p * look_up.mean_metrics(configuration)["percentile"]
        weight += p
    assert truth.expected(probabilities) == pytest.approx(total / weight)


def test_probabilities_are_those_of_the_last_epoch_in_the_order_of_edges() -> None:
    rows = [
        ("m", seed, epoch, "operation", stage, edge, choice, 10.0 * i + k + 100 * (epoch == 1))
        for seed in (0, 1)
        for epoch in (1, 2)
        for stage in (1, 2)
        for i, edge in enumerate(EDGES)
        for k, choice in enumerate("ba")
    ]
    log = pd.DataFrame(rows, columns=["method", "seed", "epoch", "quantity", "stage", "edge", "choice", "value"])
    found = final_probabilities(log, ("a", "b"))
    assert set(found) == {("m", 0), ("m", 1)}
    assert found["m", 1].tolist() == [[10.0 * i + 1, 10.0 * i] for i in range(6)]
