"""The calibration study of docs/notebook/statistics.md in small: how often reports on equal methods err."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from nasbench.results.statistics.ranks import ranked
from nasbench.results.statistics.wilcoxon import relative_differences, signed_rank


@pytest.fixture(scope="module")
def study() -> ModuleType:
    path = Path(__file__).parents[2] / "research" / "calibration.py"
    spec = importlib.util.spec_from_file_location("calibration", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules["calibration"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rates(found: dict[str, tuple[int, int]]) -> dict[str, float]:
    return {name: times / total for name, (times, total) in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["d", "e", "f"])
def test_identical_methods_seldom_differ_and_intervals_hold_the_truth(study: ModuleType, layout: str) -> None:
    """No rate is above what 5 % allows in as many reports (99.5 %; intervals of one report depend on each other)."""
    for name, (times, total) in study.simulate(study.LAYOUTS[layout], "I", 60, 0).items():
        is_statement = name.startswith(("a ", "anything", "false"))
        wrong = times if is_statement else total - times
        assert wrong <= stats.binom.ppf(0.995, total, 0.05) * (1 if is_statement else 1.5), name


@pytest.mark.slow
@pytest.mark.parametrize("model", ["B", "S6"])
def test_tasks_that_differ_do_not_make_a_report_sure_of_new_ones(study: ModuleType, model: str) -> None:
    found = rates(study.simulate(study.Layout(study.QUICK, 2, 10), model, 40, 0))
    assert found["a pair on new tasks"] <= 0.12
    assert found["false equivalence"] <= 0.12
    assert found["probability, these"] >= 0.9
    assert found["all probabilities together, these"] >= 0.88
    assert found["probability, new"] >= 0.88
    assert found["rank, these"] >= 0.9
    assert found["rank, new"] >= 0.88


@pytest.mark.parametrize(("settings", "methods"), [(1, 15), (3, 8)])
def test_intervals_of_ranks_hold_where_nearly_all_runs_tie(study: ModuleType, settings: int, methods: int) -> None:
    """One run in twenty misses the optimum that all others find: every method has the same expected rank."""
    rng, within = np.random.default_rng(0), []
    tasks = study.Layout(((1,),) * settings, 1, 1).tasks()
    for _ in range(60):
        values = (rng.random((settings, methods, 20)) < 0.05).astype(float)
        ranks, *_ = ranked(study.field(values, tasks), np.arange(settings), list(range(methods)))
        for low, high in (rank.these.interval(1.0, methods) for rank in ranks):
            within.append(low <= (methods + 1) / 2 <= high)
    assert np.mean(within) >= 0.9


def test_the_study_sees_a_test_that_is_too_sure(study: ModuleType) -> None:
    """Wilcoxon over settings, on methods that are equal on average over families and not on each."""
    layout = study.Layout(((3,), (4,), (8,)), 3, 10)
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(40):
        runs = np.nan_to_num(study.World.draw(layout, "F", 2, rng).runs(10, rng), nan=1e3)
        a, b = np.median(runs, axis=2).T
        wrong += signed_rank(relative_differences(a, b)).p < 0.05
    assert wrong / 40 > 0.2


def test_methods_that_are_ahead_here_and_behind_there_are_not_called_equivalent(study: ModuleType) -> None:
    """The rule of 0.2.0 looked at the average only and called them equivalent in 96 % of reports."""
    assert study.called_equivalent((0.7, 0.7, 0.7, 0.35, 0.35, 0.35, 0.35), 10, 0) == 0.0


def test_few_seeds_show_differences_that_the_rules_before_hid(study: ModuleType) -> None:
    rng = np.random.default_rng(0)
    layout = study.Layout(study.QUICK, 2, 5)
    values = rng.normal(size=(48, 6, 5)) + np.arange(6)[:, None] / 6
    tasks = layout.tasks()
    (overall,) = study.corrected([study.judge(study.field(values, tasks), np.arange(48), 0)])
    now = sum(pair.verdict != 0 for pair in overall.pairs.values())
    assert now > 1.5 * study.earlier(values, tasks.weights, 1.0)


@pytest.mark.parametrize("number", [3, 4, pytest.param(9, marks=pytest.mark.slow), 13])
def test_copies_of_one_method_by_the_real_runner_do_not_differ(study: ModuleType, number: int) -> None:
    case = replace(study.CASES[number], methods=4, evals=10)
    for own in study.copies(case, 2):
        said = [*study.marked(own.overall, [*own.by_constraint.values()], True), *study.said(own)]
        assert not any(is_false for _, is_false in said)


def test_the_study_judges_as_a_report_does(study: ModuleType) -> None:
    """It has no curves, for speed: from the same runs come the same verdicts."""
    layout = study.Layout(((2, 1), (3,)), 2, 8)
    world = study.World.draw(layout, "F", 4, np.random.default_rng(0))
    overall, constraints = study.verdicts(world, 8, np.random.default_rng(1))
    whole = study.report(layout.settings(), world.runs(8, np.random.default_rng(1)))
    for ours, theirs in zip([overall, *constraints], [whole.overall, *whole.by_constraint.values()], strict=True):
        for key, pair in ours.pairs.items():
            other = theirs.pairs[key]
            assert (pair.these, pair.shared, pair.p_these, pair.p_new, pair.p_equivalent) == (
                other.these,
                other.shared,
                other.p_these,
                other.p_new,
                other.p_equivalent,
            )
        assert ours.ranks == theirs.ranks


@pytest.mark.slow
def test_one_table_beside_many_does_not_decide_alone(study: ModuleType) -> None:
    """Without what is added for a setting that decides nearly alone, it was 0.10 with these sizes."""
    assert study.beside_one(12, 8, 10, 100, 0) <= stats.binom.ppf(0.995, 100, 0.05) / 100
