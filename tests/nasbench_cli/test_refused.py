"""What is known before training is not paid for: live evaluations that violate a cheap constraint are refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from nasbench.benchmarks import Benchmark, Constraint, Evaluation, Metric, abilities, open_benchmark, parse_constraints
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.engine import loop
from nasbench.cli.engine.loop import run
from nasbench.cli.engine.plan import Grid, Protocol, expand
from nasbench.cli.engine.under_way import described
from nasbench.methods import MethodSpec, Observation, Problem
from nasbench.methods.random_search import RandomSearch
from nasbench.results import Trajectory
from nasbench.results.store.journal import Journal
from nasbench.results.store.under_way import BegunRun
from tests.nasbench_cli import toys

SMALL = parse_constraints(["size<=4"])


class Listening(RandomSearch):
    """Random search that keeps what it is told."""

    told: ClassVar[list[Observation]] = []

    def tell(self, observation: Observation) -> None:
        self.told.append(observation)


def search(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    benchmark: Benchmark,
    method: str = "random",
    train_infeasible: bool = False,
    evals: int = 40,
    limits: tuple[Constraint, ...] = SMALL,
    workers: int = 1,
) -> Trajectory:
    monkeypatch.setattr("nasbench.cli.engine.plan.open_benchmark", lambda name: benchmark)
    protocol = Protocol(evals=evals, train_infeasible=train_infeasible, workers=workers)
    (planned,) = expand([Grid((MethodSpec.parse(method),), (benchmark.name,), (limits,), (0,), protocol)])
    assert planned.setup.train_infeasible == (train_infeasible and benchmark.live)
    journal = Journal(tmp_path / "run.jsonl", "id") if benchmark.live else None
    found = run(planned.setup, 0, planned.spec, benchmark, planned.bounds, journal)
    if journal is not None:
        journal.close()
    return found


def draw_blindly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes methods draw as if nothing were refused."""
    monkeypatch.setattr(Problem, "accepted", lambda self, draw, of=None: draw())


def marks(tmp_path: Path) -> int:
    path = tmp_path / "marks"
    return len(path.read_text().split()) if path.exists() else 0


def test_a_live_network_that_is_known_to_be_too_large_is_not_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_MARKS", str(tmp_path / "marks"))
    draw_blindly(monkeypatch)
    found = search(tmp_path, monkeypatch, toys.Live())
    size = found.columns["metrics"][:, 1]
    refused = found.columns["status"] == "infeasible"
    assert (refused == (size > 4)).all()
    assert refused.sum() > 0
    assert marks(tmp_path) == (~refused).sum() == 40
    assert found.columns["spent"].tolist() == np.cumsum(~refused).tolist()
    assert np.isnan(found.columns["objective"][refused]).all()
    assert set(found.columns["reason"][refused]) <= {f"known before training: size is {n}, not <= 4" for n in range(10)}
    assert (found.columns["cost"][refused] == 0).all()
    assert not found.columns["feasible"][refused].any()


def test_with_train_infeasible_everything_is_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_MARKS", str(tmp_path / "marks"))
    found = search(tmp_path, monkeypatch, toys.Live(), train_infeasible=True)
    assert set(found.columns["status"]) == {"ok"}
    assert marks(tmp_path) == 40


def test_on_a_table_everything_is_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = search(tmp_path, monkeypatch, toys.Toy(), train_infeasible=True)
    assert set(found.columns["status"]) == {"ok"}
    assert (found.columns["metrics"][:, 1] > 4).any()


def test_a_benchmark_that_cannot_say_beforehand_is_asked_by_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent(toys.Live):
        def known(self, metric: str, configuration: Configuration) -> float:
            raise ValueError("no idea")

    found = search(tmp_path, monkeypatch, Silent())
    assert set(found.columns["status"]) == {"ok"}


def test_a_refusal_is_told_with_what_is_known_and_ranked_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Listening, "told", [])
    monkeypatch.setattr(MethodSpec, "method", property(lambda self: Listening))
    draw_blindly(monkeypatch)
    search(tmp_path, monkeypatch, toys.Live())
    bounds = abilities.bounds(toys.Live(), SMALL)
    refused = [o for o in Listening.told if o.evaluation.status == "infeasible"]
    assert refused
    for observation in refused:
        assert observation.evaluation.metrics["size"] == observation.configuration[0]
        assert math.isnan(observation.objective)
        assert observation.rank(bounds) == (bounds[0].violation(observation.configuration[0]), math.inf)


@pytest.mark.parametrize(
    "method", ["hyperband", "asha", "asha:variant=stopping", "pasha", "c-bohb", "dehb", "freeze-thaw"]
)
def test_a_refused_network_is_never_trained_on(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class LiveWatched(toys.Watched, toys.Live):
        name, kind = "toy-live-watched", "live"

    few = parse_constraints(["size<=0"])  # fewer satisfy it than a rung has places above
    draw_blindly(monkeypatch)
    found = search(tmp_path, monkeypatch, LiveWatched(), method, evals=12, limits=few)
    assert not found.failure
    refused = found.columns["trial"][found.columns["status"] == "infeasible"].tolist()
    assert refused or method == "c-bohb"  # which draws others
    assert all((found.columns["trial"] == trial).sum() == 1 for trial in refused)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["c-tpe", "rf-cei", "cnsga2", "evolution:population=10"])
