"""Statistics of one method on one setting, and the curves that all of them are functions of."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nasbench.results import Store, StoreError
from nasbench.results.curves import Curves
from nasbench.results.parts import convergence
from nasbench.results.report import report
from nasbench.results.report.request import Request
from nasbench.results.scores import MEAN
from nasbench.results.statistics import summaries, targets
from nasbench.results.statistics.comparison import Comparison
from tests.results.conftest import FACTS, SETTING, Fill, load_all, make_run, make_setup

NAN = math.nan


def test_performance_pads_with_the_worst_value_and_says_how_many_runs_found_something(curves: Curves) -> None:
    table = summaries.performance(curves, (1, 2, 3))
    setting = curves.settings.index[curves.settings["constraint"] == "size@0.1"][0]
    a = table[(table["setting"] == setting) & (table["method"] == 0)].set_index("point")
    assert a["median"].tolist() == [100.0, 100.0, 3.0]
    assert a["found"].tolist() == pytest.approx([0, 1 / 3, 2 / 3])
    assert a["mean"].tolist() == pytest.approx([100, (4 + 200) / 3, (2 + 3 + 100) / 3])
    assert a["regret"].tolist() == pytest.approx([99, 99, 2])
    assert a["regret_percent"].tolist() == pytest.approx([9900, 9900, 200])
    assert a["normalised_regret"].tolist() == pytest.approx([11, 11, 2 / 9])  # (median - oracle 1) / (10 - 1)
    assert (a["q1"].tolist(), a["q3"].tolist()) == ([100.0, 52.0, 2.5], [100.0, 100.0, 51.5])


def test_an_oracle_of_zero_has_no_relative_regret(filled: Fill) -> None:
    zero = dataclasses.replace(SETTING, oracle=0.0)
    curves = load_all(filled({make_setup(setting=zero): [make_run(0, [2.0])]}))
    assert summaries.performance(curves, (1,))["regret_percent"].isna().all()


def test_without_a_table_the_worst_incumbent_seen_pads(filled: Fill) -> None:
    unknown = dataclasses.replace(SETTING, oracle=None, worst=None)
    curves = load_all(
        filled({make_setup(setting=unknown): [make_run(0, [7.0, 3.0]), make_run(1, [9.0, 4.0], [False, True])]})
    )
    assert curves.padded(curves.incumbent).tolist() == [[7.0, 3.0], [7.0, 4.0]]


def test_feasibility_counts_proposals_and_the_wait_for_the_first(curves: Curves) -> None:
    table = summaries.feasibility(curves)
    setting = curves.settings.index[curves.settings["constraint"] == "size@0.1"][0]
    a, b = (table[(table["setting"] == setting) & (table["method"] == m)].iloc[0] for m in (0, 1))
    assert (a["feasible_share"], a["first_feasible"], a["never"]) == (pytest.approx(3 / 9), 3, 1)
    assert (a["first_seconds"], b["first_seconds"]) == (3.0, 1.0)
    assert (b["feasible_share"], b["first_feasible"], b["never"]) == (1.0, 1, 0)


def test_a_run_that_ended_early_keeps_its_last_incumbent(filled: Fill) -> None:
    failed = make_run(0, [5.0, NAN], failure="ask: boom")
    curves = load_all(filled({make_setup(): [failed, make_run(1, [6.0, 5.0, 4.0])]}))
    assert curves.incumbent.tolist() == [[5.0, 5.0, 5.0], [6.0, 5.0, 4.0]]
    assert curves.runs["evaluations"].tolist() == [1, 3]
    assert summaries.feasibility(curves)["failed_runs"].tolist() == [1]


def test_medians_are_over_seeds(curves: Curves) -> None:
    medians = summaries.medians(curves, curves.incumbent)
    setting = curves.settings.index[curves.settings["constraint"] == "size@0.1"][0]
    assert medians[setting, 1].tolist() == [8.0, 8.0, 7.0]
    assert medians.shape == (2, 2, 3)


@pytest.mark.parametrize("count", [5, 6, 9, 10, 20, 30, 101])
def test_the_interval_of_the_median_is_the_narrowest_between_order_statistics_that_covers(count: int) -> None:
    """x_(r) to x_(n+1-r) covers the median with probability 1 - 2 P(Binomial(n, 1/2) < r), exactly."""
    values = np.arange(1.0, count + 1)[:, None]
    (low,), (high,) = summaries.median_interval(values)
    assert high == count + 1 - low

    def covers(r: float) -> float:
        return float(1 - 2 * stats.binom.cdf(r - 1, count, 0.5))

    assert covers(low) >= (0.95 if count > 5 else 0.9375)
    assert covers(low + 1) < 0.95


def test_fewer_than_five_runs_have_their_values_and_no_interval(filled: Fill) -> None:
    curves = load_all(filled({make_setup(): [make_run(s, [4.0 - s]) for s in range(4)]}))
    (row,) = summaries.performance(curves, (1,)).to_dict("records")
    assert row["values"] == "1 2 3 4"
    assert np.isnan([row["low"], row["high"]]).all()
    more = summaries.median_interval(np.arange(5.0)[:, None])
    assert [float(bound[0]) for bound in more] == [0.0, 4.0]


def test_without_an_oracle_there_is_no_regret(filled: Fill) -> None:
    unknown = dataclasses.replace(SETTING, oracle=None, worst=None, median=None)
    curves = load_all(filled({make_setup(setting=unknown): [make_run(0, [2.0])]}))
    table = summaries.performance(curves, (1,))
    assert table[["regret", "regret_percent", "normalised_regret"]].isna().all(axis=None)
    comparison = Comparison(curves, 0, (1.0,))
    assert targets.known(comparison) == []
    assert targets.table(comparison) is None
    assert np.isnan(targets.reached(comparison, (1.0,))).all()


def test_test_metrics_are_those_of_the_incumbent_not_the_best_of_them(filled: Fill) -> None:
    setting = dataclasses.replace(SETTING, test_metrics=("time",))
    run = make_run(0, [5.0, 3.0, 4.0])
    run.columns["metrics"][:, 1] = [1.0, 9.0, 0.0]  # the incumbent's test metric is 9, though 0 was seen
    worse = make_run(1, [3.0, 5.0, 6.0])
    worse.columns["metrics"][:, 1] = [7.0, 1.0, 2.0]
    nothing = make_run(2, [1.0, 1.0, 1.0], [False] * 3)
    curves = load_all(filled({make_setup(setting=setting): [run, worse, nothing]}))
    (row,) = summaries.test_metrics(curves).to_dict("records")
    assert (row["metric"], row["runs"], row["median"], row["mean"]) == ("time", 2, 8.0, 8.0)


def test_incumbents_at_shares_of_the_horizon_are_those_known_by_then(filled: Fill) -> None:
    """Evaluations take a second in `a`, two in `b`: the horizon is a's three seconds."""
    slow = make_run(0, [4.0, 3.0, 2.0])
    slow.columns["finished"][:] = [2.0, 4.0, 6.0]
    curves = load_all(filled({make_setup("a"): [make_run(0, [9.0, 8.0, 7.0])], make_setup("b"): [slow]}))
    found = curves.at_shares(np.array([0.3, 1 / 3, 0.67, 1.0]))
    assert np.array_equal(found, [[NAN, 9.0, 8.0, 7.0], [NAN, NAN, 4.0, 4.0]], equal_nan=True)


