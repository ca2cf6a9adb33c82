"""Runs whose trainings end at several levels, as reports see them: by whole evaluations' worth."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from nasbench.results import Row, Trajectory
from nasbench.results.curves import Curves
from nasbench.results.parts import graphs
from nasbench.results.reading import load, select
from nasbench.results.report import report
from nasbench.results.report.page.runs import as_json
from nasbench.results.report.request import Request
from nasbench.results.scores import AVERAGE
from nasbench.results.statistics import summaries
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.store.trajectory import to_columns
from tests.results.conftest import SETTING, Fill, described, make_run, make_setup

HIGHEST = 9


def in_parts(seed: int, budget: int, scores: bool) -> list[Row]:
    """Random pieces of trainings at levels 1, 3 and 9, as the runner writes them."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    top, incumbent, spent = 0, math.nan, 0
    while True:
        level = int(rng.choice([1, 3, 9]))
        if spent + level > budget * HIGHEST:
            return rows
        spent += level
        objective, feasible = float(rng.integers(0, 5)), bool(rng.random() < 0.7)
        if feasible and (level > top or (level == top and not objective >= incumbent)):
            top, incumbent = level, objective
        score = (objective + 0.25, bool(rng.random() < 0.9)) if scores else (math.nan, None)
        number = len(rows)
        metrics = (objective, float(number))
        row = Row(number + 1, 0, "{}", objective, feasible, incumbent, spent - level, spent, 0.0, "ok", "", metrics)
        rows.append(row._replace(score=score[0], score_feasible=score[1], trial=number, level=level))
        rows[-1] = rows[-1]._replace(cost=float(level), spent=spent / HIGHEST)


def read(filled: Fill, runs: list[list[Row]], test_metrics: tuple[str, ...] = (), **budget: object) -> Curves:
    setting = replace(SETTING, highest=HIGHEST, test_metrics=test_metrics)
    return load(select([filled({make_setup(setting=setting, **{"evals": 12} | budget): trajectories(runs)})]))


def trajectories(runs: list[list[Row]]) -> list[Trajectory]:
    now = "2026-01-01T00:00:00+00:00"
    return [Trajectory(seed, to_columns(rows, 2), "", now, now) for seed, rows in enumerate(runs)]


def state_after(rows: list[Row], spent: float, scores: bool) -> tuple[float, float]:
    """Observed value and score of the incumbent when at most so much has been used, row by row."""
    best: Row | None = None
    for row in rows:
        if row.spent > spent + 1e-12 or not row.feasible:
            continue
        if best is None or (row.level, -row.objective) > (best.level, -best.objective):
            best = row
    if best is None:
        return math.nan, math.nan
    observed = best.objective if best.level == HIGHEST else math.nan
    if not scores:
        return observed, observed
    return observed, best.score if best.score_feasible else math.nan


@pytest.mark.parametrize("scores", [True, False])
def test_a_run_in_parts_counts_by_whole_evaluations_worth(filled: Fill, scores: bool) -> None:
    runs = [in_parts(seed, 12, scores) for seed in range(20)]
    curves = read(filled, runs)
    assert curves.evaluations == 12
    assert curves.unit == "evaluations"
    for row, rows in enumerate(runs):
        for n in range(1, int(rows[-1].spent) + 1):
            observed, mean = state_after(rows, n, scores)
            assert curves.observed[row, n - 1] == pytest.approx(observed, nan_ok=True)
            assert curves.incumbent[row, n - 1] == pytest.approx(mean, nan_ok=True)
            assert curves.finished[row, n - 1] == max(r.finished for r in rows if r.spent <= n)


def test_at_equal_seconds_every_piece_counts(filled: Fill) -> None:
    """Not only those at which a whole evaluation's worth is reached."""
    runs = [in_parts(seed, 12, True) for seed in range(20)]
    curves = read(filled, runs)
    (horizon,) = curves.horizons
    shares = np.array([0.1, 0.25, 0.6, 1.0])
    found = curves.at_shares(shares)
    for row, rows in enumerate(runs):
        until = [[r for r in rows if r.finished <= share * horizon] for share in shares]
        expected = [state_after(early, math.inf, True)[1] for early in until]
        assert found[row].tolist() == pytest.approx(expected, nan_ok=True)
    by_evaluation = [np.searchsorted(finished, shares * horizon, side="right") for finished in curves.finished]
    assert not all(
        np.array_equal(found[row, counts > 0], curves.incumbent[row, counts[counts > 0] - 1], equal_nan=True)
        for row, counts in enumerate(by_evaluation)
    )


def test_under_seconds_alone_every_piece_is_a_point_on_the_clock(filled: Fill) -> None:
    runs = [in_parts(seed, 12, True) for seed in range(5)]
    curves = read(filled, runs, evals=None, seconds=200.0)
    assert curves.evaluations == max(map(len, runs))
    times = [9.0, 30.0, 77.0]
    for row, rows in enumerate(runs):
        expected = [state_after([r for r in rows if r.finished <= t], math.inf, True)[1] for t in times]
        assert curves.at(times)[row].tolist() == pytest.approx(expected, nan_ok=True)


