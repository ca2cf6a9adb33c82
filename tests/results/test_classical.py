"""Tests over settings as papers do them: wins, signed ranks, practical equivalence, omnibus tests, cliques."""

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
from nasbench.results.statistics import classical
from nasbench.results.statistics.estimates import holm
from tests.results.conftest import load_all, make_cell, make_run

Fill = Callable[..., Store]
NAN = math.nan


def omnibus(values: np.ndarray) -> classical.Omnibus:
    """A benchmark for each setting."""
    return classical.omnibus(values, np.arange(len(values)).astype(str).astype(object))


def test_wins_losses_and_ties_are_the_baselines(curves: Curves) -> None:
    table = classical.compare(curves, 0, (1, 3))
    assert table[["method", "point", "pairs", "wins", "losses", "ties"]].values.tolist() == [
        [1, 1, 2, 0, 1, 1],  # 100 against 8 lost; 2 against 2 tied
        [1, 3, 2, 1, 0, 1],  # 3 against 7 won; rounding noise of 1e-12 tied
    ]


@given(arrays(float, 8, elements=st.integers(-6, 6)))
def test_the_signed_rank_test_is_scipys_with_zeros_dropped(differences: np.ndarray) -> None:
    p, floor = classical.signed_rank(differences)
    kept = differences[differences != 0]
    if len(kept) == 0:
        assert (p, floor) == (1.0, 1.0)
    else:
        assert p == pytest.approx(stats.wilcoxon(kept).pvalue)
        assert p >= floor or p == pytest.approx(floor)


def test_zeros_do_not_change_the_test() -> None:
    differences = np.arange(1.0, 9.0)
    assert classical.signed_rank(np.append(differences, np.zeros(6))) == classical.signed_rank(differences)
    p, floor = classical.signed_rank(np.append(np.arange(1.0, 6.0), np.zeros(9)))
    assert p == floor == pytest.approx(0.0625)


def test_the_floor_is_the_p_of_a_clean_sweep() -> None:
    for n in range(1, 30):
        assert classical.signed_rank(np.arange(1.0, n + 1))[1] == pytest.approx(
            stats.wilcoxon(np.arange(1.0, n + 1)).pvalue
        )
    assert classical.signed_rank(np.arange(1.0, 6.0))[0] > 0.05  # five pairs can never reach 0.05


def test_wilcoxons_example() -> None:
    """Darwin's maize, a textbook example: the rank sum is 24, the exact two-sided p 0.0413."""
    darwin = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48.0])
    assert classical.signed_rank(darwin)[0] == pytest.approx(0.0413, abs=5e-4)


def test_holms_correction_on_a_worked_example() -> None:
    """0.01, 0.04, 0.03, 0.005 → 0.03, 0.06, 0.06, 0.02: multiply by 4, 3, 2, 1 in ascending order, keep the maximum."""
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert len(holm(np.array([]))) == 0


@given(arrays(float, st.integers(1, 8), elements=st.floats(0, 1)))
@settings(max_examples=15, deadline=None)  # statsmodels collects garbage at each call
def test_holms_correction_is_that_of_statsmodels(p_values: np.ndarray) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    assert holm(p_values) == pytest.approx(multitest.multipletests(p_values, method="holm")[1])


def test_relative_differences_do_not_depend_on_the_unit() -> None:
    values, baseline = np.array([3.0, 2.0, 0.0, 1.0]), np.array([2.0, 3.0, 0.0, 1.0 + 1e-12])
    found = classical.relative_differences(values, baseline)
    assert found.tolist() == pytest.approx([1 / 3, -1 / 3, 0.0, 0.0])
    assert np.allclose(found, classical.relative_differences(1e6 * values, 1e6 * baseline))


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


def test_the_floor_is_that_of_these_very_differences(filled: Fill) -> None:
    """With ties in |d| p can lie below what as many distinct differences could give."""
    equal = np.full(60, 0.25)
    p, floor = classical.signed_rank(equal)
    assert p == floor == pytest.approx(stats.wilcoxon(equal).pvalue)
    assert classical.signed_rank(np.arange(1.0, 61.0)).floor > 100 * p


