"""No method sees a number measured on a test split, whichever way its run is computed."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasbench.benchmarks import BENCHMARKS, NO_BOUNDS, Benchmark, Metric, UsageError, abilities, parse_constraints
from nasbench.benchmarks.spaces import GridSpace
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.cli.engine import batches
from nasbench.cli.engine.batches import Batch, compute_batch
from nasbench.cli.engine.loop import run
from nasbench.cli.engine.plan import PlannedSetup, open_benchmark
from nasbench.methods import Problem
from nasbench.results import Setup, Trajectory
from nasbench.results.store.journal import Journal
from tests.conftest import Lend
from tests.nasbench_cli import toys
from tests.nasbench_cli.conftest import Command
from tests.nasbench_cli.spied import TEST, check_run, check_store
from tests.nasbench_cli.toy_runs import SETTING
from tests.nasbench_cli.toys import Spec


def planned(benchmark: Benchmark, evals: int = 12, **protocol: Any) -> PlannedSetup:
    """A run of the spy."""
    facts = {"seconds": None, "workers": 1, "charge_thinking": False} | protocol
    names = tuple(metric.name for metric in benchmark.metrics)
    setting = replace(SETTING, test_metrics=(names[TEST],))
    setup = Setup("spy", (), 1, benchmark.name, "toy-1", "none", evals, **facts, metrics=names, setting=setting)
    return PlannedSetup(setup, Spec(toys.Spy), (), (0,))


def spied(benchmark: Benchmark, journal: Journal | None = None, **protocol: Any) -> Trajectory:
    plan = planned(benchmark, **protocol)
    return run(plan.setup, 0, plan.spec, benchmark, NO_BOUNDS, journal)


def table() -> TabularBenchmark:
    """The toy with its test split as a table of two repetitions, whose cost is a metric."""
    space = GridSpace(toys.Toy.space.hyperparameters)
    loss = np.arange(space.size * 2, dtype=float).reshape(-1, 2) % 997
    values = np.stack([loss, loss % 10, -1001 - loss, 1 + loss % 5], axis=-1)
    facts = {"source": "made here", "licence": "MIT", "checksum": "toy-1"}
    metrics = [*toys.Tested.metrics, Metric("time", "s")]
    return TabularBenchmark("toy-table", "toy", space, metrics, lambda: values, cost="time", **facts)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("charge_thinking", [False, True])
def test_no_method_sees_test_metrics_of_a_table(workers: int, charge_thinking: bool) -> None:
    check_run(spied(table(), workers=workers, charge_thinking=charge_thinking))
    check_run(spied(toys.Tested(), workers=workers, charge_thinking=charge_thinking))


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kept", [0, 5, 12])
def test_no_method_sees_test_metrics_of_a_live_run_nor_of_its_journal(workers: int, kept: int, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    first = Journal(path, "id")
    check_run(spied(toys.TestedLive(), first, workers=workers))
    first.close()
    lines = path.read_text().splitlines(keepends=True)
    assert all(json.loads(line)["metrics"][TEST] < -1000 for line in lines[1:])  # so a replay could tell it
    path.write_text("".join(lines[: kept + 1]))
    again = Journal(path, "id")
    assert len(again.records) == kept
    check_run(spied(toys.TestedLive(), again, workers=workers))
    again.close()


def test_no_method_sees_test_metrics_in_a_pool_of_processes(command: Command, tmp_path: Path) -> None:
    asked = ["run", "--method", "spy", "--bench", "toy-tested", "--bench", "toy-tested-live", "--seeds", 3]
    done = command(*asked, "--evals", 7, "--jobs", 2, "--store", "s")
    assert done.returncode == 0, done.stderr
    check_store(tmp_path / "s", runs=6)


@pytest.mark.parametrize("benchmark", [toys.Tested(), toys.TestedLive()], ids=lambda benchmark: benchmark.name)
@pytest.mark.parametrize("shared", [True, False])
def test_no_method_sees_test_metrics_in_what_another_machine_computes(
    benchmark: Benchmark, shared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine that sees the store and on one that does not."""
    monkeypatch.setattr(batches, "open_benchmark", lambda name: benchmark)
    folder = tmp_path if shared else tmp_path / "elsewhere"
    results, *_ = compute_batch(Batch(planned(benchmark), (0, 1)), folder)
    trajectories = [trajectory for computed in results for trajectory in computed.trajectories]
    assert [trajectory.seed for trajectory in trajectories] == [0, 1]
    for trajectory in trajectories:
        check_run(trajectory)


