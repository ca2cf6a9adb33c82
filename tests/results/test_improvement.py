"""Probability of improvement, its seed scores, weights and intervals, beside other implementations."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from nasbench.results.statistics import estimates, improvement
from nasbench.results.statistics.estimates import Estimate, Tasks

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


def test_many_runs_are_counted_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    ours, theirs = places_of(*rng.integers(20, size=(2, 5, 40)).astype(float))
    both = [function(ours, theirs) for function in (improvement.improvement, improvement.seed_scores)]
    monkeypatch.setattr(improvement, "_FEW", 0)
    for few, function in zip(both, (improvement.improvement, improvement.seed_scores), strict=True):
        assert function(ours, theirs) == pytest.approx(few, abs=1e-14)


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
    found = improvement.places(np.array([[0.3], [0.1 * 3], [1.0], [1.0 + 1e-7], [0.0], [-0.0], [-2.5 - 1e-15], [-2.5]]))
    assert found[:, 0].tolist() == [2, 2, 3, 4, 1, 1, 0, 0]
    edge = 1.0000000005  # rounded to nine digits, values on either side of it would differ
    assert improvement.places(np.array([[edge * (1 - 1e-12)], [edge * (1 + 1e-12)]]))[:, 0].tolist() == [0, 0]


def test_runs_that_are_not_there_do_not_count() -> None:
    ours = np.array([[0, improvement.MISSING, 4]], np.int32)
    theirs = np.array([[2, 2, improvement.MISSING]], np.int32)
    assert improvement.improvement(ours, theirs).tolist() == [0.5]
    assert np.isnan(improvement.improvement(np.full((1, 2), -1, np.int32), theirs)).all()


def test_families_their_benchmarks_and_their_constraints_weigh_alike() -> None:
    """Family 0: two benchmarks, of 3 and 1 settings; family 1: one benchmark of 2."""
    tasks = Tasks(np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 2, 2]))
    assert tasks.weights == pytest.approx([1 / 12, 1 / 12, 1 / 12, 1 / 4, 1 / 4, 1 / 4])
    values = np.array([1.0, 2.0, 3.0, 4.0, 10.0, 20.0])
    assert tasks.by_bench(values).tolist() == [2.0, 4.0, 15.0]
    assert tasks.by_family(values).tolist() == [3.0, 15.0]
    assert tasks.weights @ values == pytest.approx(9.0)


@given(st.integers(1, 40))
def test_weights_sum_to_one_whatever_the_layout(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bench = rng.integers(0, 6, size=rng.integers(1, 20))
    tasks = Tasks(bench % 3, bench)
    assert tasks.weights.sum() == pytest.approx(1.0)
    values = rng.normal(size=len(bench))
    assert tasks.weights @ values == pytest.approx(tasks.by_family(values).mean())


def test_over_seeds_it_is_the_t_test_of_scipy() -> None:
    seeds = np.random.default_rng(1).normal(0.6, 0.1, 12)
    found, test = estimates.over_seeds(seeds), stats.ttest_1samp(seeds, 0.5)
    assert found.p() == pytest.approx(test.pvalue)
    assert found.interval() == pytest.approx(tuple(test.confidence_interval(0.95)))


def test_seeds_that_all_say_the_same_give_no_point() -> None:
    """Ten seeds of one setting, all won: SS is the floor 1/2, so se² = 0.5 / (10 · 9)."""
    found = estimates.over_seeds(np.ones(10), least=0.5)
    assert found.error == pytest.approx(math.sqrt(0.5 / 90))
    assert found.interval() == (pytest.approx(1 - stats.t.ppf(0.975, 9) * found.error), 1.0)
    assert found.p() == pytest.approx(2 * stats.t.sf(0.5 / found.error, 9))
    assert estimates.smallest_p(10, np.ones(1)) == pytest.approx(found.p())
    assert estimates.over_seeds(np.linspace(0, 1, 10), least=0.5).error == pytest.approx(
        stats.sem(np.linspace(0, 1, 10))  # the plain one, where it is larger
    )


def test_fewer_than_five_seeds_have_no_interval_and_no_p() -> None:
    found = estimates.over_seeds(np.array([0.9, 0.8, 0.9, 1.0]))
    assert found.value == pytest.approx(0.9)
    assert not found.known
    assert np.isnan([*found.interval(), found.p()]).all()
    assert estimates.smallest_p(4, np.ones(1)) == 1.0


def test_for_tasks_like_these_it_is_the_t_test_over_family_means_and_never_narrower() -> None:
    tasks = Tasks(np.array([0, 0, 1, 2]), np.array([0, 1, 2, 3]))
    values = np.array([0.5, 0.7, 0.8, 0.9])
    here = Estimate(float(tasks.weights @ values), 0.001, 20)
    found, unit = estimates.over_tasks(values, tasks, here)
    test = stats.ttest_1samp([0.6, 0.8, 0.9], 0.5)
    assert unit == "families"
    assert (found.value, found.freedom, found.p()) == (pytest.approx(23 / 30), 2, pytest.approx(test.pvalue))
    wide, _ = estimates.over_tasks(values, tasks, Estimate(here.value, 0.3, 20))
    assert (wide.error, wide.freedom) == (0.3, 2)


def test_one_family_is_judged_over_its_benchmarks_and_one_benchmark_not_at_all() -> None:
    here = Estimate(0.7, 0.01, 20)
    tasks = Tasks(np.zeros(3, int), np.array([0, 1, 1]))
    found, unit = estimates.over_tasks(np.array([0.6, 0.7, 0.9]), tasks, here)
    assert (unit, found.freedom) == ("benchmarks", 1)
    assert found.error == pytest.approx(stats.sem([0.6, 0.8]))
    nothing, unit = estimates.over_tasks(np.array([0.6, 0.8]), Tasks(np.zeros(2, int), np.zeros(2, int)), here)
    assert (unit, nothing.known) == ("", False)


def test_holm_leaves_out_what_was_not_tested() -> None:
    assert estimates.holm(np.array([0.01, NAN, 0.04])) == pytest.approx([0.02, NAN, 0.04], nan_ok=True)
