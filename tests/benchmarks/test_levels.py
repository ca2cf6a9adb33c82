"""Tables with learning curves, evaluated at a level; and searches that choose it, from import to report."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nasbench.benchmarks import (
    BENCHMARKS,
    Evaluation,
    Level,
    Metric,
    UsageError,
    abilities,
    open_benchmark,
    parse_constraints,
)
from nasbench.benchmarks.spaces import Categorical, GridSpace, Ordinal
from nasbench.benchmarks.tabular import open_table
from nasbench.benchmarks.tabular.imported import TableData, save
from tests.conftest import Lend, Printed

LEVELS = (1, 3, 9, 27)


@pytest.fixture
def curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lend: Lend) -> np.ndarray:
    """Imports a table `curved` of 60 configurations, two repetitions; (configurations, repetitions, levels, 2)."""
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))
    rng = np.random.default_rng(0)
    end = rng.uniform(5, 50, (60, 2, 1)).repeat(2, axis=1)[:, :2] + rng.normal(0, 1, (60, 2, 1))
    error = end + 40 / np.array(LEVELS) + rng.normal(0, 1, (60, 2, len(LEVELS)))
    seconds = rng.uniform(1, 4, (60, 2, 1)) * np.array(LEVELS)
    found = np.stack([error, seconds], axis=3)
    found[7, :, 3] = np.nan  # diverged at the end
    metrics = (
        Metric("valid-error@27", "%", split="valid", epoch=27),
        Metric("train_time", "s"),
        Metric("test-error@27", "%", split="test", epoch=27),
        Metric("size", "M", cheap=True),
    )
    rest = np.stack([found[:, :, -1, 0] + 1, rng.uniform(0, 1, (60, 1)).repeat(2, axis=1)], axis=2)
    values = np.concatenate([found[:, :, -1], rest], axis=2)
    space = GridSpace([Ordinal("a", (1, 2, 3, 4, 5)), Ordinal("b", tuple(range(12)))])
    recorded = ("valid-error@27", "train_time")
    lend(BENCHMARKS, "curved", lambda: open_table("curved"))
    open_benchmark.cache_clear()
    save(TableData("curved", "toy", space, metrics, "train_time", "here", "MIT", values, found, recorded, LEVELS))
    return found


def test_values_at_a_level_are_those_of_the_curve(curves: np.ndarray) -> None:
    table = open_benchmark("curved")
    assert table.fidelity is not None
    assert table.fidelity.levels == tuple(Level(epochs=epochs) for epochs in LEVELS)
    assert table.highest == Level(epochs=27)
    rng = np.random.default_rng(1)
    for _ in range(200):
        row, seed, place = int(rng.integers(60)), int(rng.integers(2**62)), int(rng.integers(4))
        found = table.evaluate(table.space.configuration(row), seed, Level(epochs=LEVELS[place]))  # type: ignore[attr-defined]
        error, seconds = curves[row, seed % 2, place]
        if math.isnan(error):
            assert found.status == "failed"
            continue
        told, paid, test, size = found.metrics.values()
        assert (told, paid) == pytest.approx((error, seconds))
        assert found.cost == pytest.approx(seconds)
        assert math.isnan(test) == (place < 3)  # test errors are known at the end only
        assert 0 <= size <= 1


def test_at_the_last_level_it_is_the_evaluation_itself(curves: np.ndarray) -> None:
    table = open_benchmark("curved")
    rng = np.random.default_rng(1)
    for seed in range(100):
        configuration = table.space.sample(rng)
        whole, at = table.evaluate(configuration, seed), table.evaluate(configuration, seed, Level(epochs=27))
        assert (at.status, at.metrics) == (whole.status, pytest.approx(whole.metrics, nan_ok=True))
        if whole.status == "ok":
            assert at.cost == whole.cost


def test_a_curve_is_the_objective_at_each_level_of_the_drawn_repetition(curves: np.ndarray) -> None:
    table = open_benchmark("curved")
    for row in range(60):
        configuration = table.space.configuration(row)  # type: ignore[attr-defined]
        for seed in (0, 1):
            found = [table.evaluate(configuration, seed, Level(epochs=level)) for level in LEVELS]
            assert table.evaluate(configuration, seed).curve == found[-1].curve
            for place, evaluation in enumerate(found, 1):
                if evaluation.status == "ok":
                    assert evaluation.curve == tuple(e.metrics["valid-error@27"] for e in found[:place])
                else:
                    assert evaluation.curve is None


def test_trainings_of_their_own_have_no_curve(curves: np.ndarray) -> None:
    metrics = (Metric("valid-error@27", "%", split="valid", epoch=27), Metric("train_time", "s"))
    space, recorded = GridSpace([Ordinal("a", tuple(range(60)))]), ("valid-error@27", "train_time")
    facts = (space, metrics, "train_time", "here", "MIT", curves[:, :, -1], curves, recorded, LEVELS)
    save(TableData("separate", "toy", *facts, continuable=False))
    table = open_table("separate")
    assert [table.evaluate((0,), 0, Level(epochs=level)).curve for level in LEVELS] == [None] * 4
    assert table.evaluate((0,), 0).curve is None


def test_what_diverges_in_the_end_has_values_before(curves: np.ndarray) -> None:
    table = open_benchmark("curved")
    configuration = table.space.configuration(7)  # type: ignore[attr-defined]
    assert table.evaluate(configuration, 0, Level(epochs=9)).status == "ok"
    assert table.evaluate(configuration, 0, Level(epochs=27)).status == "failed"


def test_a_level_that_is_not_recorded_is_refused(curves: np.ndarray) -> None:
    with pytest.raises(UsageError, match="curved has no level epochs 2; allowed: epochs 1, 3, 9, 27"):
        open_benchmark("curved").evaluate((0, 0), 0, Level(epochs=2))
    with pytest.raises(UsageError, match="nb201-cifar10 has no level epochs 1; allowed: one fidelity only"):
        open_benchmark("nb201-cifar10").evaluate((0,) * 6, 0, Level(epochs=1))


def test_searches_on_a_table_with_curves_from_the_command_to_the_report(
    curves: np.ndarray, tmp_path: Path, nasbench: Callable[..., Printed]
) -> None:
    methods = ["random", "successive-halving", "hyperband", "asha", "bohb", "c-bohb"]
    words = [word for method in methods for word in ("--method", method)]
    store = tmp_path / "store"
    run = ["run", *words, "--bench", "curved", "--constrain", "none", "--seeds", "5", "--evals", "12", "--store", store]
    first = nasbench(*run)
    assert first.code == 1, first.err  # one configuration diverges, which is a failed evaluation
    assert "all (cached)" in nasbench(*run).out
    shown = nasbench("report", store, "--out", tmp_path / "report", "--checkpoints", "4,12")
    assert shown.code == 0, shown.err
    for method in methods:
        assert method in shown.out


@pytest.mark.slow
def test_a_method_that_needs_levels_is_refused_where_there_are_none(nasbench: Callable[..., Printed]) -> None:
    refused = nasbench("run", "--method", "hyperband", "--bench", "nb201-cifar10")
    assert refused.code == 2
    assert "hyperband does not run on nb201-cifar10: it chooses how long to train" in refused.err


def test_an_evaluation_at_a_level_is_an_evaluation(curves: np.ndarray) -> None:
    assert isinstance(open_benchmark("curved").evaluate((0, 0), 0, Level(epochs=1)), Evaluation)


@pytest.mark.usefixtures("curves")
def test_a_table_at_its_highest_level_has_no_second_name() -> None:
    assert open_benchmark("curved@9").name == "curved@9"
    with pytest.raises(UsageError, match="curved is curved@27 already: write it without"):
        open_benchmark("curved@27")


SCORED = (Metric("valid-error", "%"), Metric("cost", "s"))


def test_the_prior_of_a_hyper_parameter_comes_back_with_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lend: Lend
) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path))
    lend(BENCHMARKS, "leaning", lambda: open_table("leaning"))
    space = GridSpace([Categorical("a", ("x", "y"), (9.0, 1.0)), Ordinal("b", (1, 2), prior=(1.0, 3.0))])
    values = np.arange(8.0).reshape(4, 1, 2)
    save(TableData("leaning", "toy", space, SCORED, "cost", "here", "MIT", values))
    assert [h.prior for h in open_table("leaning").space.hyperparameters] == [(9.0, 1.0), (1.0, 3.0)]  # type: ignore[attr-defined]


def test_the_quantile_of_a_metric_without_a_value_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lend: Lend
) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path))
    lend(BENCHMARKS, "holes", lambda: open_table("holes"))
    space = GridSpace([Ordinal("b", (1, 2, 3))])
    values = np.stack([np.arange(3.0), np.ones(3), np.full(3, np.nan)], axis=1)[:, None]
    save(TableData("holes", "toy", space, (*SCORED, Metric("latency", "ms")), "cost", "here", "MIT", values))
    for text in ("latency@0.1", "latency@S"):
        with pytest.raises(UsageError, match=r"latency@\S+ of holes is nan, which is not a bound: give a value"):
            abilities.bounds(open_table("holes"), parse_constraints([text]))
