"""Refused proposals are rows of a run, and no evaluations: they use none of its budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from nasbench.results import Setup, Trajectory
from nasbench.results.reading import load, select
from nasbench.results.statistics import summaries
from nasbench.results.store.archive import Archive
from nasbench.results.store.packing import pack
from tests.results.conftest import Fill, described, make_run, make_setup

NAN = float("nan")


def refusing(method: str = "random") -> Setup:
    return make_setup(method, constraint="size<=1")


def run_with_refusals(seed: int, objectives: Sequence[float]) -> Trajectory:
    """A run whose NaN objectives are refusals; the others use an evaluation each."""
    run = make_run(seed, objectives)
    refused = np.isnan(objectives)
    status = np.where(refused, "infeasible", "ok").astype(object)
    spent = np.cumsum(~refused).astype(float)
    return replace(run, columns=run.columns | {"status": status, "spent": spent})


def test_curves_count_evaluations_and_not_refusals(filled: Fill) -> None:
    store = filled({refusing(): [run_with_refusals(0, [NAN, 7.0, NAN, NAN, 5.0, 6.0]), run_with_refusals(1, [4.0])]})
    curves = load(select([store]))
    assert curves.runs["evaluations"].tolist() == [3, 1]
    assert curves.observed[0, :3].tolist() == [7.0, 5.0, 5.0]
    assert curves.runs["refused"].tolist() == [3, 0]
    assert curves.runs["rows"].tolist() == [3, 1]
    assert curves.runs["first_feasible"].tolist() == [1.0, 1.0]
    found = summaries.feasibility(curves)
    assert found["refused"].tolist() == [3]
    assert found["feasible_share"].tolist() == [1.0]


def test_a_run_of_refusals_alone_has_no_evaluation(filled: Fill) -> None:
    store = filled({refusing(): [run_with_refusals(0, [NAN, NAN]), run_with_refusals(1, [4.0, 3.0])]})
    curves = load(select([store]))
    assert curves.runs["evaluations"].tolist() == [0, 2]
    assert curves.runs["refused"].tolist() == [2, 0]


def test_a_budget_in_seconds_counts_no_refusal_either(filled: Fill) -> None:
    setup = replace(refusing(), evals=None, seconds=10.0)
    curves = load(select([filled({setup: [run_with_refusals(0, [NAN, 7.0, NAN, 5.0])]})]))
    assert curves.runs["evaluations"].tolist() == [2]
    assert curves.at([2.0, 4.0])[0].tolist() == [7.0, 5.0]


def test_the_record_of_a_run_says_how_many_were_refused(filled: Fill) -> None:
    store = filled({refusing(): [run_with_refusals(0, [NAN, 7.0]), run_with_refusals(1, [4.0])]})
    (fragment,) = store.fragments()
    assert [(run.rows, run.refused, run.evaluations) for run in fragment.runs] == [(2, 1, 1), (1, 0, 1)]
    assert [run.refused for run in fragment.runs] == [1, 0]
    text = described(store, "random", "toy", None, 0)
    assert "Refused: 1 proposal" in text
    assert "Feasible: 1 of 1 evaluation" in text


def test_an_archive_keeps_refusals(filled: Fill, tmp_path: Path) -> None:
    store = filled({refusing(): [run_with_refusals(s, [NAN, 7.0, NAN, 5.0]) for s in range(2)]})
    pack(store, tmp_path / "runs.zip")
    before, after = (load(select([each])) for each in (store, Archive(tmp_path / "runs.zip")))
    assert after.runs["refused"].tolist() == before.runs["refused"].tolist() == [2, 2]
    np.testing.assert_array_equal(after.observed, before.observed)
