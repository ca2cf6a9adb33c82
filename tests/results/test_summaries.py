"""Statistics of one method on one setting, and the curves that all of them are functions of."""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nasbench.results import Store, StoreError
from nasbench.results.curves import Curves
from nasbench.results.report import panels, report
from nasbench.results.statistics import ranking, summaries
from tests.results.conftest import FACTS, SETTING, load_all, make_cell, make_run

Fill = Callable[..., Store]
NAN = math.nan


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


def test_medians_are_over_seeds(curves: Curves) -> None:
    medians = summaries.medians(curves)
    setting = curves.settings.index[curves.settings["constraint"] == "size@0.1"][0]
    assert medians[setting, 1].tolist() == [8.0, 8.0, 7.0]
    assert medians.shape == (2, 2, 3)


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


def test_medians_over_seconds_see_what_was_known_by_then(filled: Fill) -> None:
    """Evaluations take a second in `a`, two in `b`: the horizon is a's three seconds."""
    slow = make_run(0, [4.0, 3.0, 2.0])
    slow.columns["finished"][:] = [2.0, 4.0, 6.0]
    curves = load_all(filled({make_cell("a"): [make_run(0, [9.0, 8.0, 7.0])], make_cell("b"): [slow]}))
    found = summaries.medians_over_seconds(curves, np.array([0.3, 1 / 3, 0.67, 1.0]))
    assert found[0].tolist() == [[100.0, 9.0, 8.0, 7.0], [100.0, 100.0, 4.0, 4.0]]


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


def test_several_stores_are_one_and_a_run_in_two_counts_once(filled: Fill, tmp_path: Path) -> None:
    first = filled({make_cell("a"): [make_run(0, [1.0]), make_run(1, [2.0])]})
    second = Store.create(tmp_path / "second")
    second.commit(make_cell("a"), [make_run(1, [2.0]), make_run(2, [3.0])], FACTS)
    second.commit(make_cell("b"), [make_run(0, [3.0])], FACTS)
    curves = load_all(first, second)
    assert curves.methods == ("a", "b")
    assert sorted(curves.runs[curves.runs["method"] == 0]["seed"]) == [0, 1, 2]
