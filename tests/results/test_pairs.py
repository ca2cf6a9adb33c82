"""Statistics of two methods: wins, signed ranks, corrections, families, and practical equivalence."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from nasbench.results import Store
from nasbench.results.curves import Curves
from nasbench.results.report import tables
from nasbench.results.statistics import pairs
from tests.results.conftest import SETTING, load_all, make_cell, make_run

Fill = Callable[..., Store]
NAN = math.nan


def test_wins_losses_and_ties_are_the_baselines(curves: Curves) -> None:
    table = pairs.compare(curves, baseline=0, checkpoints=(1, 3))
    assert table[["method", "evaluations", "pairs", "wins", "losses", "ties"]].values.tolist() == [
        [1, 1, 2, 0, 1, 1],  # 100 against 8 lost; 2 against 2 tied
        [1, 3, 2, 1, 0, 1],  # 3 against 7 won; rounding noise of 1e-12 tied
    ]


@given(arrays(float, 8, elements=st.integers(-6, 6)))
def test_the_signed_rank_test_is_scipys_with_zeros_dropped(differences: np.ndarray) -> None:
    p, floor = pairs.signed_rank(differences)
    kept = differences[differences != 0]
    if len(kept) == 0:
        assert (p, floor) == (1.0, 1.0)
    else:
        assert p == pytest.approx(stats.wilcoxon(kept).pvalue)
        assert p >= floor or p == pytest.approx(floor)


def test_zeros_do_not_change_the_test() -> None:
    differences = np.arange(1.0, 9.0)
    assert pairs.signed_rank(np.append(differences, np.zeros(6))) == pairs.signed_rank(differences)
    p, floor = pairs.signed_rank(np.append(np.arange(1.0, 6.0), np.zeros(9)))
    assert p == floor == pytest.approx(0.0625)


def test_the_floor_is_the_p_of_a_clean_sweep() -> None:
    for n in range(1, 30):
        assert pairs.signed_rank(np.arange(1.0, n + 1))[1] == pytest.approx(
            stats.wilcoxon(np.arange(1.0, n + 1)).pvalue
        )
    assert pairs.signed_rank(np.arange(1.0, 6.0))[0] > 0.05  # five pairs can never reach 0.05


def test_wilcoxons_example() -> None:
    """Darwin's maize, a textbook example: the rank sum is 24, the exact two-sided p 0.0413."""
    darwin = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48.0])
    assert pairs.signed_rank(darwin)[0] == pytest.approx(0.0413, abs=5e-4)


def test_holms_correction_on_a_worked_example() -> None:
    """0.01, 0.04, 0.03, 0.005 → 0.03, 0.06, 0.06, 0.02: multiply by 4, 3, 2, 1 in ascending order, keep the maximum."""
    assert pairs.holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert len(pairs.holm(np.array([]))) == 0


@given(arrays(float, st.integers(1, 8), elements=st.floats(0, 1)))
@settings(max_examples=15, deadline=None)  # statsmodels collects garbage at each call
def test_holms_correction_is_that_of_statsmodels(p_values: np.ndarray) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    assert pairs.holm(p_values) == pytest.approx(multitest.multipletests(p_values, method="holm")[1])


def test_relative_differences_do_not_depend_on_the_unit() -> None:
    values, baseline = np.array([3.0, 2.0, 0.0, 1.0]), np.array([2.0, 3.0, 0.0, 1.0 + 1e-12])
    found = pairs.relative_differences(values, baseline)
    assert found.tolist() == pytest.approx([1 / 3, -1 / 3, 0.0, 0.0])
    assert np.allclose(found, pairs.relative_differences(1e6 * values, 1e6 * baseline))


@given(arrays(float, st.integers(1, 12), elements=st.floats(-3, 3)), st.sampled_from([0.1, 0.5, 1.0]))
@settings(max_examples=15, deadline=None)
def test_the_bayesian_signed_rank_test_is_baycomps(differences: np.ndarray, rope: float) -> None:
    baycomp = pytest.importorskip("baycomp")
    test = baycomp.SignedRankTest(np.zeros(len(differences)), differences, rope, nsamples=4000, random_state=1)
    left, within, right = test.probs()
    assert pairs.bayesian_signed_rank(differences, rope) == pytest.approx((right, within, left), abs=0.04)


