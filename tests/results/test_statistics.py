from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from results import Store, StoreError, panels, report, tables
from results.curves import Curves, load, select
from results.statistics import pairs, ranking, summaries
from tests.results.conftest import FACTS, SETTING, make_cell, make_run

Fill = Callable[..., Store]
NAN = math.nan


def load_all(*stores: Store) -> Curves:
    return load(select(stores))


@pytest.fixture
def curves(filled: Fill) -> Curves:
    """Two methods, two settings; oracle 1, worst 100."""
    return load_all(
        filled(
            {
                make_cell("a", constraint="size@0.1"): [
                    make_run(0, [5.0, 4.0, 2.0], [False, True, True]),
                    make_run(1, [9.0, 9.0, 3.0], [False, False, True]),
                    make_run(2, [9.0, 9.0, 9.0], [False, False, False]),
                ],
                make_cell("b", constraint="size@0.1"): [make_run(s, [8.0, 8.0, 8.0 - s]) for s in (0, 1, 2)],
                make_cell("a"): [make_run(0, [2.0, 2.0, 1.5])],
                make_cell("b"): [make_run(0, [2.0, 2.0, 1.5 * (1 + 1e-12)])],
            }
        )
    )


def test_performance_pads_with_the_worst_value_and_says_how_many_runs_found_something(curves: Curves) -> None:
    table = summaries.performance(curves, (1, 2, 3))
    setting = curves.settings.index[curves.settings["constraint"] == "size@0.1"][0]
    a = table[(table["setting"] == setting) & (table["method"] == 0)].set_index("evaluations")
    assert a["median"].tolist() == [100.0, 100.0, 3.0]
    assert a["found"].tolist() == pytest.approx([0, 1 / 3, 2 / 3])
    assert a["mean"].tolist() == pytest.approx([100, (4 + 200) / 3, (2 + 3 + 100) / 3])
    assert a["regret"].tolist() == pytest.approx([99, 99, 2])
    assert a["regret_percent"].tolist() == pytest.approx([9900, 9900, 200])
    assert a["normalised_regret"].tolist() == pytest.approx([11, 11, 2 / 9])  # (median - oracle 1) / (10 - 1)
    areas = [(11 + 1 / 3 + 1 / 9) / 3, (11 + 11 + 2 / 9) / 3, 11]
    assert a["area"].tolist()[2] == pytest.approx(np.median(areas))
    assert (a["q1"].tolist(), a["q3"].tolist()) == ([100.0, 52.0, 2.5], [100.0, 100.0, 51.5])


def test_an_oracle_of_zero_has_no_relative_regret(filled: Fill) -> None:
    zero = dataclasses.replace(SETTING, oracle=0.0)
    curves = load_all(filled({make_cell(setting=zero): [make_run(0, [2.0])]}))
    assert summaries.performance(curves, (1,))["regret_percent"].isna().all()


def test_without_a_table_the_worst_incumbent_seen_pads(filled: Fill) -> None:
    unknown = dataclasses.replace(SETTING, oracle=None, worst=None)
    curves = load_all(
        filled({make_cell(setting=unknown): [make_run(0, [7.0, 3.0]), make_run(1, [9.0, 4.0], [False, True])]})
    )
    assert curves.padded.tolist() == [[7.0, 3.0], [7.0, 4.0]]


def test_feasibility_counts_proposals_and_the_wait_for_the_first(curves: Curves) -> None:
    table = summaries.feasibility(curves)
    setting = curves.settings.index[curves.settings["constraint"] == "size@0.1"][0]
    a, b = (table[(table["setting"] == setting) & (table["method"] == m)].iloc[0] for m in (0, 1))
    assert (a["feasible_share"], a["first_feasible"], a["never"]) == (pytest.approx(3 / 9), 3, 1)
    assert (a["first_seconds"], b["first_seconds"]) == (3.0, 1.0)
    assert (b["feasible_share"], b["first_feasible"], b["never"]) == (1.0, 1, 0)


def test_a_run_that_ended_early_keeps_its_last_incumbent(filled: Fill) -> None:
    failed = make_run(0, [5.0, NAN], failure="ask: boom")
    curves = load_all(filled({make_cell(): [failed, make_run(1, [6.0, 5.0, 4.0])]}))
    assert curves.incumbent.tolist() == [[5.0, 5.0, 5.0], [6.0, 5.0, 4.0]]
    assert curves.runs["evaluations"].tolist() == [1, 3]
    assert summaries.feasibility(curves)["failed_runs"].tolist() == [1]


def test_wins_losses_and_ties_are_the_baselines(curves: Curves) -> None:
    table = pairs.compare(curves, baseline=0, checkpoints=(1, 3))
    assert table[["method", "evaluations", "pairs", "wins", "losses", "ties"]].values.tolist() == [
        [1, 1, 2, 0, 1, 1],  # 100 against 8 lost; 2 against 2 tied
        [1, 3, 2, 1, 0, 1],  # 3 against 7 won; rounding noise of 1e-12 tied
    ]


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
def test_holms_correction_is_that_of_statsmodels(p_values: np.ndarray) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    assert pairs.holm(p_values) == pytest.approx(multitest.multipletests(p_values, method="holm")[1])


