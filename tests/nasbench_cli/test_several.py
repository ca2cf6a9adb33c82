"""Several objectives from the command to the report."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.random import Generator

import nasbench
from nasbench.base.fronts import Front
from nasbench.benchmarks import (
    NO_BOUNDS,
    Evaluation,
    Level,
    Metric,
    UsageError,
    abilities,
    open_benchmark,
    parse_constraints,
)
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.engine import loop, plan, shares
from nasbench.cli.engine.keys import asked_grid
from nasbench.cli.engine.plan import expand
from nasbench.methods import Method, Needs, Observation, Problem
from nasbench.results import Setup, Store, StoreError, Trajectory
from nasbench.results.store.journal import Journal
from tests.nasbench_cli.toys import Spec, Toy
from tests.results.conftest import described

OBJECTIVES = ("x-valid-error", "latency")


def planned(method: str, constraint: str = "none", objectives: tuple[str, ...] = OBJECTIVES) -> plan.PlannedSetup:
    grid = asked_grid(
        methods=[method],
        benchmarks=["nb201-cifar10"],
        constraints=[(constraint,)],
        seeds=1,
        evals=50,
        objectives=objectives,
    )
    return expand([grid])[0]


def ran(method: str, constraint: str = "none") -> Trajectory:
    made = planned(method, constraint)
    return loop.run(made.setup, 0, made.spec, open_benchmark("nb201-cifar10"), made.bounds)


@pytest.mark.parametrize("constraint", ["none", "model_size@0.3"])
def test_stored_shares_are_those_of_the_means_and_of_the_observed_values(
    constraint: str,
) -> None:
    columns = ran("random", constraint).columns
    table = open_benchmark("nb201-cifar10")
    bounds = abilities.bounds(table, parse_constraints([constraint]))
    reference = shares.reference(table, abilities.objectives(table, OBJECTIVES), bounds)
    assert reference is not None
    assert isinstance(table, abilities.KnowsMeans)
    means = [table.mean_metrics(table.space.from_values(json.loads(text))) for text in columns["configuration"]]
    feasible = np.array([all(bound.holds(m[bound.metric.name]) for bound in bounds) for m in means])
    worth = reference.shares(np.array([[m["x-valid-error@200"], m["latency"]] for m in means]), feasible)
    assert np.array_equal(columns["metrics"][:, 4], worth, equal_nan=True)
    assert np.array_equal(columns["metrics"][:, 5:], [[m["x-valid-error@200"], m["latency"]] for m in means])
    observed = reference.shares(columns["metrics"][:, [0, 3]], columns["feasible"])
    assert np.array_equal(columns["incumbent"], 1 - observed, equal_nan=True)
    assert np.isnan(columns["score"]).all()


def test_objectives_and_options_are_in_the_identity() -> None:
    one, other = (planned(name, "model_size@0.3", ()).setup for name in ("c-tpe", "c-tpe:pending=bad"))
    assert dict(one.parameters)["pending"] == "ignored"  # also a default
    assert one.id != other.id
    ids = {planned("random", objectives=o).setup.id for o in ((), OBJECTIVES, ("x-valid-error", "train_time"))}
    assert len(ids) == 3


def test_setup_with_several_objectives_survives_its_file() -> None:
    setup = planned("random").setup
    assert Setup.from_json(json.loads(json.dumps(setup.to_json()))) == setup
    assert setup.objectives == ("x-valid-error@200", "latency")
    assert setup.setting.scales == (("x-valid-error@200", "%", False, False), ("latency", "s", False, True))


def test_method_for_one_objective_is_refused_with_those_for_several() -> None:
    with pytest.raises(UsageError, match=r"^tpe does not run on .* these serve several: .*random"):
        planned("tpe")


def test_suite_file_names_objectives(tmp_path: Path) -> None:
    from nasbench.cli.engine.suites import load_suite

    file = tmp_path / "two.toml"
    text = 'methods = ["random"]\nbenchmarks = ["nb201-cifar10"]\nobjectives = ["x-valid-error", "latency"]\n'
    file.write_text(text)
    assert load_suite(file).grids[0].objectives == OBJECTIVES
    file.write_text(text.replace("latency", "latenzy"))
    with pytest.raises(UsageError, match=r"two.toml, line 3: objectives: .* \(did you mean latency\?\)"):
        expand(load_suite(file).grids)


class Told(Method):
    """Remembers what it is told."""

    needs = Needs(several=True)
    problem: Problem
    seen: list[Observation]

    def __init__(self, problem: Problem, rng: Generator) -> None:
        Told.problem, Told.seen, self._rng = problem, [], rng

    def ask(self) -> Configuration:
        return self.problem.space.sample(self._rng)

    def tell(self, observation: Observation) -> None:
        Told.seen.append(observation)


class Holed(Toy):
    """A benchmark whose size is sometimes unknown."""

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        evaluation = super().measure(configuration, seed, upto, state)
        size = float("nan") if configuration[1] < 5 else 1.0
        return evaluation._replace(metrics={**evaluation.metrics, "size": size})


def test_method_is_told_objectives_first_and_an_unknown_objective_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    toy = Holed()
    monkeypatch.setattr(plan, "open_benchmark", lambda name: toy)
    grid = asked_grid(methods=["random"], benchmarks=["nb201-cifar10"], evals=30, seeds=1, objectives=["size", "loss"])
    (made,) = expand([grid])
    columns = loop.run(made.setup, 0, Spec(Told), toy, made.bounds).columns
    assert [metric.name for metric in Told.problem.objectives] == ["size", "loss"]
    assert list(Told.seen[0].evaluation.metrics) == ["size", "loss"]
    failed = [json.loads(text)["digit1"] < 5 for text in columns["configuration"]]
    assert (columns["status"] == "failed").tolist() == failed
    assert [o.evaluation.status == "failed" for o in Told.seen] == failed
    assert any(failed)
    assert not all(failed)
    lost = [tuple(o.evaluation.metrics.values()) for o in Told.seen if o.evaluation.status == "failed"]
    assert np.isnan(lost).all()
    assert np.isnan(columns["metrics"][failed]).all()
    good = next(o for o in Told.seen if o.evaluation.status == "ok")
    assert Told.problem.losses(good) == (1.0, good.evaluation.metrics["loss"])
    assert columns["objective"][~np.array(failed)].tolist() == [1.0] * failed.count(False)


def test_adding_a_method_moves_no_score(tmp_path: Path) -> None:
    def shares(methods: list[str], store: Path) -> pd.DataFrame:
        frame = nasbench.run(
            methods, "nb201-cifar10", objectives=["x-valid-error", "latency"], seeds=2, evals=30, store=store
        )
        return frame[frame["method"] == "random"][["seed", "metric.hypervolume", "incumbent"]].reset_index(drop=True)

    assert shares(["random"], tmp_path / "a").equals(shares(["random", "evolution:population=5"], tmp_path / "b"))


def test_report_compares_shares_and_refuses_other_objectives(tmp_path: Path) -> None:
    store = tmp_path / "store"

    def run(methods: list[str], objectives: tuple[str, ...]) -> None:
        nasbench.run(methods, "nb201-cifar10", objectives=objectives, seeds=5, evals=40, store=store)

    run(["random", "evolution:population=5"], OBJECTIVES)
    report = nasbench.report(store, out=tmp_path / "report")
    assert "1 - share of the attainable hypervolume" in (tmp_path / "report" / "index.html").read_text()
    assert set(report.tables["ranks"]["method"]) == {"random", "evolution:population=5"}
    with pytest.raises(StoreError, match="with several objectives there is no score 'mean'"):
        nasbench.report(store, out=tmp_path / "report", score="mean")
    run(["random"], ("x-valid-error", "train_time"))
    with pytest.raises(StoreError, match="with the objectives x-valid-error@200, "):
        nasbench.report(store, out=tmp_path / "report")


def test_without_a_table_the_front_of_all_runs_counts_and_the_report_says_so(tmp_path: Path) -> None:
    store = tmp_path / "store"
    frame = nasbench.run(
        ["random", "local"], "synthetic-cnn", objectives=["error", "weights"], seeds=5, evals=30, store=store
    )
    assert frame["incumbent"].isna().all()
    report = nasbench.report(store, out=tmp_path / "report", format="tidy,csv")
    assert "synthetic-cnn: no table knows the exact front" in report.text.replace("\n", " ")
    ends = frame[["metric.error", "metric.weights"]].to_numpy()
    front = Front.of(ends)
    tidy = pd.read_csv(tmp_path / "report" / "tidy.csv")
    for (method, seed), rows in frame.groupby(["method", "seed"]):
        points = rows.sort_values("evaluation")[["metric.error", "metric.weights"]].to_numpy()
        own = tidy[(tidy["method"] == method) & (tidy["seed"] == seed)]
        share = front.shares(points, np.ones(len(points), bool))[-1]
        assert own[own["evaluation"] == 30]["value"].item() == pytest.approx(1 - share)
    assert max(front.shares(ends, np.ones(len(ends), bool))) == pytest.approx(1, abs=1e-12)


def test_one_run_is_shown_by_its_front_and_its_shares(tmp_path: Path) -> None:
    frame = nasbench.run("local", "nb201-cifar10", objectives=OBJECTIVES, seeds=1, evals=40, store=tmp_path / "s")
    text = described(Store.open(tmp_path / "s"), "local", "nb201-cifar10", None, 0)
    columns = frame[["metric.x-valid-error@200", "metric.latency"]].to_numpy()
    front = [i for i, own in enumerate(columns) if not any((o <= own).all() and (o < own).any() for o in columns)]
    assert f"The front of 40 feasible evaluations, as observed: {len(front)} evaluations" in text
    assert all(f"\n{i + 1:>10}  " in text for i in front)
    share, observed = frame["metric.hypervolume"].iloc[-1], 1 - frame["incumbent"].iloc[-1]
    assert f"hypervolume: {share:.4f} by the table's means, {observed:.4f} as observed" in text.replace("\n    ", " ")


def test_optunas_studies_have_every_objective(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    frame = nasbench.run("random", "nb201-cifar10", objectives=OBJECTIVES, seeds=1, evals=10, store=tmp_path / "s")
    nasbench.report(tmp_path / "s", out=tmp_path / "r", optuna=tmp_path / "log")
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(tmp_path / "log")))
    (study,) = optuna.study.get_all_study_summaries(storage)
    trials = optuna.load_study(study_name=study.study_name, storage=storage).trials
    told = frame[["metric.x-valid-error@200", "metric.latency"]].to_numpy().tolist()
    assert [trial.values for trial in trials] == told


def test_a_setting_of_several_objectives_is_in_shares_that_are_missed() -> None:
    setting, table = planned("random").setup.setting, open_benchmark("nb201-cifar10")
    known = shares.reference(table, abilities.objectives(table, OBJECTIVES), NO_BOUNDS)
    assert known is not None
    assert (setting.oracle, setting.worst, setting.score_oracle, setting.score_worst) == (0.0, 1.0, 0.0, 1.0)
    assert setting.median == 1 - known.median


class Vague(Holed):
    """A live benchmark whose size is unknown, or has no logarithm, for some configurations."""

    name, kind = "toy-vague", "live"
    metrics = (Metric("loss", ""), Metric("size", "MB"))

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        evaluation = super().measure(configuration, seed, upto, state)
        return evaluation._replace(metrics={**evaluation.metrics, "size": -1.0}) if configuration[2] < 3 else evaluation


def test_the_journal_says_that_an_evaluation_without_an_objective_has_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else --retry-failed would find nothing to repeat."""
    toy = Vague()
    monkeypatch.setattr(plan, "open_benchmark", lambda name: toy)
    grid = asked_grid(methods=["random"], benchmarks=["nb201-cifar10"], evals=20, seeds=1, objectives=["loss", "size"])
    (made,) = expand([grid])
    path = tmp_path / "run.jsonl"
    with closing(Journal(path, "id")) as journal:
        columns = loop.run(made.setup, 0, Spec(Told), toy, made.bounds, journal).columns
    digits = [json.loads(text) for text in columns["configuration"]]
    failed = [own["digit1"] < 5 or own["digit2"] < 3 for own in digits]
    assert any("has no logarithm" in reason or "by its logarithm" in reason for reason in columns["reason"])
    assert (columns["status"] == "failed").tolist() == failed
    assert any(failed)
    with closing(Journal(path, "id")) as journal:
        assert [record.status == "failed" for record in journal.records] == failed
        assert not any(record.feasible for record, bad in zip(journal.records, failed, strict=True) if bad)
