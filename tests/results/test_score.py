"""What is compared is the incumbent's score: chosen by what was observed, worth its mean over repetitions."""

from __future__ import annotations

import dataclasses
import math
import sys
from html import unescape
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from nasbench.base import registry
from nasbench.base.errors import NasbenchError
from nasbench.results import Setting, Store, StoreError, scores
from nasbench.results.parts.score import _changed
from nasbench.results.reading import _incumbents, load, select
from nasbench.results.report import report
from nasbench.results.report.request import Request
from nasbench.results.scores import AVERAGE, HIDDEN, MEAN, OBSERVED, SCORES, Incumbents, Score
from nasbench.results.scores.metric import of_metric
from tests.results.conftest import SETTING, Fill, make_run, make_setup

NAN = math.nan
TABLE = dataclasses.replace(SETTING, oracle=1.0, worst=90.0, score_oracle=2.0, score_worst=80.0)


def test_the_score_is_that_of_the_row_where_the_incumbent_changed(filled: Fill) -> None:
    run = make_run(
        0,
        [5.0, 4.0, 6.0, 3.0],
        scores=[(7.0, True), (9.0, True), (1.0, True), (8.0, True)],  # of the third, which is no incumbent: never
    )
    curves = load(select([filled({make_setup(setting=TABLE): [run]})]))
    assert curves.incumbent.tolist() == [[7.0, 9.0, 9.0, 8.0]]
    assert curves.observed.tolist() == curves.scored(OBSERVED).incumbent.tolist() == [[5.0, 4.0, 4.0, 3.0]]
    assert (curves.oracle.tolist(), curves.worst.tolist()) == ([1.0], [90.0])  # of single repetitions
    mean = curves.scored(MEAN)
    assert (mean.oracle.tolist(), mean.worst.tolist()) == ([2.0], [80.0])
    observed = curves.scored(OBSERVED)
    assert (observed.oracle.tolist(), observed.worst.tolist()) == ([1.0], [90.0])


def test_an_incumbent_that_violates_in_the_mean_is_nothing_found(filled: Fill) -> None:
    """Observed to be infeasible at first; then a lucky repetition; then one that is feasible in the mean too."""
    run = make_run(0, [5.0, 4.0, 3.0], [False, True, True], scores=[(5.0, True), (4.5, False), (3.5, True)])
    curves = load(select([filled({make_setup(setting=TABLE): [run]})]))
    assert np.array_equal(curves.incumbent, [[NAN, NAN, 3.5]], equal_nan=True)
    assert np.array_equal(curves.observed, [[NAN, 4.0, 3.0]], equal_nan=True)


def test_the_average_is_over_all_feasible_configurations_of_a_run(filled: Fill) -> None:
    runs = [
        make_run(
            0,
            [5.0, 9.0, 6.0, 3.0],
            [True, True, False, True],
            scores=[(7.0, True), (9.0, True), (1.0, True), (2.0, False)],
        ),
        make_run(
            1,
            [4.0, 8.0, 1.0, 2.0],
            [False, True, True, True],
            scores=[(3.0, True), (NAN, None), (2.0, True), (5.0, True)],
        ),
    ]
    curves = load(select([filled({make_setup(setting=TABLE): runs})]), AVERAGE)
    assert curves.compared is AVERAGE
    assert np.array_equal(curves.incumbent, [[7.0, 8.0, 8.0, 8.0], [NAN, 8.0, 5.0, 5.0]], equal_nan=True)
    assert scores.score_of("average") is AVERAGE
    assert AVERAGE not in SCORES  # a report on incumbents does not show it


MEASURED = ("valid-error@1", "test-error@1", "test-error@12", "speed")


def of_metrics(filled: Fill, **methods: list[tuple[float, ...]]) -> Store:
    """A store of one run per method; each evaluation's metrics begin with the objective."""
    setting = dataclasses.replace(TABLE, maximised=("speed",))
    runs = {}
    for method, rows in methods.items():
        run = make_run(0, [values[0] for values in rows], scores=[(values[0], True) for values in rows])
        measured = dataclasses.replace(run, columns=run.columns | {"metrics": np.array(rows)})
        runs[make_setup(method, metrics=MEASURED, setting=setting)] = [measured]
    return filled(runs)