def test_relative_differences_do_not_depend_on_the_unit() -> None:
    values, baseline = np.array([3.0, 2.0, 0.0, 1.0]), np.array([2.0, 3.0, 0.0, 1.0 + 1e-12])
    found = pairs.relative_differences(values, baseline)
    assert found.tolist() == pytest.approx([1 / 3, -1 / 3, 0.0, 0.0])
    assert np.allclose(found, pairs.relative_differences(1e6 * values, 1e6 * baseline))


def test_medians_are_over_seeds(curves: Curves) -> None:
    medians = summaries.medians(curves)
    setting = curves.settings.index[curves.settings["constraint"] == "size@0.1"][0]
    assert medians[setting, 1].tolist() == [8.0, 8.0, 7.0]
    assert medians.shape == (2, 2, 3)


# Intervals


def test_the_interval_of_the_median_is_that_of_the_percentile_bootstrap() -> None:
    """Of 200 samples of 25 normal values, about 95 % of the intervals contain the true median 0."""
    rng = np.random.default_rng(1)
    low, high = summaries.median_interval(rng.normal(size=(25, 200)))
    assert 0.88 < np.mean((low < 0) & (high > 0)) < 0.99
    assert np.array_equal(summaries.median_interval(np.array([[3.0, 4.0]]))[0], [3.0, 4.0])
    # Exactly: the resampled median of nine values is at most the k-th with probability P(Binomial(9, k/9) >= 5).
    values = np.sort(rng.normal(size=9))
    low, high = (bound[0] for bound in summaries.median_interval(values[:, None]))
    at_most = dict(zip(values, stats.binom.sf(4, 9, np.arange(1, 10) / 9), strict=True))
    below = dict(zip(values, stats.binom.sf(4, 9, np.arange(9) / 9), strict=True))
    assert below[low] < 0.04
    assert at_most[low] > 0.015
    assert at_most[high] > 0.96
    assert below[high] < 0.985


def test_without_an_oracle_there_is_no_regret(filled: Fill) -> None:
    unknown = dataclasses.replace(SETTING, oracle=None, worst=None, median=None)
    curves = load_all(filled({make_cell(setting=unknown): [make_run(0, [2.0])]}))
    table = summaries.performance(curves, (1,))
    assert table[["regret", "regret_percent", "normalised_regret", "area"]].isna().all(axis=None)
    assert np.isnan(ranking.targets_reached(summaries.normalised_regret(curves), curves)).all()


# Held-out metrics


def test_test_metrics_are_those_of_the_incumbent_not_the_best_of_them(filled: Fill) -> None:
    setting = dataclasses.replace(SETTING, held_out=("time",))
    run = make_run(0, [5.0, 3.0, 4.0])
    run.columns["metrics"][:, 1] = [1.0, 9.0, 0.0]  # the incumbent's test metric is 9, though 0 was seen
    worse = make_run(1, [3.0, 5.0, 6.0])
    worse.columns["metrics"][:, 1] = [7.0, 1.0, 2.0]
    nothing = make_run(2, [1.0, 1.0, 1.0], [False] * 3)
    curves = load_all(filled({make_cell(setting=setting): [run, worse, nothing]}))
    (row,) = summaries.held_out(curves).to_dict("records")
    assert (row["metric"], row["runs"], row["median"], row["mean"]) == ("time", 2, 8.0, 8.0)


# Seconds


def test_medians_over_seconds_see_what_was_known_by_then(filled: Fill) -> None:
    """Evaluations take a second in `a`, two in `b`: the horizon is a's three seconds."""
    slow = make_run(0, [4.0, 3.0, 2.0])
    slow.columns["finished"][:] = [2.0, 4.0, 6.0]
    curves = load_all(filled({make_cell("a"): [make_run(0, [9.0, 8.0, 7.0])], make_cell("b"): [slow]}))
    found = summaries.medians_over_seconds(curves, np.array([0.3, 1 / 3, 0.67, 1.0]))
    assert found[0].tolist() == [[100.0, 9.0, 8.0, 7.0], [100.0, 100.0, 4.0, 4.0]]


# Bayes


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


# Within a setting, and by family


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


# Many methods


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


def test_targets_reached_is_the_share_of_targets_above_the_regret(filled: Fill) -> None:
    """Oracle 1, median 10: an incumbent of 10 reaches the first of 31 targets, the oracle all of them."""
    setting = dataclasses.replace(SETTING, worst=100.0)
    run = make_run(0, [50.0, 10.0, 1.0], [False, True, True])
    curves = load_all(filled({make_cell("a", setting=setting): [run]}))
    reached = ranking.targets_reached(summaries.normalised_regret(curves), curves)
    assert reached[0].tolist() == pytest.approx([0.0, 1 / 31, 1.0])
    plain = [np.mean([r <= t for t in ranking.TARGETS]) for r in (0.5, 0.0123)]
    again = load_all(filled({make_cell("b", setting=setting): [make_run(0, [1 + 9 * 0.5, 1 + 9 * 0.0123])]}))
    found = ranking.targets_reached(summaries.normalised_regret(again), again)
    assert found[1, :2].tolist() == pytest.approx(plain)