def test_methods_learn_from_refusals_what_is_too_large(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw_blindly(monkeypatch)
    found = search(tmp_path, monkeypatch, toys.Live(), method, evals=80)
    refused = found.columns["status"] == "infeasible"
    assert refused.mean() < 0.35  # of random ones half are


def test_nasbots_evolution_breeds_from_what_is_less_too_large() -> None:
    table = open_benchmark("nb201-cifar10")
    bounds = abilities.bounds(table, parse_constraints(["model_size<=0.1"]))
    method = MethodSpec.parse("nasbot-ea:initial=4").build(Problem.of(table, bounds), np.random.default_rng(0))
    nothing = {metric.name: math.nan for metric in table.metrics}
    for size in (0.9, 0.2, 0.9, 0.9):
        told = nothing | {"model_size": size}
        method.tell(Observation(method.ask(), Evaluation(told, 0.0, "infeasible"), False))
    fitness = method._fitness()  # type: ignore[attr-defined]
    assert np.isfinite(fitness).all()
    assert int(np.argmax(fitness)) == 1
    method.ask()


def test_a_resumed_run_refuses_again_what_its_journal_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw_blindly(monkeypatch)
    whole = search(tmp_path, monkeypatch, toys.Live())
    assert "infeasible" in whole.columns["status"][:14]
    lines = (tmp_path / "run.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "run.jsonl").write_bytes(b"".join(lines[:15]))
    resumed = search(tmp_path, monkeypatch, toys.Live())
    for name in ("configuration", "status", "reason", "feasible", "spent"):
        assert resumed.columns[name].tolist() == whole.columns[name].tolist()


def test_digits_refuses_a_network_without_training_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(loop, "MOST_REFUSALS", 2)
    draw_blindly(monkeypatch)
    grid = Grid((MethodSpec("random"),), ("digits",), (parse_constraints(["parameters<=1"]),), (0,), Protocol(evals=5))
    (planned,) = expand([grid])
    journal = Journal(tmp_path / "run.jsonl", "id")
    found = run(planned.setup, 0, planned.spec, open_benchmark("digits"), planned.bounds, journal)
    journal.close()
    assert set(found.columns["status"][:-1]) == {"infeasible"}
    assert found.failure.startswith("the last 10 proposals were all refused, known before training: parameters is ")
    column = open_benchmark("digits").places["parameters"]
    assert (found.columns["metrics"][:, column] > 1).any()


def test_a_refusal_costs_the_stated_seconds_of_what_was_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Priced(toys.Live):
        name = "toy-priced"
        metrics = (Metric("loss", ""), Metric("size", "", cheap=True, seconds=2.5))

    draw_blindly(monkeypatch)
    found = search(tmp_path, monkeypatch, Priced(), evals=5)
    refused = found.columns["status"] == "infeasible"
    assert refused.any()
    assert (found.columns["cost"][refused] == 2.5).all()


def test_a_run_ends_with_the_reason_after_100_refusals_in_a_row_per_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = search(tmp_path, monkeypatch, toys.Live(), evals=2, limits=parse_constraints(["size<=-1"]))
    assert len(found) == 201  # the last row closes the run
    assert found.failure.startswith("the last 200 proposals were all refused, known before training: size is ")
    assert (found.columns["spent"][:-1] == 0).all()


def test_what_cannot_be_trained_is_refused_under_a_constraint_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dead(toys.Live):
        name = "toy-dead"

        def known(self, metric: str, configuration: Configuration) -> float:
            return math.nan if configuration[1] == 0 else super().known(metric, configuration)

    draw_blindly(monkeypatch)
    found = search(tmp_path, monkeypatch, Dead(), evals=30)
    dead = np.array([json.loads(text)["digit1"] == 0 for text in found.columns["configuration"]])
    assert dead.any()
    assert set(found.columns["reason"][dead]) == {"known before training: it has no size"}
    assert (found.columns["status"] == "ok").sum() == 30


@pytest.mark.parametrize(
    "method",
    [
        "random", "evolution:population=5", "local", "mcts", "smbo:explore=1", "bananas:initial=12", "c-tpe:initial=12",
        "tpe:initial=12", "treebo:initial=12", "scbo:initial=12", "hyperband", "asha", "bohb", "dehb",
        "freeze-thaw", "popnas",
    ],
)  # fmt: skip
def test_methods_draw_among_what_is_not_refused(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class LiveWatched(toys.Watched, toys.Live):
        name, kind = "toy-live-watched", "live"

    found = search(tmp_path, monkeypatch, LiveWatched(), method, evals=12, limits=parse_constraints(["size<=2"]))
    assert not found.failure
    drawn = {"mcts": 3, "bohb": 12}.get(method)  # then the tree takes each option once, and the model proposes
    assert "infeasible" not in found.columns["status"][:drawn]
    assert found.columns["spent"][-1] > 11


def test_several_workers_train_as_often_as_the_budget_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw_blindly(monkeypatch)
    found = search(tmp_path, monkeypatch, toys.Live(), evals=20, workers=3)
    assert (found.columns["status"] == "ok").sum() == 20


def test_a_run_under_way_counts_trainings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw_blindly(monkeypatch)
    found = search(tmp_path, monkeypatch, toys.Live(), evals=5)
    assert len(found) > 5
    setup = expand([Grid((MethodSpec("random"),), ("toy-live",), (SMALL,), (0,), Protocol(evals=5))])[0].setup
    begun = BegunRun(tmp_path, setup, 0, Journal(tmp_path / "run.jsonl", "id").records)
    assert begun.spent == 5
    assert ": 5 of 5 evaluations" in described([begun], 1)[0]
