"""The optional parts of a report: two metrics at once, and the importance of hyper-parameters."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nasbench.base.errors import NasbenchError
from nasbench.results import Store, StoreError, Trajectory
from nasbench.results.parts.importance import _evaluations, importances, part
from nasbench.results.parts.pareto import _hypervolumes, fronts
from nasbench.results.reading import load, select
from nasbench.results.report import report
from nasbench.results.report.request import Request
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.fronts import median_surface
from nasbench.results.subject import Subject
from tests.results.conftest import SETTING, Fill, make_run, make_setup


def run_of(seed: int, points: np.ndarray, feasible: np.ndarray) -> Trajectory:
    """A run whose evaluations have these values of the two metrics."""
    run = make_run(seed, points[:, 0].tolist(), feasible.tolist())
    return replace(run, columns=run.columns | {"metrics": points})


@pytest.fixture
def two_metrics(filled: Fill) -> Store:
    """Random points of the unit square, a tenth of them infeasible; b's are worse in both metrics."""
    rng = np.random.default_rng(0)
    setups = {
        make_setup(m, constraint=c, evals=30): [
            run_of(s, rng.uniform(size=(30, 2)) + shift, rng.uniform(size=30) > 0.1) for s in range(6)
        ]
        for m, shift in (("a", 0.0), ("b", 0.2))
        for c in ("none", "x@0.5")
    }
    return filled(setups)


def subject_of(store: Store) -> Subject:
    chosen = select([store])
    curves = load(chosen)
    return Subject(Comparison(curves, 0, (curves.end,)), chosen)


def test_hypervolumes_are_those_of_a_fine_grid(two_metrics: Store) -> None:
    subject = subject_of(two_metrics)
    found = fronts(subject, ["valid-error", "time"])
    values = _hypervolumes(found, subject.comparison)
    assert values.shape == (2, 2, 6)
    grid = (np.arange(200) + 0.5) / 200
    for (setting, method, seed), front in found.points.items():
        low, high = found.ideal[setting], found.worst[setting]
        x, y = (low[i] + grid * (high[i] - low[i]) for i in (0, 1))
        below = (front[:, 0, None, None] <= x[:, None]) & (front[:, 1, None, None] <= y)
        assert values[setting, method, seed] == pytest.approx(below.any(axis=0).mean(), abs=0.02)


def test_infeasible_evaluations_are_on_no_front(two_metrics: Store) -> None:
    subject = subject_of(two_metrics)
    found = fronts(subject, ["valid-error@1", "time"])
    (_, f) = subject.fragments[0]
    rows = f.table().to_pandas()
    infeasible = {
        tuple(p) for p in rows[~rows["feasible"]][["metric.valid-error@1", "metric.time"]].to_numpy().tolist()
    }
    on_fronts = {tuple(p) for front in found.points.values() for p in front.tolist()}
    assert infeasible
    assert not infeasible & on_fronts


def test_the_median_surface_is_what_half_of_the_runs_attain() -> None:
    rng = np.random.default_rng(1)
    runs = [rng.uniform(size=(4, 2)) for _ in range(6)] + [np.zeros((0, 2))] * 2
    surface = median_surface(runs)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 40)] * 2), axis=-1).reshape(-1, 1, 2)
    attained = np.array([(run[None] <= grid).all(axis=2).any(axis=1) for run in runs]).sum(axis=0)
    above = (surface[None] <= grid).all(axis=2).any(axis=1)
    assert np.array_equal(above, attained >= 4)  # four of eight
    assert median_surface([np.ones((1, 2)), np.zeros((0, 2)), np.zeros((0, 2))]).shape == (0, 2)


def test_a_metric_of_which_more_is_better_is_on_no_front(filled: Fill) -> None:
    run = run_of(0, np.ones((2, 2)), np.array([True, True]))
    store = filled({make_setup("a", setting=replace(SETTING, maximised=("time",))): [run]})
    with pytest.raises(StoreError, match="time of toy is maximised"):
        fronts(subject_of(store), ["valid-error", "time"])


def test_a_name_without_an_epoch_means_the_last(filled: Fill) -> None:
    setup = make_setup("a", metrics=("error@1", "error@12", "error@2", "time"))
    store = filled({setup: [run_of(0, np.array([[3.0, 2, 4, 1]]), np.array([True]))]})
    for name in ("error@12", "error"):
        (front,) = fronts(subject_of(store), [name, "time"]).points.values()
        assert front.tolist() == [[2.0, 1.0]]
    with pytest.raises(StoreError, match="error and error@12 are one metric of toy: name two"):
        fronts(subject_of(store), ["error", "error@12"])


