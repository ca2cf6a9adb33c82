"""Weights of nested tasks, t intervals over seeds and over tasks, moderated variances: beside other implementations."""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import optimize, special, stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW, ttost_paired

from nasbench.results.statistics import estimates, moderation
from nasbench.results.statistics.estimates import Estimate, Strata
from nasbench.results.statistics.nesting import Tasks
from nasbench.results.statistics.verdicts import concentration

NAN = math.nan


def test_spaces_their_families_their_benchmarks_and_their_constraints_have_equal_weights() -> None:
    """Space 0: families of two benchmarks (3 and 1 settings) and of one (2); space 1: one benchmark of 2."""
    tasks = Tasks(
        np.array([0, 0, 0, 0, 0, 0, 1, 1]), np.array([0, 0, 0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 1, 2, 2, 3, 3])
    )
    assert tasks.weights == pytest.approx([1 / 24, 1 / 24, 1 / 24, 1 / 8, 1 / 8, 1 / 8, 1 / 4, 1 / 4])
    values = np.array([1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 7.0, 9.0])
    assert tasks.by_bench(values).tolist() == [2.0, 4.0, 15.0, 8.0]
    assert tasks.by_family(values).tolist() == [3.0, 15.0, 8.0]
    assert tasks.by_space(values).tolist() == [9.0, 8.0]
    assert tasks.weights @ values == pytest.approx(8.5)