def test_clear_differences_are_clear_to_bayes_and_small_ones_equivalent() -> None:
    assert pairs.bayesian_signed_rank(np.full(20, 5.0), 1.0).better > 0.99
    assert pairs.bayesian_signed_rank(np.full(20, -5.0), 1.0).worse > 0.99
    assert pairs.bayesian_signed_rank(np.full(20, 0.01), 1.0).equivalent > 0.99
    assert sum(pairs.bayesian_signed_rank(np.array([3.0, -2.0, 0.5]), 1.0)) == pytest.approx(1.0)
    assert np.isnan(pairs.bayesian_signed_rank(np.array([]), 1.0)).all()


def test_inside_a_setting_runs_are_paired_by_seed(filled: Fill) -> None:
    """Seeds 0 to 5 of one method and 1 to 6 of the other: five pairs, all won by the baseline."""
    ours = [make_run(s, [1.0 + s]) for s in range(6)]
    theirs = [make_run(s, [1.5 + s + 0.1 * s]) for s in range(1, 7)]
    (row,) = pairs.within(load_all(filled({make_cell("a"): ours, make_cell("b"): theirs})), 0, 1).to_dict("records")
    assert (row["pairs"], row["wins"], row["losses"], row["ties"]) == (5, 5, 0, 0)
    differences = np.array([(0.5 + 0.1 * s) / (1.5 + 1.1 * s) for s in range(1, 6)])
    assert row["p"] == row["floor"] == pytest.approx(stats.wilcoxon(differences).pvalue)


def test_families_count_once(filled: Fill) -> None:
    """Two families, one with four settings: the family-level test has two pairs and a floor of 1/2."""
    contents = {}
    for family, benches in (("big", "pqrs"), ("small", "t")):
        own = dataclasses.replace(SETTING, family=family, noise=0.5)
        for bench in benches:
            contents[make_cell("a", bench=bench, setting=own)] = [make_run(0, [2.0])]
            contents[make_cell("b", bench=bench, setting=own)] = [make_run(0, [4.0])]
    (row,) = pairs.compare(load_all(filled(contents)), 0, (1,)).to_dict("records")
    assert (row["pairs"], row["families"]) == (5, 2)
    assert row["p"] == row["floor"] == 2 / 2**5
    assert row["p_greater"] == 1 / 2**5
    assert row["p_family"] == row["floor_family"] == 0.5
    assert row["noisy"] == 5
    assert row["better"] > 0.9  # 2 units apart: four times the repetition noise


def test_the_floor_is_what_a_clean_sweep_gives_and_too_high_a_one_is_said(filled: Fill) -> None:
    contents = {}
    for bench in "abcdefg":
        for method, value in (("x", 1.0), ("y", 2.0), ("z", 3.0)):
            contents[make_cell(method, bench=bench)] = [make_run(0, [value])]
    curves = load_all(filled(contents))
    table = pairs.compare(curves, 0, (1,))
    assert table["floor"].tolist() == table["p"].tolist() == [2 / 2**7] * 2
    assert table["p_holm"].tolist() == [2 * 2 / 2**7] * 2
    assert "too few pairs" not in tables.comparison(curves, 0, (1,))[0].marks
    for method in "uvw":  # five rivals: 5 * 2 / 2**7 > 0.05
        filled({make_cell(method, bench=bench): [make_run(0, [4.0])] for bench in "abcdefg"})
    assert "too few pairs" in tables.comparison(load_all(filled({})), 3, (1,))[0].marks
    for n in (51, 189):
        assert pairs.signed_rank(np.arange(1.0, n + 1)) == pytest.approx(
            [stats.wilcoxon(np.arange(1.0, n + 1)).pvalue] * 2
        )
