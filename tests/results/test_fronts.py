"""The part `fronts`, and the indicators of fronts, held against enumeration."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nasbench
from nasbench.base.fronts import Front, losses
from nasbench.base.metrics import Scale
from nasbench.benchmarks import abilities, open_benchmark
from nasbench.cli.engine import shares
from nasbench.results.display.panels import Panel
from nasbench.results.parts.fronts import part as fronts_part
from nasbench.results.parts.importance import importances
from nasbench.results.parts.score import ranks as ranks_by_score
from nasbench.results.reading import load, select, union_fronts
from nasbench.results.report import single_run
from nasbench.results.scores import SHARE, Incumbents
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.fronts import quality
from nasbench.results.store.trajectory import HYPERVOLUME, MEAN_OF
from nasbench.results.subject import Subject
from tests.results.conftest import SETTING, Fill, make_run, make_setup

SCALES: tuple[Scale, ...] = (Scale("error", "%", False, False), Scale("speed", "1/s", True, True))
FRONT = np.array([[1.0, 10.0], [2.0, 100.0], [4.0, 1000.0]])


def test_losses_are_lower_where_better_and_logarithms_on_a_log_scale() -> None:
    table = open_benchmark("nb201-cifar10")
    scales = [m.scale for m in abilities.objectives(table, ("x-valid-error", "latency"))]
    assert losses(np.array([9.0, 100.0]), scales).tolist() == [9.0, 2.0]
    assert losses(FRONT, SCALES).tolist() == [[1, -1], [2, -2], [4, -3]]


@pytest.mark.parametrize(("first", "share"), [([2.0, 100.0], 1 / 3), ([2.6, 60.0], 0.0)])
def test_indicators_equal_their_definitions(first: list[float], share: float) -> None:
    values = np.array([first, [3.0, 500.0], [6.0, 20.0]])
    points, exact = (losses(v, SCALES) for v in (values, FRONT))
    low, extent = exact.min(axis=0), 1.1 * np.ptp(exact, axis=0)
    points, exact = (points - low) / extent, (exact - low) / extent
    beyond = [np.maximum(points - z, 0) for z in exact]
    found = quality(values, FRONT, SCALES)
    assert found.igd_plus == pytest.approx(np.mean([np.sqrt((b**2).sum(axis=1)).min() for b in beyond]))
    assert found.epsilon == pytest.approx(max((points - z).max(axis=1).min() for z in exact))
    assert found.found == pytest.approx(share)
    perfect, nothing = quality(FRONT, FRONT, SCALES), quality(FRONT[:0], FRONT, SCALES)
    assert (perfect.igd_plus, perfect.epsilon, perfect.found) == (0, 0, 1)
    assert nothing.epsilon == pytest.approx(1)
    assert nothing.found == 0


def test_part_shows_what_the_stored_means_say_and_draws_the_exact_front(tmp_path: Path) -> None:
    names = ["val-error", "model_size"]
    bench = "sk-svm-digits"
    frame = nasbench.run(
        ["random", "local"],
        bench,
        objectives=names,
        constraints="train_time@0.5",
        seeds=5,
        evals=40,
        store=tmp_path / "s",
    )
    report = nasbench.report(tmp_path / "s", out=tmp_path / "r", format="svg,html")
    table = open_benchmark(bench)
    bounds = abilities.bounds(table, nasbench.parse_constraints(["train_time@0.5"]))
    reference = shares.reference(table, abilities.objectives(table, tuple(names)), bounds)
    assert reference is not None
    exact = set(map(tuple, reference.values.tolist()))
    shown = report.tables["fronts"].set_index("method")
    for method, rows in frame[frame["score_feasible"].astype(bool)].groupby("method"):
        runs = rows.groupby("seed")[["metric.mean.val-error", "metric.mean.model_size"]]
        found = [len(exact & set(map(tuple, run.to_numpy().tolist()))) / len(exact) for _, run in runs]
        assert shown.loc[method, "found"] == pytest.approx(np.mean(found))
    drawn = (tmp_path / "r" / f"fronts-{bench}.svg").read_text()
    assert 'class="reference fine"' in drawn


def test_what_is_compared_with_several_objectives_is_called_a_share(tmp_path: Path) -> None:
    nasbench.run(
        ["random", "local"],
        "hpolib-naval",
        objectives=["valid-mse", "train_time"],
        seeds=2,
        evals=9,
        store=tmp_path / "s",
    )
    for score, phrase in (("share", "1 - share of the"), ("observed", "1 - observed share of the")):
        nasbench.report(tmp_path / "s", out=tmp_path / "r", format="svg,html", score=score)
        assert f"{phrase} attainable hypervolume" in (tmp_path / "r" / "curves-hpolib-naval.svg").read_text()
        assert "incumbent's observed objective" not in (tmp_path / "r" / "index.html").read_text()


def test_one_objective_has_no_such_part(tmp_path: Path) -> None:
    nasbench.run("random", "nb201-cifar10", seeds=2, evals=10, store=tmp_path / "s")
    assert "fronts" not in nasbench.report(tmp_path / "s", out=tmp_path / "r").tables


def test_a_front_of_one_point_is_measured_in_its_units() -> None:
    found = quality(np.array([[2.0, 10.0]]), np.array([[1.0, 10.0]]), SCALES)
    assert (found.igd_plus, found.epsilon, found.found) == (1, 1, 0)


def test_what_rounding_leaves_of_a_whole_front_is_nothing() -> None:
    columns = {f"metric.{HYPERVOLUME}": np.array([np.nan, 0.5, 1 - 4.4e-16, 1.0, 1 + 4.4e-16])}
    values = SHARE.values(Incumbents(columns, np.ones(5, bool), np.arange(5), np.zeros(5), np.ones(5, bool)))
    assert values is not None
    assert np.array_equal(values, [np.nan, 0.5, 0.0, 0.0, 0.0], equal_nan=True)


def test_with_several_objectives_what_was_observed_is_a_share_and_luck_is_none(filled: Fill) -> None:
    scales = (("accuracy", "%", True, False), ("time", "", False, False))
    comparison = _of_two_methods(filled, scales, ((90.0, 5.0), (80.0, 2.0), (70.0, 1.0))).comparison
    table = ranks_by_score(comparison)
    assert "observed: 1 - observed share of the attainable hypervolume" in table.note
    assert "luck" not in table.note
    assert "luck %" not in table.shown


TWO = {"objectives": ("valid-error@1", "time")}
UNSCALED = replace(SETTING, scales=(("valid-error@1", "%", False, False), ("time", "", False, False)))


def test_an_exact_front_is_not_replaced_by_that_of_the_runs(filled: Fill) -> None:
    """Else a method that is added would move the others' scores."""
    setting = replace(UNSCALED, front=((0.5, 0.5),))
    chosen = select([filled({make_setup(setting=setting, **TWO): [make_run(0, [3.0, 2.0])]})])
    assert union_fronts(chosen) == {}
    assert load(chosen).observed.tolist() == [[3.0, 2.0]]