def test_test_metrics_are_those_of_the_last_incumbent_at_the_highest_level(filled: Fill) -> None:
    runs = [in_parts(seed, 12, False) for seed in range(20)]
    curves = read(filled, runs, test_metrics=("time",))
    for rows, test_metrics in zip(runs, curves.runs["test_metrics"], strict=True):
        last = [r for r in rows if r.feasible and r.level == HIGHEST]
        best = min(last, key=lambda r: r.objective, default=None)
        assert test_metrics == ({} if best is None else {"time": best.metrics[1]})


def test_whole_evaluations_alone_are_read_as_ever(filled: Fill) -> None:
    rows = [row._replace(level=HIGHEST, spent=float(n)) for n, row in enumerate(in_parts(0, 3, True), 1)]
    curves = read(filled, [rows])
    assert curves.evaluations == len(rows)
    assert curves.observed[0].tolist() == pytest.approx([row.incumbent for row in rows], nan_ok=True)


def test_the_end_of_a_run_counts_although_its_last_evaluation_is_in_part(filled: Fill) -> None:
    runs = [in_parts(seed, 12, True) for seed in range(20)]
    assert any(rows[-1].spent % 1 for rows in runs)
    curves = read(filled, runs)
    for row, rows in enumerate(runs):
        assert curves.runs["evaluations"][row] == math.ceil(rows[-1].spent)
        observed, mean = state_after(rows, math.inf, True)
        assert curves.observed[row, -1] == pytest.approx(observed, nan_ok=True)
        assert curves.incumbent[row, -1] == pytest.approx(mean, nan_ok=True)


def test_a_run_too_short_for_one_whole_evaluation_has_its_state_at_the_end_of_the_budget(filled: Fill) -> None:
    rows = [row for row in in_parts(1, 3, True) if row.level < HIGHEST][:1]
    curves = read(filled, [rows], evals=1)
    assert curves.runs["evaluations"].tolist() == [1]
    assert curves.finished.tolist() == [[rows[0].finished]]
    assert np.isnan(curves.observed).all()


def test_feasible_is_counted_over_all_parts(filled: Fill) -> None:
    runs = [in_parts(seed, 12, False) for seed in range(20)]
    curves = read(filled, runs)
    (found,) = summaries.feasibility(curves).to_dict("records")
    assert found["feasible_share"] == sum(r.feasible for rows in runs for r in rows) / sum(map(len, runs))
    firsts = [next(r for r in rows if r.feasible) for rows in runs]
    assert found["first_feasible"] == np.quantile([math.ceil(r.spent) for r in firsts], 0.5, method="higher")
    assert found["first_seconds"] == np.quantile([r.finished for r in firsts], 0.5, method="higher")
    assert found["never"] == 0


def test_searches_that_trained_nothing_to_the_end_are_identical_only_if_their_scores_are(filled: Fill) -> None:
    runs = [in_parts(seed, 12, True) for seed in range(6)]
    short = [[row._replace(level=3, feasible=True, score_feasible=True) for row in rows] for rows in runs]
    other = [[row._replace(score=row.score + 1) for row in rows] for rows in short]
    setting = replace(SETTING, highest=HIGHEST)
    found = {"a": short, "b": short, "c": other}
    store = filled({make_setup(method=m, setting=setting, evals=12): trajectories(own) for m, own in found.items()})
    assert [tuple(kind) for kind in Comparison(load(select([store])), 0, (1.0,)).overall.kinds] == [(0, 1), (2,)]


def lucky(level_of_the_best: int, highest: int = HIGHEST) -> list[Row]:
    """A run whose smallest value was seen after one epoch, and which has one of a longer training afterwards."""
    found = []
    for number, (level, objective) in enumerate([(1, 2.0), (level_of_the_best, 3.0), (1, 1.0)]):
        values = f'{{"kind": "cnn", "labels": ["ip", "fc", "op"], "units": [null, {number}, null], "edges": []}}'
        row = Row(
            number + 1,
            0,
            values,
            objective,
            True,
            min(objective, 3.0),
            number,
            number + 1,
            0.0,
            "ok",
            "",
            (objective, 1.0),
        )
        found.append(row._replace(trial=number, level=level, incumbent=2.0 if number == 0 else 3.0, spent=0.9))
    return found


