"""The calibration study of docs/statistics.md in small: how often a report on methods that are alike says otherwise."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from nasbench.results.statistics.classical import relative_differences, signed_rank


@pytest.fixture(scope="module")
def study() -> ModuleType:
    path = Path(__file__).parents[2] / "examples" / "calibration.py"
    spec = importlib.util.spec_from_file_location("calibration", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules["calibration"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rates(found: dict[str, tuple[int, int]]) -> dict[str, float]:
    return {name: times / total for name, (times, total) in found.items()}


@pytest.mark.parametrize("layout", ["d", "e", "f"])
def test_methods_that_are_alike_are_seldom_told_apart_and_intervals_hold_the_truth(
    study: ModuleType, layout: str
) -> None:
    """No rate is above what 5 % allows among so many (99.5 %; intervals of one report depend on each other)."""
    for name, (times, total) in study.simulate(study.LAYOUTS[layout], "I", 60, 0).items():
        is_statement = name.startswith(("a ", "any ", "the same"))
        wrong = times if is_statement else total - times
        assert wrong <= stats.binom.ppf(0.995, total, 0.05) * (1 if is_statement else 1.5), name


@pytest.mark.parametrize("model", ["B", "F"])
def test_tasks_that_differ_do_not_make_a_report_sure_of_others_like_them(study: ModuleType, model: str) -> None:
    found = rates(study.simulate(study.Layout((3, 4, 8), 2, 10), model, 40, 0))
    assert found["a pair marked for tasks like these"] <= 0.12
    assert found["probability, here"] >= 0.9
    assert found["probability, alike"] >= 0.88
    assert found["rank, here"] >= 0.9
    assert found["rank, alike"] >= 0.88


def test_the_study_sees_a_test_that_is_too_sure(study: ModuleType) -> None:
    """Wilcoxon over settings, on methods that are alike on average over families and not on each."""
    layout = study.Layout((3, 4, 8), 3, 10)
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(40):
        runs = np.nan_to_num(study.World.draw(layout, "F", 2, rng).runs(10, rng), nan=1e3)
        a, b = np.median(runs, axis=2).T
        wrong += signed_rank(relative_differences(a, b)).p < 0.05
    assert wrong / 40 > 0.2


def test_clear_differences_are_seen(study: ModuleType) -> None:
    value, seen = study.power(0.5, "I", 10, 0)
    assert 0.6 < value < 0.7
    assert seen["here, 1 pair"] == 1.0
    assert seen["here, 21 pairs"] >= 0.9


def test_copies_of_one_method_by_the_real_runner_are_not_told_apart(study: ModuleType) -> None:
    for own in study.copies(3, seeds=6, evals=10):
        said = [*study.statements(own.overall, [*own.by_constraint.values()], True), *study.words(own)]
        assert not any(is_false for _, is_false in said)


def test_the_study_judges_as_a_report_does(study: ModuleType) -> None:
    """It has no curves, for speed: from the same runs come the same verdicts."""
    layout = study.Layout((2, 3), 2, 8)
    world = study.World.draw(layout, "F", 4, np.random.default_rng(0))
    overall, constraints = study.verdicts(world, 8, np.random.default_rng(1))
    whole = study.report(layout.settings(), world.runs(8, np.random.default_rng(1)))
    for ours, theirs in zip([overall, *constraints], [whole.overall, *whole.by_constraint.values()], strict=True):
        for key, pair in ours.pairs.items():
            other = theirs.pairs[key]
            assert (pair.here, pair.alike, pair.p_here, pair.p_alike) == (
                other.here,
                other.alike,
                other.p_here,
                other.p_alike,
            )
        assert ours.ranks == theirs.ranks
