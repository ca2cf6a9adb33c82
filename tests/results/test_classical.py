"""The baseline over the budget as papers compare it: wins, signed ranks, practical equivalence."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from nasbench.results.curves import Curves
from nasbench.results.statistics import classical
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.estimates import holm
from tests.results.conftest import SETTING, Fill, load_all, make_run, make_setup


def test_wins_losses_and_ties_are_the_baselines(curves: Curves) -> None:
    table = classical.compare(Comparison(curves, 0, (1.0, 3.0)))
    assert table[["method", "point", "pairs", "wins", "losses", "ties"]].values.tolist() == [
        [1, 1, 2, 0, 1, 1],  # 100 against 8 lost; 2 against 2 tied
        [1, 3, 2, 1, 0, 1],  # 3 against 7 won; rounding noise of 1e-12 tied
    ]


@pytest.mark.parametrize(
    ("differences", "rope", "posterior"),
    [
        ([0.3, -1.2, 2.5, 0.05, 1.7, -0.4], 0.1, (0.774, 0.017, 0.208)),
        ([1.1, 0.9, 1.4, 2.2, 0.7, 1.3, 1.8, 0.2], 1.0, (0.744, 0.256, 0.0)),
        ([-0.6, -0.2, 0.1, -0.9, 0.3, -1.5, -0.7], 0.5, (0.0, 0.59, 0.41)),
        ([0.02, -0.01, 0.04, 0.3, -0.2], 0.1, (0.156, 0.814, 0.031)),
        ([2.0], 0.5, (0.841, 0.159, 0.0)),
        ([0.0, 0.0, 1.0, -1.0], 0.5, (0.067, 0.866, 0.067)),
        ([-2.4, 1.9, -0.8, -1.1, 0.6, -2.2, -0.3, -1.7, 0.9, -2.9, -1.4, 0.2], 0.1, (0.031, 0.0, 0.969)),
    ],
)
def test_the_bayesian_signed_rank_test_is_baycomps(
    differences: list[float], rope: float, posterior: tuple[float, float, float]
) -> None:
    """The numbers are those of baycomp 1.0.3 with 200,000 samples, which has no wheel and is thus not installed."""
    assert classical.bayesian_signed_rank(np.array(differences), rope) == pytest.approx(posterior, abs=0.01)


def test_clear_differences_are_clear_to_bayes_and_small_ones_equivalent() -> None:
    assert classical.bayesian_signed_rank(np.full(20, 5.0), 1.0).better > 0.99
    assert classical.bayesian_signed_rank(np.full(20, -5.0), 1.0).worse > 0.99
    assert classical.bayesian_signed_rank(np.full(20, 0.01), 1.0).equivalent > 0.99
    assert sum(classical.bayesian_signed_rank(np.array([3.0, -2.0, 0.5]), 1.0)) == pytest.approx(1.0)
    assert np.isnan(classical.bayesian_signed_rank(np.array([]), 1.0)).all()


def test_benchmarks_count_once_where_it_says_so(filled: Fill) -> None:
    """Five benchmarks, one under five constraints: nine settings won, but five benchmarks only."""
    contents = {}
    for bench in "pqrst":
        for constraint in ("none", "size@0.1", "size@0.2", "size@0.3", "size@0.4")[: 5 if bench == "p" else 1]:
            for method, value in (("a", 2.0), ("b", 4.0)):
                contents[make_setup(method, bench=bench, constraint=constraint)] = [make_run(0, [value])]
    (row,) = classical.compare(Comparison(load_all(filled(contents)), 0, (1.0,))).to_dict("records")
    assert (row["pairs"], row["benches"], row["wins"]) == (9, 5, 9)
    assert row["p_benches"] == pytest.approx(stats.wilcoxon(np.full(5, 0.5)).pvalue)
    assert row["p"] == row["floor"] == pytest.approx(stats.wilcoxon(np.full(9, 0.5)).pvalue)
    assert row["noisy"] == 9
    assert row["better"] > 0.9  # 2 units apart: four times the repetition noise


@pytest.mark.parametrize(("count", "known"), [(4, False), (5, True)])
def test_practical_equivalence_is_in_units_of_the_noise_and_said_at_the_end(
    count: int, known: bool, filled: Fill
) -> None:
    noisy = replace(SETTING, noise=4.0)
    runs = {
        make_setup(method, bench=f"b{i}", setting=noisy): [make_run(0, [value] * 3)]
        for method, value in (("a", 2.0), ("b", 4.0))
        for i in range(count)
    }
    before, last = classical.compare(Comparison(load_all(filled(runs)), 0, (1.0, 3.0))).to_dict("records")
    assert math.isnan(before["equivalent"])
    assert (last["equivalent"] > 0.9) == known


def test_p_are_corrected_over_the_other_methods_and_one_sided_where_they_say_so(filled: Fill) -> None:
    ends = {"a": [1.0] * 6, "b": [1.1, 1.2, 1.3, 1.4, 1.5, 0.9], "c": [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]}
    runs = {
        make_setup(method, bench=f"b{i}"): [make_run(0, [value])]
        for method, own in ends.items()
        for i, value in enumerate(own)
    }
    table = classical.compare(Comparison(load_all(filled(runs)), 0, (1.0,)))
    for (_, row), own in zip(table.iterrows(), (ends["b"], ends["c"]), strict=True):
        relative = (np.array(own) - 1) / np.maximum(own, 1)
        assert row["p_greater"] == pytest.approx(stats.wilcoxon(relative, alternative="greater").pvalue)
    for p in ("p", "p_greater", "p_benches"):
        assert table[f"{p}_holm"].tolist() == pytest.approx(holm(table[p].to_numpy()))


@pytest.mark.parametrize(("found_by_a", "noisy"), [(False, 5), (True, 6)])
def test_settings_where_neither_found_anything_give_no_posterior(found_by_a: bool, noisy: int, filled: Fill) -> None:
    runs = {
        make_setup(method, bench=f"b{i}"): [make_run(0, [value], [i > 0 or (method == "a" and found_by_a)])]
        for method, value in (("a", 2.0), ("b", 4.0))
        for i in range(6)
    }
    (row,) = classical.compare(Comparison(load_all(filled(runs)), 0, (1.0,))).to_dict("records")
    assert (row["pairs"], row["noisy"]) == (6, noisy)


def with_noise(filled: Fill, noise: float, other: float) -> dict[str, Any]:
    """The comparison of a method that ends with 2 with one that ends with another value, on eight benchmarks."""
    runs = {
        make_setup(method, bench=f"b{i}", setting=replace(SETTING, noise=noise)): [make_run(0, [value])]
        for method, value in (("a", 2.0), ("b", other))
        for i in range(8)
    }
    row: dict[str, Any]
    (row,) = classical.compare(Comparison(load_all(filled(runs)), 0, (1.0,))).to_dict("records")
    return row


def test_settings_without_repetition_noise_give_no_posterior(filled: Fill) -> None:
    row = with_noise(filled, 0.0, other=4.0)
    assert (row["pairs"], row["noisy"]) == (8, 0)
    assert math.isnan(row["better"])


def test_more_than_one_standard_deviation_of_the_noise_is_no_practical_equivalence(filled: Fill) -> None:
    assert with_noise(filled, 4.0, other=8.0)["better"] > 0.9