def test_the_page_of_a_run_shows_the_incumbent_not_a_lucky_short_training(filled: Fill) -> None:
    setting = replace(SETTING, highest=HIGHEST)
    store = filled({make_setup(setting=setting, evals=2): trajectories([lucky(HIGHEST), lucky(3)])})
    page = described(store, "random", "toy", None, 0)
    assert "Best valid-error@1: 3 % observed (evaluation 2; oracle 1, regret 2, 200 %)" in page
    steps = page.partition("Incumbent steps")[2].splitlines()[1:4]
    assert [line.split()[:4] for line in steps] == [
        ["evaluation", "after", "[s]", "level"],
        ["1", "1", "1", "2"],
        ["2", "2", "9", "3"],
    ]
    assert "Best valid-error@1: 3 % observed (evaluation 2; level 3 of 9)" in described(store, "random", "toy", None, 1)


def test_the_best_network_of_a_store_was_trained_to_the_end(filled: Fill) -> None:
    setting = replace(SETTING, highest=HIGHEST)
    setups = {"a": [lucky(HIGHEST)], "b": [lucky(3)]}
    store = filled({make_setup(m, setting=setting, evals=2): trajectories(runs) for m, runs in setups.items()})
    fragments = select([store])
    found = graphs.load(fragments, load(fragments))
    assert found is not None
    ((objective, method, _),) = found.best.values()
    assert (objective, method) == (3.0, 0)


def test_of_a_search_in_parts_other_parts_of_the_report_read_whole_evaluations(filled: Fill) -> None:
    """A part of a training is quick, and has another objective: it is no point of a front."""
    setting = replace(SETTING, highest=HIGHEST)
    store = filled({make_setup(setting=setting, evals=2): trajectories([lucky(HIGHEST), lucky(3)])})
    ((_, fragment),) = select([store])
    found = fragment.whole(["seed", "objective"])
    assert found.to_pydict() == {"seed": [0], "objective": [3.0]}
    plain = filled({make_setup("plain", evals=2): [make_run(0, [3.0, 2.0])]})
    assert [len(f.whole(["seed"])) for _, f in select([plain]) if f.setup.method == "plain"] == [2]


def trained_on(levels: list[int], trials: list[int]) -> list[Row]:
    """Pieces of trainings, feasible and all with the objective 2."""
    rows = []
    for i, (level, trial) in enumerate(zip(levels, trials, strict=True)):
        known = (f'{{"x": {trial}}}', 2.0, True, 2.0, i, i + 1, 0.0, "ok", "", (2.0, 1.0))
        rows.append(Row(i + 1, 0, *known)._replace(trial=trial, level=level, spent=0.1 * (i + 1)))
    return rows


def test_an_incumbent_of_the_same_value_at_a_higher_level_is_a_step(filled: Fill) -> None:
    setting = replace(SETTING, highest=HIGHEST)
    run = trained_on([1, 1, 3, 9, 9], [0, 1, 0, 0, 2])
    store = filled({make_setup(setting=setting): trajectories([run, run])})
    page = described(store, "random", "toy", None, 1)
    steps = page.partition("Incumbent steps")[2].partition("\n\n")[0].splitlines()[2:]
    assert [line.split(maxsplit=4) for line in steps] == [
        ["1", "1", "1", "2", "x=0"],
        ["3", "3", "3", "2", "the same, trained on"],
        ["4", "4", "9", "2", "the same, trained on"],
    ]
    (setup,) = json.loads(as_json(select([store]), {"random": 0}, ["random"]))["setups"]
    assert setup["steps"] == [0, 2, 3, 5, 7, 8]


def test_a_configuration_that_is_evaluated_again_is_not_trained_on(filled: Fill) -> None:
    run = make_run(0, [3.0, 2.0])
    run.columns["configuration"] = np.array(['{"x": 1}'] * 2)
    run.columns["trial"] = np.array([0, 1])
    assert "the same, evaluated again" in described(filled({make_setup(): [run]}), "random", "toy", None, 0)


def test_the_average_is_of_full_evaluations(filled: Fill) -> None:
    run = [row._replace(objective=float(i)) for i, row in enumerate(trained_on([1, 9, 3, 9], [0, 0, 1, 2]))]
    setting = replace(SETTING, highest=HIGHEST)
    store = filled({make_setup(setting=setting, evals=None, seconds=9.0): trajectories([run])})
    curves = load(select([store]), AVERAGE)
    assert curves.incumbent[0].tolist() == pytest.approx([math.nan, 1.0, 1.0, 2.0], nan_ok=True)


def test_what_trained_nothing_to_the_end_is_said_to_have_done_so(filled: Fill) -> None:
    setting = replace(SETTING, highest=HIGHEST)
    feasible, never = trained_on([1, 3], [0, 0]), [row._replace(feasible=False) for row in trained_on([1, 3], [0, 0])]
    setups = {"a": feasible, "b": trained_on([9, 9], [0, 1]), "c": [r._replace(incumbent=math.nan) for r in never]}
    store = filled({make_setup(m, setting=setting): trajectories([run, run]) for m, run in setups.items()})
    text = " ".join(report.write([store], Request(store.folder.parent / "r")).text.split())
    assert "a has trained nothing feasible to the end in any run: it loses to every method that has" in text
    assert "c has found nothing feasible in any run" in text
