"""Probability of improvement, its seed scores, and its permutation test, beside other implementations."""

from __future__ import annotations

import math
import tracemalloc
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from nasbench.results.statistics import improvement
from nasbench.results.statistics.nesting import Tasks
from nasbench.results.statistics.ranks import Field, ranked
from nasbench.results.statistics.verdicts import compare

NAN = math.nan
values_with_ties = arrays(float, st.tuples(st.integers(1, 4), st.integers(2, 8)), elements=st.integers(0, 5))


def places_of(*methods: np.ndarray) -> list[np.ndarray]:
    """Places of several methods' runs, each of shape (settings, seeds)."""
    joined = np.concatenate(methods, axis=1).T
    return np.split(improvement.places(joined).T, np.cumsum([m.shape[1] for m in methods])[:-1], axis=1)


@given(st.data(), values_with_ties)
def test_it_is_the_u_statistic_of_mann_and_whitney(data: st.DataObject, ours: np.ndarray) -> None:
    theirs = data.draw(arrays(float, (len(ours), data.draw(st.integers(1, 6))), elements=st.integers(0, 5)))
    found = improvement.improvement(*places_of(ours, theirs))
    expected = [stats.mannwhitneyu(b, a).statistic / (len(a) * len(b)) for a, b in zip(ours, theirs, strict=True)]
    assert found == pytest.approx(expected)


def test_ties_are_a_share_of_the_pairs_that_both_ran() -> None:
    missing = improvement.MISSING
    assert improvement.ties(np.array([[0]]), np.array([[0]])) == 1.0
    assert improvement.ties(np.array([[0, 2]]), np.array([[0, 1, missing]])) == 0.25
    assert improvement.ties(np.array([[missing]]), np.array([[0]])) == 0.0


def test_many_runs_are_counted_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    ours, theirs = places_of(*rng.integers(20, size=(2, 5, 40)).astype(float))
    both = [function(ours, theirs) for function in (improvement.improvement, improvement.seed_scores)]
    monkeypatch.setattr(improvement, "_FEW", 0)
    for few, function in zip(both, (improvement.improvement, improvement.seed_scores), strict=True):
        assert function(ours, theirs) == pytest.approx(few, abs=1e-14)