# What a review found


def test_a_budget_in_seconds_compares_where_every_setting_got_to(filled: Fill, tmp_path: Path) -> None:
    contents = {}
    for bench, length in (("slow", 3), ("fast", 60)):
        cell = make_cell("a", bench=bench, evals=None, seconds=9.0)
        contents[cell] = [make_run(s, [9.0] * length) for s in range(2)]
    store = filled(contents)
    curves = load_all(store)
    assert curves.reached.tolist() == [60, 3]
    report.write([store], tmp_path / "out", formats=("csv",))
    assert set(pd.read_csv(tmp_path / "out" / "performance.csv")["evaluations"]) == {3}
    with pytest.raises(StoreError, match="checkpoint 50 lies beyond the 3 evaluations of the runs on slow"):
        report.write([store], tmp_path / "out", checkpoints=(50,))
    assert panels.performance(curves, 1, 101).x.tolist() == [1.0, 2.0, 3.0]


def test_a_method_that_dies_at_once_leaves_the_time_horizon_alone(filled: Fill) -> None:
    dead = [make_run(s, [NAN], failure="constructor: no") for s in range(3)]
    good = [make_run(s, [3.0, 2.0, 1.0]) for s in range(3)]
    curves = load_all(filled({make_cell("dead"): dead, make_cell("good"): good}))
    found = summaries.medians_over_seconds(curves, np.array([0.4, 1.0]))
    assert found[0].tolist() == [[100.0, 100.0], [3.0, 1.0]]


def test_curves_and_tables_have_the_same_median(filled: Fill) -> None:
    runs = [make_run(s, [v], [v < 5]) for s, v in enumerate((1.0, 2.0, 3.0, 4.0))]
    curves = load_all(filled({make_cell("a"): runs}))
    (series,) = panels.performance(curves, 0, 11).series
    assert series.y.tolist() == summaries.medians(curves)[0, 0].tolist() == [2.5]
    half = [make_run(s, [v], [v < 3]) for s, v in enumerate((1.0, 2.0, 3.0, 4.0))]
    (series,) = panels.performance(load_all(filled({make_cell("a", bench="b"): half})), 0, 11).series
    assert np.isnan(series.y).all()  # the median would mix a number with nothing


def test_what_older_runs_did_not_store_is_taken_from_newer_ones(filled: Fill) -> None:
    old = dataclasses.replace(SETTING, median=None, noise=None)
    for first, second in ((old, SETTING), (SETTING, old)):
        bench = "x" if first is old else "y"
        store = filled(
            {make_cell(m, bench=bench, setting=s): [make_run(0, [2.0])] for m, s in {"a": first, "b": second}.items()}
        )
    settings = load_all(store).settings
    assert settings["median"].tolist() == [10.0, 10.0]
    assert settings["noise"].tolist() == [0.5, 0.5]


def test_a_live_setting_without_anything_feasible_spoils_no_other(filled: Fill) -> None:
    unknown = dataclasses.replace(SETTING, oracle=None, worst=None, median=None, noise=None)
    contents = {}
    for method, value in (("a", 1.0), ("b", 2.0)):
        contents[make_cell(method)] = [make_run(s, [value]) for s in range(2)]
        contents[make_cell(method, bench="z", setting=unknown)] = [make_run(s, [1.0], [False]) for s in range(2)]
    curves = load_all(filled(contents))
    assert curves.complete == [0]
    assert ranking.bootstrap_ranks(curves, 1).mean(axis=0).tolist() == [1.0, 2.0]


def test_targets_compare_methods_on_common_settings(filled: Fill) -> None:
    """b beats a where both ran, and also ran a setting on which it reached nothing."""
    contents = {
        make_cell("a"): [make_run(0, [5.0])],
        make_cell("b"): [make_run(0, [2.0])],
        make_cell("b", bench="hard"): [make_run(0, [99.0])],
    }
    curves = load_all(filled(contents))
    a, b = ranking.targets_reached(summaries.normalised_regret(curves), curves)[:, 0]
    assert b > a


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


def test_the_lowest_is_bold_beside_a_missing_one() -> None:
    assert tables._lowest(np.array([[1.0, 2.0, NAN], [NAN, NAN, NAN], [1e-320, 1.0, 0.0]])).tolist() == [
        [True, False, False],
        [False, False, False],
        [False, False, True],
    ]


# Several stores


def test_several_stores_are_one_and_a_run_in_two_counts_once(filled: Fill, tmp_path: Path) -> None:
    first = filled({make_cell("a"): [make_run(0, [1.0]), make_run(1, [2.0])]})
    second = Store.create(tmp_path / "second")
    second.commit(make_cell("a"), [make_run(1, [2.0]), make_run(2, [3.0])], FACTS)
    second.commit(make_cell("b"), [make_run(0, [3.0])], FACTS)
    curves = load_all(first, second)
    assert curves.methods == ("a", "b")
    assert sorted(curves.runs[curves.runs["method"] == 0]["seed"]) == [0, 1, 2]
