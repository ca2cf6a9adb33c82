"""Statistics of many methods: ranks, omnibus tests, critical differences, and their bootstrap."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from nasbench.results import Store
from nasbench.results.report import tables
from nasbench.results.statistics import pairs, ranking
from tests.results.conftest import SETTING, load_all, make_cell, make_run

Fill = Callable[..., Store]
NAN = math.nan


@given(arrays(float, st.tuples(st.integers(1, 8), st.integers(2, 5), st.integers(1, 4)), elements=st.integers(0, 6)))
def test_average_ranks_equal_those_of_pandas(values: np.ndarray) -> None:
    ranks, settings = ranking.average_ranks(values)
    expected = np.mean([pd.DataFrame(v).rank().to_numpy() for v in values], axis=0)
    assert settings == len(values)
    assert np.allclose(ranks, expected)


def test_settings_without_every_method_do_not_rank() -> None:
    values = np.array([[[1.0], [2.0]], [[NAN], [2.0]]])
    ranks, settings = ranking.average_ranks(values)
    assert (ranks.tolist(), settings) == ([[1.0], [2.0]], 1)
    assert np.isnan(ranking.average_ranks(values[1:])[0]).all()


def test_rounding_noise_does_not_rank() -> None:
    noisy = np.array([[[0.1 * 3], [0.3]], [[1e-20 * (1 + 1e-13)], [1e-20]], [[0.0], [-0.0]], [[-2.5], [-2.5 - 1e-15]]])
    assert ranking.average_ranks(noisy)[0].tolist() == [[1.5], [1.5]]


def test_friedman_and_nemenyi_are_those_of_scikit_posthocs_and_scipy() -> None:
    posthocs = pytest.importorskip("scikit_posthocs")
    values = np.random.default_rng(3).normal(size=(14, 4)) + np.arange(4) * 0.6
    found = ranking.omnibus(values)
    assert found.p == pytest.approx(stats.friedmanchisquare(*values.T).pvalue)
    assert np.allclose(found.nemenyi, posthocs.posthoc_nemenyi_friedman(values).to_numpy(), atol=1e-6)
    raw = np.array(
        [
            [stats.wilcoxon(pairs.relative_differences(a, b)).pvalue if i != j else 1.0 for j, b in enumerate(values.T)]
            for i, a in enumerate(values.T)
        ]
    )
    upper = np.triu_indices(4, 1)
    assert found.wilcoxon[upper] == pytest.approx(pairs.holm(raw[upper]))


def test_nemenyis_critical_difference_is_demsars() -> None:
    """Demšar (JMLR 2006, section 3.2.2): four classifiers on 14 data sets, CD = 2.569 sqrt(4 * 5 / (6 * 14)) = 1.25."""
    values = np.random.default_rng(0).normal(size=(14, 4))
    assert ranking.omnibus(values).critical_difference == pytest.approx(1.25, abs=0.005)


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
    found = ranking.omnibus(-auc)
    assert found.ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert found.p == pytest.approx(stats.chi2.sf(9.28, 3), abs=0.01)  # his 9.28 is without the correction for ties


def test_ties_everywhere_and_too_little_to_test_are_no_error() -> None:
    tied = ranking.omnibus(np.ones((5, 3)))
    assert np.isnan(tied.p)
    assert (tied.nemenyi == 1).all()
    assert (tied.wilcoxon == 1).all()
    two = ranking.omnibus(np.array([[1.0, 2.0], [1.0, 3.0]]))
    assert np.isnan(two.p)
    assert ranking.omnibus(np.full((2, 3), NAN)).settings == 0


def test_cliques_are_the_longest_stretches_without_a_difference() -> None:
    p = np.ones((4, 4))
    p[0, 2] = p[2, 0] = p[0, 3] = p[3, 0] = p[1, 3] = p[3, 1] = 0.01
    assert ranking.cliques(np.array([1.0, 2.0, 3.0, 4.0]), p) == [(0, 1), (1, 2), (2, 3)]
    assert ranking.cliques(np.array([4.0, 3.0, 2.0, 1.0]), np.ones((4, 4))) == [(3, 2, 1, 0)]
    assert ranking.cliques(np.array([1.0, 2.0]), np.zeros((2, 2))) == []


def test_the_bootstrap_resamples_families_before_benchmarks_before_seeds(filled: Fill) -> None:
    """One method wins on all of one family, loses on all of the other: ranks of 1, 1.5 and 2 with odds 1:2:1."""
    contents = {}
    for family, (a, b) in {"x": (1.0, 2.0), "y": (2.0, 1.0)}.items():
        own = dataclasses.replace(SETTING, family=family)
        for bench in "pq":
            contents[make_cell("a", bench=family + bench, setting=own)] = [make_run(s, [a]) for s in range(3)]
            contents[make_cell("b", bench=family + bench, setting=own)] = [make_run(s, [b]) for s in range(3)]
    curves = load_all(filled(contents))
    found = ranking.bootstrap_ranks(curves, 1)
    assert np.allclose(found.sum(axis=1), 3)
    values, counts = np.unique(found[:, 0], return_counts=True)
    assert values.tolist() == [1.0, 1.5, 2.0]
    assert counts / 1000 == pytest.approx([0.25, 0.5, 0.25], abs=0.05)
    assert np.array_equal(found, ranking.bootstrap_ranks(curves, 1))


def test_the_bootstrap_sees_the_noise_of_seeds(filled: Fill) -> None:
    """Medians over two seeds, 1 and 5 against 3: a resampled median is 1, 3 or 5 with odds 1:2:1."""
    contents = {make_cell("a"): [make_run(0, [1.0]), make_run(1, [5.0])], make_cell("b"): [make_run(0, [3.0])]}
    found = ranking.bootstrap_ranks(load_all(filled(contents)), 1)[:, 0]
    assert [np.mean(found == rank) for rank in (1.0, 1.5, 2.0)] == pytest.approx([0.25, 0.5, 0.25], abs=0.05)


def test_the_lowest_is_bold_beside_a_missing_one() -> None:
    assert tables._lowest(np.array([[1.0, 2.0, NAN], [NAN, NAN, NAN], [1e-320, 1.0, 0.0]])).tolist() == [
        [True, False, False],
        [False, False, False],
        [False, False, True],
    ]