def test_a_metric_is_that_of_the_evaluation_that_the_objective_chose(filled: Fill) -> None:
    store = of_metrics(filled, random=[(5.0, 9.0, 8.0, 1.0), (4.0, 7.0, 6.0, 2.0), (6.0, 1.0, 0.5, 3.0)])
    chosen = select([store])
    for asked, expected in (("test-error", [8.0, 6.0, 6.0]), ("test-error@1", [9.0, 7.0, 7.0])):
        score = of_metric(asked, [f.setup for _, f in chosen])
        curves = load(chosen, score)
        assert curves.incumbent.tolist() == [expected]
        assert np.isnan(dataclasses.replace(curves, settings=score.described(curves.settings)).oracle).all()


def test_a_report_on_a_metric_says_so_and_refuses_what_it_cannot_compare(filled: Fill, tmp_path: Path) -> None:
    better, worse = [(5.0, 9.0, 8.0, 1.0)] * 2, [(6.0, 3.0, 2.0, 1.0)] * 2
    store = of_metrics(filled, better=better, worse=worse)
    written = report.write([store], Request(tmp_path / "r", metric="test-error"))
    assert "compared by test-error of the incumbents, which the objective chose" in written.text
    assert "incumbent's test-error" in unescape((tmp_path / "r" / "index.html").read_text())
    assert written.tables["medians"].set_index("objective").loc["test-error", ["better", "worse"]].tolist() == [
        8.0,
        2.0,
    ]
    for asked, words in (
        (
            {"metric": "test-eror"},
            r"no metric 'test-eror' \(did you mean test-error\?\); theirs are valid-error, test-",
        ),
        ({"metric": "speed"}, "speed of toy is maximised"),
        ({"metric": "test-error", "score": "mean"}, "--score and --metric exclude each other"),
    ):
        with pytest.raises(StoreError, match=words):
            report.write([store], Request(tmp_path / "r", **asked))  # type: ignore[arg-type]


def test_a_live_benchmark_has_what_was_observed(filled: Fill) -> None:
    curves = load(select([filled({make_setup(): [make_run(0, [5.0, 4.0])]})]))
    assert curves.incumbent.tolist() == [[5.0, 4.0]]
    assert curves.compared is OBSERVED


def test_hidden_repetitions_count_and_all_where_none_is_left(filled: Fill) -> None:
    """The incumbent changes, is asked again, violates by what is hidden, and then has been seen whole."""
    run = make_run(
        0,
        [5.0, 4.0, 6.0, 4.5, 3.0],
        scores=[(7.0, True), (9.0, True), (1.0, True), (9.0, True), (8.0, True)],
        hidden=[(7.5, True), (9.5, True), (9.6, False), (9.7, True), (NAN, None)],
    )
    curves = load(select([filled({make_setup(setting=TABLE): [run]})]))
    assert curves.score is HIDDEN
    assert np.array_equal(curves.incumbent, [[7.5, 9.5, NAN, 9.7, 8.0]], equal_nan=True)
    assert curves.scored(MEAN).incumbent.tolist() == [[7.0, 9.0, 9.0, 9.0, 8.0]]
    assert (curves.oracle.tolist(), curves.worst.tolist()) == ([1.0], [90.0])
    assert curves.runs["hidden"].tolist() == [0.0]


def test_where_the_hidden_repetition_fails_nothing_was_found(filled: Fill) -> None:
    """Not even the mean of what was observed."""
    run = make_run(0, [5.0, 4.0], scores=[(7.0, True), (9.0, True)], hidden=[(7.5, True), (NAN, False)])
    curves = load(select([filled({make_setup(setting=TABLE): [run]})]))
    assert np.array_equal(curves.incumbent, [[7.5, NAN]], equal_nan=True)
    assert curves.runs["hidden"].tolist() == [1.0]  # a repetition was hidden, and decided


@pytest.fixture
def lucky(filled: Fill) -> Store:
    """Three rankings of two methods: `lucky` observes lower values and has the better means, for they hold what was
    observed; by what neither has seen `sound` is better. One in six runs of `lucky` violates hidden."""
    for method, luck in (("lucky", 3.0), ("sound", 0.0)):
        runs = [
            make_run(
                s,
                [10 - luck + s / 100],
                scores=[(10 - luck / 3 + s / 100, True)],
                hidden=[(10 + luck + s / 100, method == "sound" or s > 0)],
            )
            for s in range(6)
        ]
        filled({make_setup(method, setting=TABLE): runs})
    return filled({})


def first_of(store: Store, out: Path, **options: str | None) -> str:
    report.write([store], Request(out, formats=("csv", "md"), **options))  # type: ignore[arg-type]
    ranks = pd.read_csv(out / "ranks.csv")
    return str(ranks.sort_values("1")["method"].iloc[0])