def test_the_front_of_all_runs_holds_feasible_full_evaluations_alone(filled: Fill) -> None:
    """The first of four evaluations violates a constraint, and the second is a part of a training."""
    run = make_run(0, [1.0, 2.0, 5.0, 6.0], [False, True, True, True])
    run.columns["metrics"][:, 1] = [1.0, 1.0, 4.0, 3.0]
    run.columns["level"][:], run.columns["spent"][:] = [3, 1, 3, 3], [1, 4 / 3, 7 / 3, 10 / 3]
    chosen = select([filled({make_setup(setting=replace(UNSCALED, highest=3), evals=4, **TWO): [run]})])
    (front,) = union_fronts(chosen).values()
    assert front.ideal.tolist() == [5.0, 3.0]
    assert front.extent.tolist() == pytest.approx([1.1, 1.1])
    (observed,) = load(chosen).observed
    assert np.isnan(observed[:2]).all()
    (share,) = front.shares(np.array([[5.0, 4.0]]), np.ones(1, bool))
    assert observed[2:].tolist() == pytest.approx([1 - share, 0.0])


def test_where_all_of_a_front_has_one_value_the_worst_feasible_one_gives_the_scale() -> None:
    assert Front.of(np.array([[1.0, 1.0], [2.0, 3.0]])).extent.tolist() == pytest.approx([0.1, 0.2])
    assert Front.of(np.array([[1.0, 2.0], [5.0, 2.0]])).extent.tolist() == pytest.approx([0.4, 1.0])


