"""Target scores, areas, interquartile means and profiles, beside other implementations."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nasbench.results.parts import targets as part
from nasbench.results.statistics import targets
from nasbench.results.statistics.comparison import Comparison
from tests.results.conftest import SETTING, Fill, load_all, make_run, make_setup


def test_a_score_is_the_share_of_log_spaced_targets_reached() -> None:
    regret = np.array([5.0, 1.0, 0.1, 0.0123, 1e-3, 0.0, np.nan])
    grid = 10.0 ** np.linspace(0, -3, 300_001)
    expected = [np.mean(r < grid) for r in regret[:-1]]
    assert targets.target_scores(regret) == pytest.approx([*expected, 0.0], abs=1e-5)
    assert targets.target_scores(np.array([-1e-17])).tolist() == [1.0]  # rounding


def test_padding_does_not_dominate_the_area(filled: Fill) -> None:
    """Nothing feasible for 2 of 10 evaluations, then a regret of 0.01: the area loses those two, and no more."""
    setting = dataclasses.replace(SETTING, worst=1e9)
    run = make_run(0, [1.09] * 10, [False, False] + [True] * 8)  # (1.09 - 1) / (10 - 1) = 0.01
    curves = load_all(filled({make_setup(setting=setting): [run]}))
    assert targets.areas(comparison := Comparison(curves, 0, (10.0,))).tolist() == pytest.approx([0.8 * 2 / 3])
    assert comparison.along(4).tolist() == [1, 4, 7, 10]


def test_the_area_under_a_budget_in_seconds_is_over_time(filled: Fill) -> None:
    """Evaluations of a second; the optimum from the third on, of a budget of eight seconds: six of them."""
    run = make_run(0, [10.0, 1.0])
    curves = load_all(filled({make_setup(evals=None, seconds=8.0): [run]}))
    assert targets.areas(comparison := Comparison(curves, 0, (8.0,))).tolist() == pytest.approx([6 / 8], abs=0.01)
    assert comparison.along(4).tolist() == [2, 4, 6, 8]


def test_a_setting_counts_where_its_median_is_worse_than_its_oracle(filled: Fill) -> None:
    found = {}
    for bench, median in (("near", 1.25), ("equal", 1.0), ("unknown", float("nan"))):
        found[make_setup(bench=bench, setting=dataclasses.replace(SETTING, median=median))] = [make_run(0, [2.0])]
    curves = load_all(filled(found))
    assert curves.settings["bench"].iloc[targets.with_oracle(curves)].tolist() == ["near"]


def comparison_of(filled: Fill, seeds: int = 12) -> Comparison:
    rng = np.random.default_rng(4)
    for i, method in enumerate("ab"):
        for bench in ("p", "q", "r"):
            ends = 1 + 9 * 10 ** rng.uniform(-3 - i, 0, seeds)
            filled({make_setup(method, bench=bench): [make_run(s, [v]) for s, v in enumerate(ends)]})
    return Comparison(load_all(filled({})), 0, (1.0,))


def test_the_interquartile_mean_is_the_trimmed_mean_of_scipy_and_its_interval_the_literal_jackknife(
    filled: Fill,
) -> None:
    found = targets.table(comparison_of(filled))
    assert found is not None
    values = found.final[1]
    own = targets.jackknife(values, targets.interquartile_mean)
    assert own.value == pytest.approx(stats.trim_mean(values.ravel(), 0.25))
    pseudo = [12 * own.value - 11 * stats.trim_mean(np.delete(values, k, axis=1).ravel(), 0.25) for k in range(12)]
    half = stats.t.ppf(0.975, 11) * stats.sem(pseudo)
    assert own.interval() == pytest.approx((own.value - half, own.value + half))


def test_the_jackknife_of_a_mean_is_the_t_interval() -> None:
    values = np.random.default_rng(0).uniform(size=(3, 10))
    own = targets.jackknife(values, lambda v: float(v.mean()))
    test = stats.ttest_1samp(values.mean(axis=0), 0.5)
    assert own.interval() == pytest.approx(tuple(test.confidence_interval(0.95)))


@pytest.mark.parametrize("settings", [1, 2, 3, 7])
def test_many_seeds_have_the_jackknife_that_few_have(settings: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(settings)
    for seeds in (5, 6, 7, 8, 40):
        for values in (rng.uniform(size=(settings, seeds)), rng.integers(0, 3, (settings, seeds)).astype(float)):
            for statistic, without in (
                (targets.interquartile_mean, targets.interquartile_means_without),
                (lambda v: float(v.mean()), lambda v: targets.means_without(v).mean(axis=0)),
            ):
                anew = targets.jackknife(values, statistic, without)
                monkeypatch.setattr(targets, "_MOST_ANEW", 0)
                found = targets.jackknife(values, statistic, without)
                monkeypatch.undo()
                assert (found.value, found.freedom) == (anew.value, anew.freedom)
                assert found.error == pytest.approx(anew.error, rel=1e-9, abs=1e-12)


def test_the_means_of_many_seeds_are_not_computed_anew_without_each(
    filled: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    monkeypatch.setattr(targets, "_MOST_ANEW", 11)
    monkeypatch.setattr(targets, "interquartile_mean", lambda values: calls.append(0) or 0.0)
    comparison = comparison_of(filled, 12)
    found = targets.table(comparison)
    assert found is not None
    part.aggregates(comparison, found)
    assert len(calls) == 4  # of two methods, and of both for their difference


def test_profiles_are_shares_of_runs_at_or_below(filled: Fill) -> None:
    comparison = comparison_of(filled)
    regret = (comparison.curves.incumbent[:, 0] - 1) / 9
    of = comparison.curves.runs["method"].to_numpy()
    found = targets.profiles(comparison, np.array([0.003, 0.1, 1.0]))
    for method in (0, 1):
        expected = [np.mean(regret[of == method] <= tau) for tau in (0.003, 0.1, 1.0)]
        assert found[method] == pytest.approx(expected)


def test_reached_is_the_weighted_mean_of_scores(filled: Fill) -> None:
    comparison = comparison_of(filled)
    regret = (comparison.curves.incumbent[:, 0] - 1) / 9
    of = comparison.curves.runs["method"].to_numpy()
    expected = [np.clip(-np.log10(regret[of == m]) / 3, 0, 1).mean() for m in (0, 1)]
    assert targets.reached(comparison, (1.0,))[:, 0] == pytest.approx(expected)


def test_settings_without_an_oracle_are_left_out_and_spaces_weigh_alike(filled: Fill) -> None:
    ends = {"x1": 1.009, "x2": 1.09, "y1": 1.9, "z1": 1.9}
    runs = {}
    for bench, value in ends.items():
        setting = dataclasses.replace(SETTING, family=bench[0], oracle=None if bench == "z1" else 1.0)
        runs[make_setup("a", bench=bench, setting=setting)] = [make_run(0, [value])]
    comparison = Comparison(load_all(filled(runs)), 0, (1.0,))
    assert targets.reached(comparison, (1.0,))[0, 0] == pytest.approx(0.25 + 0.25 * 2 / 3 + 0.5 / 3)
    assert targets.reached(comparison, (1.0,), "x")[0, 0] == pytest.approx(0.5 + 0.5 * 2 / 3)
    assert targets.profiles(comparison, np.array([0.05]))[0, 0] == pytest.approx(0.5)
    assert targets.table(comparison).weights.tolist() == pytest.approx([0.25, 0.25, 0.5])


def test_a_run_without_anything_feasible_reaches_no_threshold(filled: Fill) -> None:
    runs = {make_setup("a"): [make_run(0, [1.0]), make_run(1, [1.0], [False])]}
    comparison = Comparison(load_all(filled(runs)), 0, (1.0,))
    assert targets.profiles(comparison, np.array([1.0])).tolist() == [[0.5]]


def test_five_seeds_have_a_jackknife_and_four_have_none() -> None:
    def mean(values: np.ndarray) -> float:
        return float(values.mean())

    assert targets.jackknife(np.arange(5.0)[None], mean).known
    assert not targets.jackknife(np.arange(4.0)[None], mean).known


def test_a_run_counts_in_the_profile_at_its_very_regret(filled: Fill) -> None:
    comparison = Comparison(load_all(filled({make_setup("a"): [make_run(0, [10.0])]})), 0, (1.0,))
    assert targets.profiles(comparison, np.array([0.5, 1.0])).tolist() == [[0.0, 1.0]]


def test_a_summary_that_ties_names_the_method_with_the_lowest_rank() -> None:
    """Shares of targets saturate at 1; a name's place in the alphabet makes nobody first."""
    assert part._first(pd.Series([1.0, 0.5, 1.0 - 1e-12]), (2,)) == 2
    assert part._first(pd.Series([1.0, 0.5, 1.0 - 1e-6]), (2,)) == 0
    assert part._first(pd.Series([0.3, 0.9, 0.9]), (0,)) == 1