def test_a_budget_in_seconds_is_compared_at_equal_seconds_everywhere(filled: Fill, tmp_path: Path) -> None:
    contents = {}
    for bench, length in (("slow", 3), ("fast", 60)):
        setup = make_setup("a", bench=bench, evals=None, seconds=8.0)
        contents[setup] = [make_run(s, [9.0 - i for i in range(length)]) for s in range(2)]
    store = filled(contents)
    curves = load_all(store)
    assert (curves.unit, curves.end) == ("seconds", 8.0)
    found = curves.at((0.5, 2.0, 8.0))
    assert np.array_equal(found[[0, -1]], [[NAN, 8.0, 2.0], [NAN, 8.0, 7.0]], equal_nan=True)
    report.write([store], Request(tmp_path / "out", formats=("csv",)))
    assert set(pd.read_csv(tmp_path / "out" / "performance.csv")["point"]) == {2.0, 4.0, 6.0, 8.0}
    report.write([store], Request(tmp_path / "out", checkpoints=(1, 3), formats=("csv",)))
    assert set(pd.read_csv(tmp_path / "out" / "performance.csv")["point"]) == {1.0, 3.0, 8.0}
    with pytest.raises(StoreError, match="checkpoint 50 lies beyond the 8 seconds of the runs"):
        report.write([store], Request(tmp_path / "out", checkpoints=(50,)))


def test_a_method_that_dies_at_once_leaves_the_time_horizon_alone(filled: Fill) -> None:
    dead = [make_run(s, [NAN], failure="constructor: no") for s in range(3)]
    good = [make_run(s, [3.0, 2.0, 1.0]) for s in range(3)]
    curves = load_all(filled({make_setup("dead"): dead, make_setup("good"): good}))
    assert curves.horizons.tolist() == [3.0]
    assert curves.at_shares(np.array([0.4, 1.0]))[-1].tolist() == [3.0, 1.0]


def test_curves_and_tables_have_the_same_median(filled: Fill) -> None:
    runs = [make_run(s, [v], [v < 5]) for s, v in enumerate((1.0, 2.0, 3.0, 4.0))]
    curves = load_all(filled({make_setup("a"): runs}))
    (series,) = convergence.curve(Comparison(curves, 0, (1.0,)), 0, 11).series
    assert series.y.tolist() == summaries.medians(curves, curves.incumbent)[0, 0].tolist() == [2.5]
    half = [make_run(s, [v], [v < 3]) for s, v in enumerate((1.0, 2.0, 3.0, 4.0))]
    again = load_all(filled({make_setup("a", bench="b"): half}))
    (series,) = convergence.curve(Comparison(again, 0, (1.0,)), 0, 11).series
    assert np.isnan(series.y).all()  # the median would mix a number with nothing