@given(st.integers(1, 40))
def test_weights_sum_to_one_whatever_the_layout(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bench = rng.integers(0, 9, size=rng.integers(1, 30))
    tasks = Tasks(bench % 2, bench % 4, bench)
    assert tasks.weights.sum() == pytest.approx(1.0)
    values = rng.normal(size=len(bench))
    assert tasks.weights @ values == pytest.approx(tasks.by_space(values).mean())


def test_in_one_setting_it_is_the_t_test_of_scipy() -> None:
    seeds = np.random.default_rng(1).normal(0.6, 0.1, 12)
    found, test = Strata.of(seeds[None]).estimate(np.ones(1)), stats.ttest_1samp(seeds, 0.5)
    assert found.p() == pytest.approx(test.pvalue)
    assert found.interval() == pytest.approx(tuple(test.confidence_interval(0.95)))
    assert found.interval(level=0.01) == pytest.approx(tuple(test.confidence_interval(0.99)))


def test_of_two_settings_it_is_welchs_test_of_scipy() -> None:
    """The mean of one setting and of another one turned over: Welch's test of their difference, halved."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(0.7, 0.1, 9), rng.normal(0.55, 0.3, 14)
    strata = Strata(np.array([x.mean(), 1 - y.mean()]), np.array([x.var(ddof=1), y.var(ddof=1)]), np.array([9, 14]))
    found, test = strata.estimate(np.full(2, 0.5)), stats.ttest_ind(x, y, equal_var=False)
    assert (found.freedom, found.p()) == (pytest.approx(test.df), pytest.approx(test.pvalue))


def test_strata_are_never_judged_with_fewer_degrees_of_freedom_than_one_of_them() -> None:
    strata = Strata(np.full(3, 0.6), np.array([1.0, 0.0, 0.0]), np.full(3, 8))
    assert strata.estimate(np.full(3, 1 / 3)).freedom == pytest.approx(7)


def test_seeds_that_all_say_the_same_give_no_point() -> None:
    """Ten seeds of one setting, all won: the sum of squares is the floor 1/2, so se² = 0.5 / (10 · 9)."""
    found = Strata.of(np.ones((1, 10))).estimate(np.ones(1), least=0.5)
    assert found.error == pytest.approx(math.sqrt(0.5 / 90))
    assert found.interval() == (pytest.approx(1 - stats.t.ppf(0.975, 9) * found.error), 1.0)
    assert found.p() == pytest.approx(2 * stats.t.sf(0.5 / found.error, 9))
    spread = Strata.of(np.linspace(0, 1, 10)[None])
    assert spread.estimate(np.ones(1), least=0.5).error == pytest.approx(stats.sem(np.linspace(0, 1, 10)))
    more = spread.estimate(np.ones(1), extra=0.5).error
    assert more**2 == pytest.approx(stats.sem(np.linspace(0, 1, 10)) ** 2 + 0.5 / 90)


def test_fewer_than_five_seeds_have_no_interval_and_no_p() -> None:
    found = Strata.of(np.array([[0.9, 0.8, 0.9, 1.0], [0.7, 0.7, 0.7, 0.7]])).estimate(np.full(2, 0.5))
    assert found.value == pytest.approx(0.8)
    assert not found.known
    assert np.isnan([*found.interval(), found.p(), found.p_outside(0.45, 0.55)]).all()


def test_an_exact_p_stands_in_place_of_the_t_tests() -> None:
    assert Estimate(0.7, 0.1, 9).p() == pytest.approx(2 * stats.t.sf(2, 9))
    assert Estimate(0.7, 0.1, 9, exact=0.031).p() == 0.031


def test_without_an_error_what_lies_outside_is_certain() -> None:
    assert [Estimate(value, 0.0, 9).p_outside(0.45, 0.55) for value in (0.45, 0.5, 0.55, 0.56)] == [0, 0, 0, 1]


def test_equivalence_is_two_one_sided_tests() -> None:
    """At half the level each, so that it holds just where the interval lies inside; statsmodels' at the level."""
    rng = np.random.default_rng(0)
    for spread in (0.02, 0.1, 0.3):
        seeds = rng.normal(0.51, spread, 15)
        found = Strata.of(seeds[None]).estimate(np.ones(1))
        p, *_ = ttost_paired(seeds, np.full(15, 0.5), -0.05, 0.05)
        assert found.p_outside(0.45, 0.55) == pytest.approx(min(1.0, 2 * p))
        low, high = DescrStatsW(seeds).tconfint_mean()
        assert (found.p_outside(0.45, 0.55) < 0.05) == (low > 0.45 and high < 0.55)


def test_on_new_tasks_it_is_the_t_test_over_space_means_and_never_narrower() -> None:
    tasks = Tasks(np.array([0, 0, 1, 2]), np.array([0, 1, 2, 3]), np.array([0, 1, 2, 3]))
    values = np.array([0.5, 0.7, 0.8, 0.9])
    these = Estimate(float(tasks.weights @ values), 0.001, 20)
    found, unit, means = estimates.over_tasks(values, tasks, these)
    test = stats.ttest_1samp([0.6, 0.8, 0.9], 0.5)
    assert (unit, means.tolist()) == ("spaces", pytest.approx([0.6, 0.8, 0.9]))
    assert (found.value, found.freedom, found.p()) == (pytest.approx(23 / 30), 2, pytest.approx(test.pvalue))
    wide, *_ = estimates.over_tasks(values, tasks, Estimate(these.value, 0.3, 20))
    assert (wide.error, wide.freedom) == (0.3, 2)


def test_one_space_is_judged_over_its_families_one_family_over_its_benchmarks_and_one_benchmark_not_at_all() -> None:
    these, one = Estimate(0.7, 0.01, 20), np.zeros(3, int)
    values, split = np.array([0.6, 0.7, 0.9]), np.array([0, 1, 1])
    found, unit, _ = estimates.over_tasks(values, Tasks(one, split, np.arange(3)), these)
    assert (unit, found.freedom, found.error) == ("families", 1, pytest.approx(stats.sem([0.6, 0.8])))
    found, unit, _ = estimates.over_tasks(values, Tasks(one, one, split), these)
    assert (unit, found.freedom, found.error) == ("benchmarks", 1, pytest.approx(stats.sem([0.6, 0.8])))
    nothing, unit, _ = estimates.over_tasks(values, Tasks(one, one, one), these)
    assert (unit, nothing.known) == ("", False)


def test_holm_leaves_out_what_was_not_tested() -> None:
    assert estimates.holm(np.array([0.01, NAN, 0.04])) == pytest.approx([0.02, NAN, 0.04], nan_ok=True)


def test_holms_correction_on_a_worked_example() -> None:
    """0.01, 0.04, 0.03, 0.005 → 0.03, 0.06, 0.06, 0.02: multiply by 4, 3, 2, 1 in ascending order, keep the maximum."""
    assert estimates.holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert len(estimates.holm(np.array([]))) == 0


@given(arrays(float, st.integers(1, 8), elements=st.floats(0, 1)))
@settings(max_examples=15, deadline=None)
def test_holms_correction_is_that_of_statsmodels(p_values: np.ndarray) -> None:
    with patch("gc.collect"):  # statsmodels collects garbage at each call
        expected = multipletests(p_values, method="holm")[1]
    assert estimates.holm(p_values) == pytest.approx(expected)


def fitted(variances: np.ndarray, freedom: np.ndarray) -> tuple[float, float]:
    """Smyth (2004), section 6.2, written out, without an upper bound."""
    e = np.log(variances) - special.psi(freedom / 2) + np.log(freedom / 2)
    count = len(variances)
    right = np.mean((e - e.mean()) ** 2 * count / (count - 1) - special.polygamma(1, freedom / 2))
    half = optimize.brentq(lambda x: special.polygamma(1, x) - right, 1e-6, 1e6)
    return 2 * half, float(np.exp(e.mean() + special.psi(half) - np.log(half)))


@pytest.mark.parametrize("freedom", [3, 6])
def test_the_prior_of_variances_is_smyths(freedom: int) -> None:
    rng = np.random.default_rng(4)
    own = np.full(40, float(freedom))
    variances = 0.02 * 3 / rng.chisquare(3, 40) * rng.chisquare(freedom, 40) / freedom
    lent, common = moderation.prior(variances, own)
    assert lent < moderation.MOST
    assert (lent, common) == pytest.approx(fitted(variances, own), rel=1e-6)
    drawn, more = moderation.moderated(variances, own, methods=10)
    assert drawn == pytest.approx((lent * common + freedom * variances) / (lent + freedom))
    assert more == pytest.approx(own + lent)


def test_the_prior_is_found_where_it_is_known() -> None:
    rng = np.random.default_rng(5)
    own = np.full(4000, 5.0)
    lent, common = moderation.prior(0.3 * 4 / rng.chisquare(4, 4000) * rng.chisquare(5, 4000) / 5, own)
    assert lent == pytest.approx(4, rel=0.1)
    assert common == pytest.approx(0.3, rel=0.05)


def test_variances_that_differ_by_chance_alone_lend_as_much_as_is_allowed() -> None:
    own = np.full(30, 3.0)
    variances = np.random.default_rng(0).chisquare(3, 30) / 3
    lent, common = moderation.prior(variances, own)
    e = np.log(variances) - special.psi(1.5) + np.log(1.5)
    assert lent == moderation.MOST
    assert common == pytest.approx(np.exp(e.mean() + special.psi(5) - np.log(5)))


def test_a_variance_of_zero_counts_as_a_hundred_thousandth_of_the_median() -> None:
    own = np.full(5, 4.0)
    variances = np.array([0.0, 0.02, 0.03, 0.04, 0.05])
    least = np.where(variances, variances, 0.03e-5)
    assert moderation.prior(variances, own) == moderation.prior(least, own)


def test_one_pair_borrows_nothing_and_a_variance_of_zero_does_no_harm() -> None:
    for methods in (2, 5):
        variances, freedom = moderation.moderated(np.array([0.2]), np.array([3.0]), methods)
        assert (variances.tolist(), freedom.tolist()) == (pytest.approx([0.2]), [3.0])
    assert moderation.moderated(np.zeros(0), np.zeros(0), 0)[1].tolist() == []
    drawn, more = moderation.moderated(np.array([0.0, 0.1, 0.2, 0.15]), np.full(4, 3.0), 8)
    assert np.isfinite(drawn).all()
    assert (more > 3).all()


@pytest.mark.parametrize(("methods", "lent"), [(2, 0), (3, 3), (4, 6), (8, moderation.MOST)])
def test_pairs_of_few_methods_lend_little(methods: int, lent: float) -> None:
    count = methods * (methods - 1) // 2
    variances = np.random.default_rng(3).chisquare(3, 28)[:count] / 3 + 1.0  # nearly the same
    assert moderation.moderated(variances, np.full(count, 3.0), methods)[1] == pytest.approx(3 + lent)


def test_rounding_lends_no_degrees_of_freedom() -> None:
    strata = Strata(np.full(2, 0.6), np.array([1e-32, 0.0]), np.full(2, 8))
    assert strata.estimate(np.full(2, 0.5), least=0.5).freedom == pytest.approx(14)


def test_a_value_without_an_error_differs_from_one_half_or_does_not() -> None:
    assert [Estimate(value, 0.0, 4.0).p() for value in (0.3, 0.5, 0.7)] == [0.0, 1.0, 0.0]


def test_a_setting_that_decides_alone_counts_as_one_setting_does() -> None:
    """One table beside twelve of another space: it has half of the weight, and nearly all of the variance."""
    assert concentration(np.ones(1)) == 1.0
    assert concentration(np.full(8, 1 / 8)) == pytest.approx(1 / 8)
    assert concentration(np.array([0.5, *[0.5 / 12] * 12])) == pytest.approx(0.8526, abs=1e-4)