def test_a_report_compares_hidden_repetitions_unless_it_is_told_otherwise(lucky: Store, tmp_path: Path) -> None:
    assert first_of(lucky, tmp_path / "out") == "sound"
    assert "a repetition that was hidden from the run (or with its only one)" in text_of(tmp_path / "out")
    assert first_of(lucky, tmp_path / "out", score="mean") == "lucky"
    assert "counts with the mean of its configuration over the table's repetitions;" in text_of(tmp_path / "out")
    assert first_of(lucky, tmp_path / "out", score="observed") == "lucky"
    assert "its luckiest repetition" in text_of(tmp_path / "out")
    lucky.save_plan("c", [], {"title": "t", "checkpoints": [], "baseline": None, "score": "observed"})
    assert first_of(lucky, tmp_path / "out") == "lucky"
    assert first_of(lucky, tmp_path / "out", score="hidden") == "sound"
    with pytest.raises(
        NasbenchError, match=r"unknown score 'man' \(did you mean mean\?\); allowed: average, hidden, mean, observed"
    ):
        first_of(lucky, tmp_path / "out", score="man")


def text_of(out: Path) -> str:
    return (out / "report.md").read_text()


@pytest.mark.parametrize("score", ["hidden", "mean", "observed"])
def test_the_scores_stand_side_by_side_with_what_changes(lucky: Store, tmp_path: Path, score: str) -> None:
    first_of(lucky, tmp_path / "out", score=score, optional=("score",))
    rows = pd.read_csv(tmp_path / "out" / "score.csv").set_index("method")
    assert rows["rank_hidden"].tolist() == [2.0, 1.0]
    assert rows["rank_mean"].tolist() == rows["rank_observed"].tolist() == [1.0, 2.0]
    assert rows["violates"].tolist() == pytest.approx([1 / 6, 0.0])
    optimism = [6 / (13 + s / 100) for s in range(1, 6)]
    assert rows["optimism"].tolist() == pytest.approx([np.median(optimism), 0.0])
    changed = pd.read_csv(tmp_path / "out" / "score-verdicts.csv")
    assert changed[["method", "other"]].to_numpy().tolist() == [["lucky", "sound"]]
    assert changed[["verdict_hidden", "verdict_mean", "verdict_observed"]].to_numpy().tolist() == [[-1, 1, 1]]
    text = text_of(tmp_path / "out")
    assert "with the score, verdicts on 1 of 1 pair change" in text
    assert r"| lucky | sound | 0.00\* | 1.00\* | 1.00\* |" in text
    left = pd.read_csv(tmp_path / "out" / "score-left.csv")
    assert left.to_numpy().tolist() == [["toy", 1.0, 12]]


@pytest.mark.parametrize("highest", [1, 3])
def test_runs_that_lie_in_one_fragment_do_not_know_of_each_other(highest: int) -> None:
    rng = np.random.default_rng(0)
    runs = []
    for length in (5, 1, 9, 3, 40):
        feasible = rng.random(length) < 0.4
        incumbent = np.minimum.accumulate(np.where(feasible, rng.integers(0, 9, length), 99.0))
        score = np.where(rng.random(length) < 0.2, np.nan, rng.random(length))
        runs.append(
            {
                "incumbent": np.where(incumbent == 99, np.nan, incumbent),
                "feasible": feasible,
                "level": rng.integers(1, highest + 1, length),
                "score": score,
                "score_feasible": rng.integers(-1, 2, length),
                "hidden": np.where(rng.random(length) < 0.2, np.nan, rng.random(length)),
                "hidden_feasible": rng.integers(0, 2, length),
                "metric.hypervolume": rng.random(length),
            }
        )
    lengths = [len(run["level"]) for run in runs]
    together = _incumbents({name: np.concatenate([run[name] for run in runs]) for name in runs[0]}, lengths, highest)
    start = 0
    for run, length in zip(runs, lengths, strict=True):
        alone, own = _incumbents(run, [length], highest), slice(start, start + length)
        np.testing.assert_array_equal(together.row[own], alone.row + start)
        for score in SCORES:
            values, expected = score.values(together), score.values(alone)
            assert values is not None
            np.testing.assert_array_equal(values[own], alone.observed if expected is None else expected)
        start += length


def test_the_columns_of_settings_stand_in_one_order(lucky: Store) -> None:
    """Whatever seed hashes have: the same stores give the same bytes."""
    curves = load(select([lucky]))
    assert list(curves.settings) == ["bench", "constraint", *(field.name for field in dataclasses.fields(Setting))]