class Tattling(toys.Tested):
    """Answers whatever it is asked before training, and calls its test metric cheap."""

    name = "toy-tattling"
    metrics = (*toys.Toy.metrics, Metric("test-loss", "", split="test", cheap=True))

    def known(self, metric: str, configuration: Any) -> float:
        return self.evaluate(configuration, 0).metrics[metric]


def test_no_method_is_told_test_metrics_before_an_evaluation() -> None:
    problem = Problem.of(Tattling())
    assert problem.known is not None
    assert problem.known("size", (4, 0, 0, 0)) == 4
    with pytest.raises(UsageError, match="test-loss of toy-tattling is measured on a test split"):
        problem.known("test-loss", (4, 0, 0, 0))


class Swapped(toys.Tested):
    """Minimises its test metric."""

    metrics = toys.Tested.metrics[::-1]


def test_a_problem_names_no_test_metric(lend: Lend) -> None:
    """Neither as the objective nor in a constraint; the rest is the space, the levels, a file, and configurations."""
    known = {
        "budget",
        "space",
        "objectives",
        "constraints",
        "known",
        "state",
        "fidelity",
        "told",
        "knowledge",
        "experts",
        "refusals",
    }
    assert {field.name for field in fields(Problem)} == known
    benchmark = toys.Tested()
    assert Problem.of(benchmark).objective.name == "loss"
    told = Problem.of(benchmark).told
    assert [metric.name for metric in told.values()] == [m.name for m in benchmark.metrics if not m.is_test]
    assert all(metric.name == name for name, metric in told.items())
    assert any(metric.is_test for metric in benchmark.metrics)
    for text in ("test-loss<=1", "test-loss>=1", "test-loss@0.1", "test-loss@S"):
        with pytest.raises(UsageError, match="reported and never selected on"):
            abilities.bounds(benchmark, parse_constraints([text]))
    lend(BENCHMARKS, "toy-tested", Swapped)
    with pytest.raises(UsageError, match="a metric used for selection cannot be reported as test"):
        open_benchmark("toy-tested")


@pytest.mark.parametrize("name", ["nb201-cifar10", "hpolib-naval", "digits", "synthetic-cnn"])
def test_what_is_known_before_an_evaluation_is_what_is_declared_cheap(name: str) -> None:
    benchmark = open_benchmark(name)
    configuration = benchmark.space.sample(np.random.default_rng(0))
    known = Problem.of(benchmark).known
    assert known is not None
    assert not any(metric.cheap and metric.is_test for metric in benchmark.metrics)
    for metric in benchmark.metrics:
        if metric.cheap:
            value = known(metric.name, configuration)
            if benchmark.live:
                assert math.isfinite(value)
            else:
                assert value == benchmark.evaluate(configuration, 0).metrics[metric.name]
        else:
            with pytest.raises(UsageError):
                known(metric.name, configuration)


def test_a_spy_hears_of_a_failed_evaluation_nothing_but_its_failure() -> None:
    class Broken(toys.Tested):
        def measure(self, configuration: Any, seed: int, upto: Any, state: Any, /) -> Any:
            return super().measure(configuration, seed, upto, state)._replace(status="failed", reason="on purpose")

    found = spied(Broken())
    assert np.isnan([row[2] for row in found.log]).all()
    assert np.isnan(found.columns["metrics"]).all()


def test_the_spy_hears_everything_where_nothing_is_a_test_metric() -> None:
    """Its silence above is no deafness."""
    setup = replace(planned(toys.Tested()).setup, metrics=("loss", "size"), setting=SETTING)
    found = run(setup, 0, Spec(toys.Spy), toys.Toy(), NO_BOUNDS)
    np.testing.assert_array_equal([row[2] for row in found.log], found.columns["metrics"].ravel())
