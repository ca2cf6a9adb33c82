"""What is compared is the incumbent's score: chosen by what was observed, worth its mean over repetitions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nasbench.results import Setting, Store, StoreError
from nasbench.results.curves import _incumbents, _Run, load, select
from nasbench.results.report import report
from nasbench.results.report.request import Request
from tests.results.conftest import SETTING, make_cell, make_run

Fill = Callable[..., Store]
NAN = math.nan
TABLE = dataclasses.replace(SETTING, oracle=1.0, worst=90.0, score_oracle=2.0, score_worst=80.0)


def test_the_score_is_that_of_the_row_where_the_incumbent_changed(filled: Fill) -> None:
    run = make_run(
        0,
        [5.0, 4.0, 6.0, 3.0],
        scores=[(7.0, True), (9.0, True), (1.0, True), (8.0, True)],  # of the third, which is no incumbent: never
    )
    curves = load(select([filled({make_cell(setting=TABLE): [run]})]))
    assert curves.incumbent.tolist() == [[7.0, 9.0, 9.0, 8.0]]
    assert curves.observed.tolist() == curves.scored("observed").incumbent.tolist() == [[5.0, 4.0, 4.0, 3.0]]
    assert (curves.oracle.tolist(), curves.worst.tolist()) == ([2.0], [80.0])
    observed = curves.scored("observed")
    assert (observed.oracle.tolist(), observed.worst.tolist()) == ([1.0], [90.0])


def test_an_incumbent_that_violates_in_the_mean_is_nothing_found(filled: Fill) -> None:
    """Observed to be infeasible at first; then a lucky repetition; then one that is feasible in the mean too."""
    run = make_run(0, [5.0, 4.0, 3.0], [False, True, True], scores=[(5.0, True), (4.5, False), (3.5, True)])
    curves = load(select([filled({make_cell(setting=TABLE): [run]})]))
    assert np.array_equal(curves.incumbent, [[NAN, NAN, 3.5]], equal_nan=True)
    assert np.array_equal(curves.observed, [[NAN, 4.0, 3.0]], equal_nan=True)


def test_a_live_benchmark_has_what_was_observed(filled: Fill) -> None:
    curves = load(select([filled({make_cell(): [make_run(0, [5.0, 4.0])]})]))
    assert curves.incumbent.tolist() == [[5.0, 4.0]]
    assert not curves.has_means


@pytest.fixture
def lucky(filled: Fill) -> Store:
    """One method observes lower values, the other has the better means; one in six of the first's violates."""
    for method, luck in (("lucky", 3.0), ("sound", 0.0)):
        runs = [
            make_run(s, [10 - luck + s / 10], scores=[(10 + luck + s / 10, method == "sound" or s > 0)])
            for s in range(6)
        ]
        filled({make_cell(method, setting=TABLE): runs})
    return filled({})


def first_of(store: Store, out: Path, **options: str | None) -> str:
    report.write([store], Request(out, formats=("csv", "md"), **options))  # type: ignore[arg-type]
    ranks = pd.read_csv(out / "ranks.csv")
    return str(ranks.sort_values("1")["method"].iloc[0])


def test_a_report_compares_scores_unless_it_is_told_otherwise(lucky: Store, tmp_path: Path) -> None:
    assert first_of(lucky, tmp_path / "out") == "sound"
    assert "counts with the mean of its configuration" in (tmp_path / "out" / "report.md").read_text()
    assert first_of(lucky, tmp_path / "out", score="observed") == "lucky"
    assert "its luckiest repetition" in (tmp_path / "out" / "report.md").read_text()
    lucky.save_plan("c", [], {"title": "t", "checkpoints": [], "baseline": None, "score": "observed"})
    assert first_of(lucky, tmp_path / "out") == "lucky"
    assert first_of(lucky, tmp_path / "out", score="mean") == "sound"
    with pytest.raises(StoreError, match=r"no score 'man' \(did you mean mean\?\); allowed: mean, observed"):
        first_of(lucky, tmp_path / "out", score="man")


@pytest.mark.parametrize("score", ["mean", "observed"])
def test_one_table_shows_both_with_what_changes(lucky: Store, tmp_path: Path, score: str) -> None:
    first_of(lucky, tmp_path / "out", score=score)
    rows = pd.read_csv(tmp_path / "out" / "score.csv").set_index("method")
    assert rows["rank_score"].tolist() == [2.0, 1.0]
    assert rows["rank_observed"].tolist() == [1.0, 2.0]
    assert rows["violates"].tolist() == pytest.approx([1 / 6, 0.0])
    optimism = [6 / (13 + s / 10) for s in range(1, 6)]
    assert rows["optimism"].tolist() == pytest.approx([np.median(optimism), 0.0])
    text = (tmp_path / "out" / "report.md").read_text()
    assert "1 of 1 verdict differ (score, observed): lucky and sound (worse, better)" in text


def test_runs_of_the_first_schema_are_compared_by_what_was_observed(filled: Fill, tmp_path: Path) -> None:
    columns = {"incumbent": np.array([3.0, 2.0]), "feasible": np.array([True, True]), "finished": np.array([1.0, 2.0])}
    found = _Run.of(columns | _incumbents(columns, [2], 1), slice(0, 2), make_cell())  # no score, no feasibility of it
    assert found.mean is None
    assert found.observed.tolist() == [3.0, 2.0]


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
                "violates": rng.random(length) < 0.2,
            }
        )
    lengths = [len(run["level"]) for run in runs]
    together = _incumbents({name: np.concatenate([run[name] for run in runs]) for name in runs[0]}, lengths, highest)
    start = 0
    for run, length in zip(runs, lengths, strict=True):
        alone = _incumbents(run, [length], highest)
        for name, values in alone.items():
            expected = values + start if name == "row" else values
            np.testing.assert_array_equal(together[name][start : start + length], expected)
        start += length


def test_the_columns_of_settings_stand_in_one_order(lucky: Store) -> None:
    """Whatever seed hashes have: the same stores give the same bytes."""
    curves = load(select([lucky]))
    assert list(curves.settings) == ["bench", "constraint", *(field.name for field in dataclasses.fields(Setting))]