def test_several_stores_are_one_and_a_run_in_two_counts_once(filled: Fill, tmp_path: Path) -> None:
    first = filled({make_setup("a"): [make_run(0, [1.0]), make_run(1, [2.0])]})
    second = Store.create(tmp_path / "second")
    second.commit(make_setup("a"), [make_run(1, [2.0]), make_run(2, [3.0])], FACTS)
    second.commit(make_setup("b"), [make_run(0, [3.0])], FACTS)
    curves = load_all(first, second)
    assert curves.methods == ("a", "b")
    assert sorted(curves.runs[curves.runs["method"] == 0]["seed"]) == [0, 1, 2]


def test_a_score_of_zero_gives_no_infinite_luck(filled: Fill) -> None:
    setting = dataclasses.replace(SETTING, score_oracle=0.0, score_worst=80.0)
    runs = [make_run(seed, [1.0], scores=[(value, True)]) for seed, value in enumerate((0.0, 2.0))]
    curves = load_all(filled({make_setup(setting=setting): runs}))
    assert summaries.luck(curves, MEAN, 1.0)["optimism"].item() == 0.5


def test_missing_test_metrics_are_left_out(filled: Fill) -> None:
    runs = [make_run(seed, [3.0]) for seed in range(3)]
    for run, value in zip(runs, (4.0, NAN, 8.0), strict=True):
        run.columns["metrics"][:, 1] = [value]
    setting = dataclasses.replace(SETTING, test_metrics=("time",))
    (row,) = summaries.test_metrics(load_all(filled({make_setup(setting=setting): runs}))).to_dict("records")
    assert (row["runs"], row["q1"], row["median"]) == (2, 5.0, 6.0)


def test_a_median_that_is_the_oracle_has_no_normalised_regret(filled: Fill) -> None:
    flat = dataclasses.replace(SETTING, median=1.0)
    curves = load_all(filled({make_setup(setting=flat): [make_run(0, [2.0])]}))
    assert summaries.performance(curves, (1,))["normalised_regret"].isna().all()


def test_luck_has_its_sign_where_scores_are_negative(filled: Fill) -> None:
    setting = dataclasses.replace(SETTING, score_oracle=-9.0, score_worst=80.0)
    curves = load_all(filled({make_setup(setting=setting): [make_run(0, [-3.0], scores=[(-2.0, True)])]}))
    assert summaries.luck(curves, MEAN, 1.0)["optimism"].item() == 0.5


def test_quartiles_of_test_metrics_lie_on_either_side(filled: Fill) -> None:
    runs = [make_run(seed, [3.0]) for seed in range(5)]
    for run, value in zip(runs, (5.0, 1.0, 4.0, 2.0, 3.0), strict=True):
        run.columns["metrics"][:, 1] = [value]
    setting = dataclasses.replace(SETTING, test_metrics=("time",))
    (row,) = summaries.test_metrics(load_all(filled({make_setup(setting=setting): runs}))).to_dict("records")
    assert (row["q1"], row["median"], row["q3"]) == (2.0, 3.0, 4.0)


def test_a_run_without_an_evaluation_has_no_test_metrics(filled: Fill) -> None:
    setting = dataclasses.replace(SETTING, test_metrics=("time",))
    dead = make_run(0, [NAN], failure="constructor: no")
    curves = load_all(filled({make_setup(setting=setting): [dead, make_run(1, [3.0])]}))
    assert curves.runs["test_metrics"].tolist() == [{}, {"time": 1.0}]


def test_runs_with_both_budgets_are_compared_by_evaluations(filled: Fill) -> None:
    curves = load_all(filled({make_setup(seconds=60.0): [make_run(0, [3.0, 2.0, 1.0])]}))
    assert (curves.seconds, curves.unit, curves.end) == (None, "evaluations", 3.0)


def test_the_horizon_is_the_shortest_median_duration(filled: Fill) -> None:
    runs = {}
    for method, durations in {"a": (1.0, 5.0, 9.0), "b": (2.0, 7.0, 8.0)}.items():
        runs[make_setup(method)] = [make_run(seed, [2.0]) for seed in range(3)]
        for run, seconds in zip(runs[make_setup(method)], durations, strict=True):
            run.columns["finished"][:] = seconds
    assert load_all(filled(runs)).horizons.tolist() == [5.0]


def test_a_test_metric_that_no_incumbent_has_is_no_row(filled: Fill) -> None:
    setting = dataclasses.replace(SETTING, test_metrics=("time",))
    runs = [make_run(seed, [3.0]) for seed in range(3)]
    for run in runs:
        run.columns["metrics"][:, 1] = np.nan
    assert len(summaries.test_metrics(load_all(filled({make_setup(setting=setting): runs})))) == 0


def test_fewer_than_five_values_have_no_interval_of_the_median_at_any_point() -> None:
    low, high = summaries.median_interval(np.ones((4, 3)))
    assert low.shape == high.shape == (3,)
    assert np.isnan([low, high]).all()