def test_the_page_shows_both_metrics_and_unknown_ones_are_refused(two_metrics: Store, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report.write([two_metrics], Request(out, formats=("html", "csv"), optional=["pareto:valid-error,time"]))
    with (out / "pareto.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["a", "b"]
    text = (out / "index.html").read_text()
    assert '<section id="pareto">' in text
    assert text.count(' id="at-toy-none"') == 1
    with pytest.raises(StoreError, match=r"has the metric 'tima' \(did you mean time\?\)"):
        report.write([two_metrics], Request(out, formats=("csv",), optional=["pareto:valid-error,tima"]))
    with pytest.raises(StoreError, match="needs two metrics"):
        report.write([two_metrics], Request(out, formats=("csv",), optional=["pareto"]))
    twice = ["pareto:valid-error,time", "pareto:time,valid-error"]
    with pytest.raises(StoreError, match="--part pareto is given twice: a report has each part once"):
        report.write([two_metrics], Request(tmp_path / "out", formats=("csv",), optional=twice))
    with pytest.raises(
        StoreError, match="is about the objective, so --metric and --part importance exclude each other"
    ):
        report.write([two_metrics], Request(tmp_path / "out", formats=("csv",), metric="time", optional=["importance"]))
    with pytest.raises(NasbenchError, match=r"unknown part 'paretto' .*; allowed: claims, clock, constraints"):
        report.write([two_metrics], Request(out, formats=("csv",), optional=["paretto"]))


def test_a_parameter_that_decides_everything_is_the_important_one(filled: Fill, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    rng = np.random.default_rng(0)
    runs = []
    for seed in range(5):
        choices = rng.integers(4, size=(200, 3))
        run = make_run(seed, (choices[:, 1] + 0.01 * rng.uniform(size=200)).tolist())
        texts = [json.dumps({"idle": int(a), "matters": int(b), "alone": "x"}) for a, b, _ in choices]
        runs.append(replace(run, columns=run.columns | {"configuration": np.array(texts, object)}))
    store = filled({make_setup("a", evals=200): runs})
    ((bench, constraint, count, found),) = importances(subject_of(store))
    assert (bench, constraint, count) == ("toy", "none", 1000)
    assert found.keys() == {"idle", "matters"}
    assert found["matters"] > 0.9
    report.write([store], Request(tmp_path / "out", formats=("csv",), optional=["importance"]))
    assert (tmp_path / "out" / "importance.csv").exists()
    with pytest.raises(StoreError, match="takes no options"):
        report.write([store], Request(tmp_path / "out", formats=("csv",), optional=["importance:x"]))


def configured(seed: int, configurations: list[dict[str, object]], objectives: list[float]) -> Trajectory:
    """A run of these configurations."""
    run, texts = make_run(seed, objectives), [json.dumps(one) for one in configurations]
    return replace(run, columns=run.columns | {"configuration": np.array(texts, object)})


def test_an_idle_real_number_is_not_important(filled: Fill) -> None:
    """Each of its values occurs once: those of the best are others than the rest's, whatever it does."""
    pytest.importorskip("optuna")
    rng = np.random.default_rng(0)
    runs = []
    for seed in range(5):
        matters, idle = 10 ** rng.uniform(-4, 0, 200), 10 ** rng.uniform(-4, 0, 200)
        own: list[dict[str, object]] = [
            {"matters": float(a), "idle": float(b)} for a, b in zip(matters, idle, strict=True)
        ]
        runs.append(configured(seed, own, matters.tolist()))
    ((*_, found),) = importances(subject_of(filled({make_setup("a", evals=200): runs})))
    assert found["matters"] > 0.85


def test_evaluations_that_lack_a_parameter_count_and_those_of_all_methods_alike(filled: Fill) -> None:
    """The first method never has `child`, which decides everything where it is; the second has four times the runs."""
    pytest.importorskip("optuna")
    rng = np.random.default_rng(0)

    def runs(kind: str, seeds: int) -> list[Trajectory]:
        found = []
        for seed in range(seeds):
            choices = rng.integers(4, size=(400, 2)).tolist()
            own: list[dict[str, object]] = [
                {"kind": kind, "idle": a} | ({"child": b} if kind == "y" else {}) for a, b in choices
            ]
            found.append(configured(seed, own, [b + 0.01 * rng.random() if kind == "y" else 9.0 for _, b in choices]))
        return found

    store = filled({make_setup("a", evals=400): runs("x", 5), make_setup("b", evals=400): runs("y", 20)})
    ((_, evaluations),) = _evaluations(subject_of(store))
    assert len(evaluations) == 1000
    assert sum(values["kind"] == "x" for values, _ in evaluations) == 200
    ((*_, found),) = importances(subject_of(store))
    assert found.keys() == {"kind", "idle", "child"}
    assert found["child"] > 0.7
    assert found["idle"] < 0.1


def test_the_mean_importance_counts_constraints_under_which_a_parameter_did_not_vary(filled: Fill) -> None:
    pytest.importorskip("optuna")
    rng = np.random.default_rng(0)

    def run(constant: bool) -> Trajectory:
        choices = rng.integers(3, size=(100, 2)).tolist()
        own: list[dict[str, object]] = [{"a": a, "b": 0 if constant else b} for a, b in choices]
        return configured(0, own, rng.random(100).tolist())

    setups = {make_setup("m", constraint=c, evals=100): [run(c == "none")] for c in ("none", "x@0.5")}
    (table,) = part(subject_of(filled(setups))).tables
    assert table.shown["importance"].astype(float).sum() == pytest.approx(1, abs=0.02)


def test_a_part_of_a_training_is_on_no_front(filled: Fill) -> None:
    """It takes a tenth of the seconds; and a run that trained nothing to the end has an empty front."""
    points = np.array([[3.0, 1.0], [2.0, 9.0]])
    runs = [run_of(seed, points, np.array([True, True])) for seed in (0, 1)]
    levels = [np.array([1, 9]), np.array([1, 3])]
    parts = [
        replace(run, columns=run.columns | {"level": level, "spent": np.array([0.1, 1.1])})
        for run, level in zip(runs, levels, strict=True)
    ]
    store = filled({make_setup("a", setting=replace(SETTING, highest=9)): parts})
    found = fronts(subject_of(store), ["valid-error", "time"])
    assert {seed: front.tolist() for (_, _, seed), front in found.points.items()} == {0: [[2.0, 9.0]], 1: []}


def test_a_metric_has_no_front_with_itself(filled: Fill, tmp_path: Path) -> None:
    compared = filled({make_setup(method): [make_run(s, [3.0, 2.0 + s]) for s in range(5)] for method in "ab"})
    with pytest.raises(StoreError, match="the part pareto needs two metrics"):
        report.write([compared], Request(tmp_path / "out", optional=("pareto:time,time",)))