def test_a_run_that_dominates_nothing_by_the_means_has_found_nothing_however_it_is_stored(filled: Fill) -> None:
    """What was observed never counts instead: not even where no run of its fragment has a share."""
    setting = replace(UNSCALED, front=((0.5, 0.5),))
    metrics = ("valid-error@1", "time", HYPERVOLUME)
    store = filled({})
    for seeds in ((0, 1), (2,)):
        runs = [make_run(seed, [3.0, 2.0]) for seed in seeds]
        for run in runs:
            shares_ = [np.nan, 0.25] if run.seed == 0 else [np.nan, np.nan]
            run.columns["metrics"] = np.column_stack([run.columns["metrics"], shares_])
        filled({make_setup(setting=setting, evals=2, metrics=metrics, **TWO): runs})
    curves = load(select([store]), SHARE)
    by_seed = dict(zip(curves.runs["seed"], curves.by_score["share"], strict=True))
    assert np.array_equal(by_seed[0], [np.nan, 0.75], equal_nan=True)
    assert np.isnan([by_seed[1], by_seed[2]]).all()


def _of_two_methods(filled: Fill, scales: tuple[Scale, ...], front: tuple[tuple[float, float], ...]) -> Subject:
    """Five runs each of two methods; the first objective is drawn from 60 to 89, the second from 1 to 9."""
    objectives = tuple(name for name, *_ in scales)
    maximised = tuple(name for name, _, is_maximised, _ in scales if is_maximised)
    own = replace(SETTING, scales=scales, front=front, maximised=maximised)
    metrics = (*objectives, HYPERVOLUME, *(MEAN_OF + name for name in objectives))
    rng = np.random.default_rng(0)
    setups = {}
    for method in "ab":
        runs = []
        for seed in range(5):
            first, second = rng.uniform(60, 89, 60), rng.uniform(1, 9, 60)
            run = make_run(seed, first.tolist(), scores=[(math.nan, True)] * 60)
            choices = [f'{{"good": {int(a > 86)}, "poor": {int(a < 62)}}}' for a in first]
            known = np.column_stack([first, second, np.linspace(0.1, 0.5, 60), first, second])
            runs.append(replace(run, columns=run.columns | {"configuration": np.array(choices), "metrics": known}))
        setups[make_setup(method, setting=own, evals=60, metrics=metrics, objectives=objectives)] = runs
    chosen = select([filled(setups)])
    curves = load(chosen, SHARE)
    return Subject(Comparison(curves, 0, (curves.end,)), chosen)


def _panel(subject: Subject) -> Panel:
    part = fronts_part(subject)
    assert part is not None
    (panel,) = part.charts[0].panels(41)
    return panel


def test_a_maximised_first_objective_ascends_in_charts_and_its_best_are_the_important_ones(filled: Fill) -> None:
    scales = (("accuracy", "%", True, False), ("time", "", False, False))
    found = _of_two_methods(filled, scales, ((90.0, 5.0), (80.0, 2.0), (70.0, 1.0)))
    panel = _panel(found)
    assert (np.diff(panel.x) > 0).all()
    assert panel.bound is not None
    assert [float(panel.bound[np.searchsorted(panel.x, x)]) for x in (69.0, 85.0)] == [1.0, 5.0]
    ((_, _, _, values),) = importances(found)
    assert values["good"] > 10 * values["poor"]


def test_a_maximised_second_objective_has_its_best_on_top_of_linear_axes(filled: Fill) -> None:
    scales = (("error", "%", False, False), ("profit", "", True, False))
    panel = _panel(_of_two_methods(filled, scales, ((59.0, 3.0), (70.0, 8.0), (80.0, 9.0))))
    assert not (panel.log or panel.xlog or panel.best_on_top)  # a place is best if low, and then on top
    assert panel.limits[0] < panel.limits[1]
    assert panel.bound is not None
    assert [float(panel.bound[np.searchsorted(panel.x, x)]) for x in (65.0, 75.0)] == [3.0, 8.0]


def test_the_picture_of_a_run_shows_the_best_network_of_a_maximised_first_objective(
    filled: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = replace(SETTING, maximised=("valid-error@1",))
    run = make_run(0, [0.5, 0.9, 0.1])
    nets = [json.dumps({"labels": [f"conv{i}"], "units": [1], "edges": []}) for i in range(3)]
    run = replace(run, columns=run.columns | {"configuration": np.array(nets)})
    store = filled({make_setup(setting=setting, objectives=("valid-error@1", "time")): [run]})
    drawn = []
    monkeypatch.setattr(single_run.networks, "draw", drawn.append)
    single_run.incumbent(*single_run.find_runs(store, "random", "toy", None, 0))
    assert [values["labels"] for values in drawn] == [["conv1"]]