@pytest.mark.parametrize("lowest", [0, improvement.MISSING])
@pytest.mark.parametrize("few", [0, 4096])
def test_counts_of_many_runs_are_exactly_those_of_every_pair(
    lowest: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(improvement, "_FEW", few)
    rng = np.random.default_rng(0)
    for count in (1, 7, 60):
        ours, theirs = (rng.integers(lowest, 9, (3, count + more)).astype(np.int32) for more in (0, 2))
        pairs = [[(a, b) for a, b in product(*both) if min(a, b) >= 0] for both in zip(ours, theirs, strict=True)]
        won = [sum(a < b for a, b in row) + sum(a <= b for a, b in row) for row in pairs]
        expected = [w / (2 * len(row)) if row else NAN for w, row in zip(won, pairs, strict=True)]
        assert np.array_equal(improvement.improvement(ours, theirs), expected, equal_nan=True)
        tied = sum(a == b for row in pairs for a, b in row)
        assert improvement.ties(ours, theirs) == tied / max(1, sum(map(len, pairs)))


@pytest.mark.parametrize("lowest", [0, improvement.MISSING])
def test_no_array_has_an_element_for_every_pair_of_runs(lowest: int) -> None:
    runs = 20_000
    ours, theirs = np.random.default_rng(0).integers(lowest, 2 * runs, (2, 1, runs)).astype(np.int32)
    field = Field(np.stack([ours, theirs], axis=1), np.ones((1, 2, runs), np.int64), Tasks(*np.zeros((3, 1), np.intp)))
    tracemalloc.start()
    try:
        pair = compare(field, np.zeros(1, np.intp), 0, 1)
        improvement.improvement(ours, theirs)
        ranked(field, np.zeros(1, np.intp), [0, 1])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert pair is not None
    assert peak < 500 * runs < runs**2 / 10


@given(values_with_ties)
def test_seed_scores_average_to_it_and_are_what_their_formula_says(ours: np.ndarray) -> None:
    theirs = np.roll(ours, 1, axis=1) + np.linspace(-1, 1, ours.shape[1]).round()

    def better(a: float, b: float) -> float:
        return float(a < b) + 0.5 * float(a == b)

    found = improvement.seed_scores(*places_of(ours, theirs))
    seeds = range(ours.shape[1])
    for s, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        whole = np.mean([better(x, y) for x, y in product(a, b)])
        assert found[s].mean() == pytest.approx(whole)
        for k in seeds:
            v = np.mean([better(a[k], b[j]) for j in seeds]) + np.mean([better(a[j], b[k]) for j in seeds]) - whole
            assert found[s, k] == pytest.approx(v)


def test_nothing_feasible_loses_to_anything_and_ties_with_itself() -> None:
    ours, theirs = places_of(np.array([[NAN, 1.0]]), np.array([[5.0, NAN]]))
    assert improvement.improvement(ours, theirs).tolist() == [(0.0 + 0.5 + 1.0 + 1.0) / 4]


def test_rounding_noise_ties_wherever_it_lies_and_small_differences_do_not() -> None:
    found = improvement.places(np.array([[0.3], [0.1 * 3], [1.0], [1.0 + 3e-7], [0.0], [-0.0], [-2.5 - 1e-15], [-2.5]]))
    assert found[:, 0].tolist() == [2, 2, 3, 4, 1, 1, 0, 0]
    edge = 1.00000005  # rounded to seven digits, values on either side of it would differ
    assert improvement.places(np.array([[edge * (1 - 1e-12)], [edge * (1 + 1e-12)]]))[:, 0].tolist() == [0, 0]


def test_noise_of_single_precision_is_a_tie() -> None:
    """The means of NAS-Bench-201 carry up to 4.5e-9 of it, relatively."""
    value = np.float32(9.37)
    assert improvement.places(np.array([[float(value)], [float(value) * (1 + 4.5e-9)]]))[:, 0].tolist() == [0, 0]


def test_runs_that_are_not_there_do_not_count() -> None:
    ours = np.array([[0, improvement.MISSING, 4]], np.int32)
    theirs = np.array([[2, 2, improvement.MISSING]], np.int32)
    assert improvement.improvement(ours, theirs).tolist() == [0.5]
    assert improvement.improvement(np.array([[0, improvement.MISSING]], np.int32), theirs[:, :1]).tolist() == [1.0]
    assert np.isnan(improvement.improvement(np.full((1, 2), -1, np.int32), theirs)).all()


def test_the_linear_parts_of_each_setting_are_over_the_seeds_that_both_have_there() -> None:
    rng = np.random.default_rng(1)
    ours, theirs = (rng.integers(0, 30, (3, 9)).astype(np.int32) for _ in range(2))
    ours[1, 2], theirs[2, [0, 5]] = improvement.MISSING, improvement.MISSING
    found = improvement.linear_parts(ours, theirs)
    for s, kept in enumerate((range(9), [0, 1, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 6, 7, 8])):
        own = improvement.seed_scores(ours[s : s + 1, list(kept)], theirs[s : s + 1, list(kept)])
        assert (found.means[s], found.seeds[s]) == (pytest.approx(own.mean()), len(kept))
        assert found.variances[s] == pytest.approx(own.var(ddof=1))


def test_where_a_setting_has_few_seeds_all_runs_count() -> None:
    ours = np.array([[0, 2, 4, improvement.MISSING]], np.int32)
    theirs = np.array([[1, 3, 5, 7]], np.int32)
    found = improvement.linear_parts(ours, theirs)
    assert found.means.tolist() == [pytest.approx(9 / 12)]
    assert np.isnan(found.variances).all()


def counted(ours: np.ndarray, theirs: np.ndarray) -> float:
    """p by going through every way to give the runs to two methods."""
    ranks = stats.rankdata(np.concatenate([ours, theirs]))
    middle, count = ranks.sum() / 2, len(ours)
    distance = abs(ranks[:count].sum() - middle)
    sums = np.array([ranks[list(chosen)].sum() for chosen in combinations(range(2 * count), count)])
    return float(np.mean(np.abs(sums - middle) >= distance - 1e-9))


@given(st.integers(0, 10_000))
def test_the_permutation_test_counts_all_permutations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(4, 8))
    values = rng.integers(0, rng.integers(2, 40), 2 * count)
    values[:count] += rng.integers(0, 12)
    ours, theirs = np.split(np.unique(values, return_inverse=True)[1].astype(np.int32), 2)
    found, expected = improvement.permutation_p(ours, theirs), counted(ours, theirs)
    # What is nowhere near significant is left to the normal approximation.
    assert found == pytest.approx(expected) if expected < 0.1 else found > 0.05