class Latest(Score):
    """A third party's: what was observed of the run's last row."""

    name, phrase, note, columns = "latest", "last objective", "What is compared is the last objective", ("objective",)

    def values(self, incumbents: Incumbents) -> np.ndarray:
        return incumbents.columns["objective"]


def test_a_third_partys_score_is_found_by_its_entry_point(
    lucky: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = [
        EntryPoint(name, f"{__name__}:{value}", "nasbench.scores")
        for name, value in (("latest", "Latest"), ("none", "make_none"), ("gone", "Gone"), ("exits", "make_exit"))
    ]
    monkeypatch.setattr(registry, "points_of", lambda group: (points, {}))
    assert scores.names()[-4:] == ("latest", "none", "gone", "exits")
    assert first_of(lucky, tmp_path / "out", score="latest") == "lucky"
    text = (tmp_path / "out" / "report.md").read_text()
    assert "What is compared is the last objective" in text
    assert "The last objective, over seeds" in text
    with pytest.raises(StoreError, match="score 'none' is 'int', which is no"):
        scores.score_of("none")
    with pytest.raises(NasbenchError, match="score 'gone' cannot be loaded: AttributeError"):
        scores.score_of("gone")
    with pytest.raises(NasbenchError, match="score 'exits' cannot be loaded: SystemExit: 3"):
        scores.score_of("exits")
    with pytest.raises(NasbenchError, match=r"unknown score 'latst' \(did you mean latest\?\)"):
        scores.score_of("latst")


@pytest.mark.parametrize(("answer", "said"), [(3.0, r"ValueError: it has values of shape \(\)"), (None, "KeyError")])
def test_a_third_partys_score_that_fails_is_named(
    lucky: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: object, said: str
) -> None:
    class Amiss(Latest):
        def values(self, incumbents: Incumbents) -> np.ndarray:
            return incumbents.columns["no such"] if answer is None else answer  # type: ignore[return-value]

    monkeypatch.setattr(sys.modules[__name__], "Latest", Amiss)
    points = [EntryPoint("latest", f"{__name__}:Latest", "nasbench.scores")]
    monkeypatch.setattr(registry, "points_of", lambda group: (points, {}))
    with pytest.raises(NasbenchError, match=f"score 'latest' fails: {said}"):
        report.write([lucky], Request(tmp_path / "out", score="latest"))


def test_a_score_must_answer_to_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "points_of", lambda group: ([EntryPoint("newest", f"{__name__}:Latest", group)], {}))
    with pytest.raises(StoreError, match="score 'newest' calls itself 'latest'"):
        scores.score_of("newest")


def make_exit() -> None:
    sys.exit(3)


def make_none() -> int:
    return 0


def test_one_objective_has_no_share(lucky: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the score 'share' is one of several objectives, and these runs have one"):
        report.write([lucky], Request(tmp_path / "out", score="share"))


def test_a_pair_that_is_significant_on_new_tasks_by_one_score_alone_is_among_those_that_change() -> None:
    def by(verdict_new: int) -> SimpleNamespace:
        pairs = {
            (0, 1): SimpleNamespace(verdict=1, verdict_new=verdict_new),
            (0, 2): SimpleNamespace(verdict=1, verdict_new=0),
        }
        return SimpleNamespace(overall=SimpleNamespace(pairs=pairs))

    assert _changed(SimpleNamespace(by_score={"hidden": by(0), "mean": by(1)})) == [(0, 1)]  # type: ignore[arg-type]


def test_runs_on_a_live_benchmark_leave_those_on_tables_their_scores(filled: Fill) -> None:
    unknown = dataclasses.replace(SETTING, oracle=None, worst=None, median=None)
    scored = make_run(0, [5.0, 4.0], scores=[(7.0, True), (9.0, True)], hidden=[(6.0, True), (8.0, True)])
    stored = {
        make_setup(bench="a-live", setting=unknown): [make_run(0, [3.0, 2.0])],
        make_setup(bench="table", setting=TABLE): [scored],
        make_setup(bench="z-live", setting=unknown): [make_run(0, [9.0, 8.0])],
    }
    curves = load(select([filled(stored)]))
    assert list(curves.settings["bench"]) == ["a-live", "table", "z-live"]
    assert curves.incumbent.tolist() == [[3.0, 2.0], [6.0, 8.0], [9.0, 8.0]]
    assert curves.compared is HIDDEN
