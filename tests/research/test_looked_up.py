"""The expectation over what a search has learnt, held against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nasbench.base.numbers import p_value
from nasbench.benchmarks import open_benchmark
from nasbench.benchmarks.images import LookUp
from nasbench.benchmarks.spaces.cells import Stage, dead_stages
from research.looked_up import EDGES, Truth, beside, final_probabilities, mean_of


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


def test_a_search_that_is_certain_of_a_cell_is_judged_by_that_cell(truth: Truth) -> None:
    look_up = open_benchmark("supernet:digits:nb201-cifar10")
    assert isinstance(look_up, LookUp)
    choices = (3, 0, 2, 1, 3, 3)
    certain = np.zeros((6, 5))
    certain[np.arange(6), choices] = 1
    cell = look_up.space.from_values({f"Op{i}": truth.operations[k] for i, k in enumerate(choices)})
    percentile = look_up.mean_metrics(cell)["percentile"]
    assert truth.most_likely(certain) == truth.expected(certain) == percentile
    assert truth.most_likely(0.9 * certain + 0.02) == percentile


def test_the_correlation_is_positive_where_better_cells_are_more_probable(truth: Truth) -> None:
    look_up = open_benchmark("supernet:digits:nb201-cifar10")
    assert isinstance(look_up, LookUp)
    preferred = np.full((6, 5), 0.1)
    preferred[:, truth.operations.index("nor_conv_3x3")] = 0.6
    probabilities, percentiles = [], []
    for cell in itertools.product(range(5), repeat=6):
        operations = tuple(truth.operations[choice] for choice in cell)
        if not dead_stages([Stage(operations, 1)] * 3):
            probabilities.append(math.prod(preferred[edge, choice] for edge, choice in enumerate(cell)).round(9))
            configuration = look_up.space.from_values({f"Op{i}": name for i, name in enumerate(operations)})
            percentiles.append(look_up.mean_metrics(configuration)["percentile"])
    expected = -stats.spearmanr(probabilities, percentiles).statistic
    assert expected > 0.5
    assert truth.correlation(preferred) == pytest.approx(expected)


def test_searches_are_held_against_what_they_must_beat() -> None:
    rng = np.random.default_rng(1)
    methods = ["a:x=1", "a:estimate=noise,x=1", "b", "one-shot-random", "proxy:score=params"]
    scores = pd.DataFrame(rng.normal(50, 2, (5, 8)), index=methods)
    scores.loc["a:x=1"] -= 10
    scores.loc["b", 7] = np.nan
    table = beside(scores, 50).set_index("against", append=True)
    rivals = ["uniform", "b", "one-shot-random", "proxy:score=params", "a:estimate=noise,x=1"]
    assert list(table.loc["a:x=1"].index) == rivals
    assert list(table.loc["b"].index) == ["uniform", "one-shot-random", "proxy:score=params"]
    a, b = scores.loc["a:x=1"], scores.loc["b"]
    assert table.loc[("a:x=1", "b"), "seeds"] == 7
    test = stats.ttest_rel(a[:7], b[:7])
    low, high = test.confidence_interval()
    assert table.loc[("a:x=1", "b"), "difference"] == f"{(a - b).mean():.2f} ({low:.2f} to {high:.2f})"
    ps = [stats.ttest_rel(a, scores.loc[other]).pvalue for other in rivals[2:]]
    ps += [stats.ttest_1samp(a, 50).pvalue, test.pvalue, stats.ttest_1samp(b[:7], 50).pvalue]
    ps += [stats.ttest_rel(b[:7], scores.loc[other][:7]).pvalue for other in methods[3:]]
    own = stats.ttest_rel(a[:7], b[:7]).pvalue
    assert table.loc[("a:x=1", "b"), "p"] == p_value(_holm(ps, own))


def test_the_detectable_shift_is_found_four_times_in_five() -> None:
    rng = np.random.default_rng(0)
    scores = pd.DataFrame(rng.normal(50, 2, (1, 10)), index=["a"])
    shift = float(beside(scores, 50).loc["a", "detectable"])
    samples = rng.normal(shift, scores.loc["a"].std(), (4000, 10))
    assert (stats.ttest_1samp(samples, 0, axis=1).pvalue < 0.05).mean() == pytest.approx(0.8, abs=0.025)


def _holm(ps: list[float], own: float) -> float:
    """Holm's p of one of several hypotheses, by his definition."""
    ranked = sorted(ps)
    return max(min(1.0, (len(ps) - i) * p) for i, p in enumerate(ranked) if p <= own)


def test_a_seed_that_was_searched_on_two_processors_scores_the_mean_of_both() -> None:
    one = pd.Series({("a", 0): 1.0, ("a", 1): 3.0, ("b", 0): 7.0})
    other = pd.Series({("b", 0): 9.0, ("a", 0): 2.0})
    assert mean_of([one, other]).to_dict() == {("a", 0): 1.5, ("b", 0): 8.0}
    assert mean_of([one]).to_dict() == one.to_dict()