@pytest.mark.parametrize(("count", "method"), [(15, "exact"), (60, "asymptotic")])
def test_the_permutation_test_is_mann_and_whitneys(count: int, method: str) -> None:
    values = np.random.default_rng(0).permutation(2 * count).astype(float)
    values[:count] -= count / 2 + 0.3  # between whole numbers: scipy's exact test knows no ties
    ours, theirs = np.split(stats.rankdata(values).astype(np.int32) - 1, 2)
    test = stats.mannwhitneyu(ours, theirs, method=method)
    assert test.pvalue < 0.15
    assert improvement.permutation_p(ours, theirs) == pytest.approx(test.pvalue)


def test_the_p_of_many_ties_is_fishers() -> None:
    """Twenty-five runs each, of which none and five fail: the normal approximation has 0.021."""
    ours, theirs = np.zeros(25, np.int32), np.repeat([0, 1], [20, 5]).astype(np.int32)
    expected = stats.fisher_exact([[25, 0], [20, 5]]).pvalue
    assert improvement.permutation_p(ours, theirs) == pytest.approx(expected) == pytest.approx(0.0502, abs=1e-4)


def test_five_seeds_in_common_are_enough_where_a_run_is_missing() -> None:
    ours = np.array([[0, 2, 4, 6, 8, improvement.MISSING]], np.int32)
    theirs = np.array([[1, 3, 5, 7, 9, 10]], np.int32)
    found = improvement.linear_parts(ours, theirs)
    own = improvement.seed_scores(ours[:, :5], theirs[:, :5])
    assert found.seeds.tolist() == [5]
    assert found.means == pytest.approx(own.mean(axis=1))
    assert found.variances == pytest.approx(own.var(axis=1, ddof=1))


@pytest.mark.parametrize(("count", "method"), [(50, "exact"), (51, "asymptotic")])
def test_permutations_are_counted_for_up_to_fifty_runs(count: int, method: str) -> None:
    values = np.concatenate([np.arange(count), np.arange(count) + count / 4 + 0.25])
    ours, theirs = np.split(stats.rankdata(values).astype(np.int32) - 1, 2)
    expected = stats.mannwhitneyu(ours, theirs, method=method).pvalue
    assert improvement.permutation_p(ours, theirs) == pytest.approx(expected)


def test_a_relative_difference_of_a_ten_millionth_is_the_largest_tie() -> None:
    for difference, places in ((0.9e-7, [0, 0]), (1.1e-7, [0, 1])):
        assert improvement.places(np.array([[1.0], [1.0 + difference]]))[:, 0].tolist() == places


@pytest.mark.parametrize("count", [12, 14])
def test_small_p_are_counted_too(count: int) -> None:
    ours, theirs = np.arange(count, dtype=np.int32), np.arange(count, 2 * count, dtype=np.int32)
    expected = stats.mannwhitneyu(ours, theirs, method="exact").pvalue
    assert expected < 2e-4
    assert improvement.permutation_p(ours, theirs) == pytest.approx(expected)