def test_benchmarks_count_once_where_it_says_so(filled: Fill) -> None:
    """Five benchmarks, one under five constraints: nine settings won, but five benchmarks only."""
    contents = {}
    for bench in "pqrst":
        for constraint in ("none", "size@0.1", "size@0.2", "size@0.3", "size@0.4")[: 5 if bench == "p" else 1]:
            for method, value in (("a", 2.0), ("b", 4.0)):
                contents[make_cell(method, bench=bench, constraint=constraint)] = [make_run(0, [value])]
    (row,) = classical.compare(load_all(filled(contents)), 0, (1,)).to_dict("records")
    assert (row["pairs"], row["benches"], row["wins"]) == (9, 5, 9)
    assert row["p_benches"] == pytest.approx(stats.wilcoxon(np.full(5, 0.5)).pvalue)
    assert row["p"] == row["floor"] == pytest.approx(stats.wilcoxon(np.full(9, 0.5)).pvalue)
    assert row["noisy"] == 9
    assert row["better"] > 0.9  # 2 units apart: four times the repetition noise


def test_friedman_and_nemenyi_are_those_of_scikit_posthocs_and_scipy() -> None:
    posthocs = pytest.importorskip("scikit_posthocs")
    values = np.random.default_rng(3).normal(size=(14, 4)) + np.arange(4) * 0.6
    found = omnibus(values)
    assert found.p == pytest.approx(stats.friedmanchisquare(*values.T).pvalue)
    assert np.allclose(found.nemenyi, posthocs.posthoc_nemenyi_friedman(values).to_numpy(), atol=1e-6)
    upper = np.triu_indices(4, 1)
    columns = zip(*(values.T[i] for i in upper), strict=True)
    raw = np.array([stats.wilcoxon(classical.relative_differences(a, b)).pvalue for a, b in columns])
    assert np.allclose(found.benches, found.wilcoxon)  # one setting a benchmark
    assert found.wilcoxon[upper] == pytest.approx(holm(raw))


def test_nemenyis_critical_difference_is_demsars() -> None:
    """Demšar (JMLR 2006, section 3.2.2): four classifiers on 14 data sets, CD = 2.569 sqrt(4 * 5 / (6 * 14)) = 1.25."""
    values = np.random.default_rng(0).normal(size=(14, 4))
    assert omnibus(values).critical_difference == pytest.approx(1.25, abs=0.005)


def test_demsars_friedman_example() -> None:
    """Demšar (JMLR 2006, table 6): average ranks 3.143, 2.000, 2.893, 1.964 of four classifiers on 14 data sets."""
    auc = np.array(
        [
            [0.763, 0.768, 0.771, 0.798],
            [0.599, 0.591, 0.590, 0.569],
            [0.954, 0.971, 0.968, 0.967],
            [0.628, 0.661, 0.654, 0.657],
            [0.882, 0.888, 0.886, 0.898],
            [0.936, 0.931, 0.916, 0.931],
            [0.661, 0.668, 0.609, 0.685],
            [0.583, 0.583, 0.563, 0.625],
            [0.775, 0.838, 0.866, 0.875],
            [1.000, 1.000, 1.000, 1.000],
            [0.940, 0.962, 0.965, 0.962],
            [0.619, 0.666, 0.614, 0.669],
            [0.972, 0.981, 0.9751, 0.975],
            [0.957, 0.978, 0.946, 0.970],
        ]
    )
    found = omnibus(-auc)
    assert found.ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert found.p == pytest.approx(stats.chi2.sf(9.28, 3), abs=0.01)  # his 9.28 is without the correction for ties


def test_ties_everywhere_and_too_little_to_test_are_no_error() -> None:
    tied = omnibus(np.ones((5, 3)))
    assert np.isnan(tied.p)
    assert (tied.nemenyi == 1).all()
    assert (tied.wilcoxon == 1).all()
    two = omnibus(np.array([[1.0, 2.0], [1.0, 3.0]]))
    assert np.isnan(two.p)
    nothing = omnibus(np.full((2, 3), NAN))
    assert nothing.settings == 0
    assert np.isnan([nothing.nemenyi, nothing.wilcoxon, nothing.benches]).all()
    assert np.isnan(classical.signed_rank(np.array([]))).all()


def test_cliques_are_the_longest_stretches_without_a_difference() -> None:
    apart = np.zeros((4, 4), bool)
    apart[0, 2] = apart[2, 0] = apart[0, 3] = apart[3, 0] = apart[1, 3] = apart[3, 1] = True
    assert classical.cliques(np.array([1.0, 2.0, 3.0, 4.0]), apart) == [(0, 1), (1, 2), (2, 3)]
    assert classical.cliques(np.array([4.0, 3.0, 2.0, 1.0]), np.zeros((4, 4), bool)) == [(3, 2, 1, 0)]
    assert classical.cliques(np.array([1.0, 2.0]), np.ones((2, 2), bool)) == []
