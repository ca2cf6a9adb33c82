"""Trainings that cannot go on, runs that end with nothing, and what is charged to which clock."""

from __future__ import annotations

import hashlib
import math
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from numpy.random import Generator

from nasbench.benchmarks import Benchmark, Evaluation, Level, Metric
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.engine import loop, plan
from nasbench.cli.engine.keys import asked_grid
from nasbench.cli.engine.plan import expand
from nasbench.cli.engine.workers import EvaluationSeeds
from nasbench.methods import Logged, Method, Needs, Problem, Proposal
from nasbench.results import Setup, Trajectory
from nasbench.results.store.journal import Journal
from tests.methods.levels import Stepwise, trajectory
from tests.nasbench_cli import toys
from tests.nasbench_cli.toy_runs import SETTING, toy_run


@pytest.mark.parametrize(("levels", "fails_at"), [((3, 27, 9), 0), ((3, 9, 27), 9)])
def test_what_has_ended_or_failed_is_not_continued(levels: tuple[int, ...], fails_at: int) -> None:
    class Fails(toys.Watched):
        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            if upto.work == fails_at:
                raise MemoryError("no memory")
            return super().measure(configuration, seed, upto, state)

    class Again(Stepwise):
        left = iter(levels)

        def ask(self) -> Proposal:
            return Proposal((0, 0, 0, 0), Level(epochs=next(self.left)), 0 if self._last else None)

    found = trajectory(Again, Fails())
    assert "trial 0 cannot be continued" in found.failure
    assert len(found) == 3


class Draws(Method):
    """Random search for several objectives."""

    needs = Needs(several=True)

    def __init__(self, problem: Problem, rng: Generator) -> None:
        self._space, self._rng, self._asked = problem.space, rng, 0

    def ask(self) -> Configuration:
        self._asked += 1
        return self._space.sample(self._rng)

    def tell(self, observation: object) -> None:
        pass


def several(method: type[Method], benchmark: Benchmark, **protocol: object) -> Trajectory:
    """A run with the objectives loss and size."""
    with mock.patch.object(plan, "open_benchmark", lambda name: benchmark):
        grid = asked_grid(
            methods=["random"], benchmarks=["nb201-cifar10"], seeds=1, objectives=["loss", "size"], **protocol
        )
        (made,) = expand([grid])
    return loop.run(made.setup, 0, toys.Spec(method), benchmark, made.bounds)


def test_an_objective_that_is_known_at_the_end_alone_fails_no_part() -> None:
    class Late(toys.Watched):
        def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
            evaluation = super().measure(configuration, seed, upto, state)
            size = evaluation.metrics["size"] if upto.work == 27 else math.nan
            return evaluation._replace(metrics={**evaluation.metrics, "size": size})

    class Steps(Stepwise):
        needs = replace(Stepwise.needs, several=True)

    found = several(Steps, Late(), evals=3)
    assert set(found.columns["status"]) == {"ok"}
    assert found.columns["level"].tolist() == [3, 9, 27] * 3


def test_a_failing_method_with_several_objectives_leaves_its_rows() -> None:
    class Stops(Draws):
        def ask(self) -> Configuration:
            if self._asked == 3:
                raise ValueError("no idea")
            return super().ask()

    found = several(Stops, toys.Toy(), evals=9)
    assert found.failure.startswith("ask: ValueError")
    assert len(found) == 4
    assert np.isnan(found.columns["metrics"][-1]).all()


def test_a_budget_in_which_nothing_ends_leaves_no_rows() -> None:
    assert len(several(Draws, toys.Toy(), budget_seconds=0.5)) == 0


def test_objectives_have_streams_of_their_own() -> None:
    objectives = ("loss", "size")
    setup = Setup(
        *("toy", (), 1, "toy", "toy-1", "none", 9, None, 1, False),
        metrics=objectives,
        setting=SETTING,
        objectives=objectives,
    )
    digest = hashlib.sha256(b'["toy", "none", "loss", "size"]').digest()[:16]
    drawn = np.random.SeedSequence((3, int.from_bytes(digest, "little"))).spawn(2)[1]
    assert loop._streams(setup, 3)[1][0] == EvaluationSeeds(drawn)[0]


def test_the_first_failure_is_the_reason() -> None:
    class Both(toys.RaisesInAsk):
        @property
        def log(self) -> list[Logged]:
            raise RuntimeError("nothing to say")

    assert toy_run(Both, evals=9).failure.startswith("ask: ValueError")


class Asks(toys.Careful):
    """Looks the size of each configuration up before its evaluation."""

    def __init__(self, problem: Problem, rng: Generator) -> None:
        super().__init__(problem, rng)
        self._problem = problem

    def ask(self) -> Configuration:
        configuration = super().ask()
        assert self._problem.known is not None
        self._problem.known("size", configuration)
        return configuration


@pytest.mark.parametrize(("priced", "paid"), [("size", 1000.0), ("loss", 0.0)])
def test_what_is_looked_up_costs_its_own_price(priced: str, paid: float) -> None:
    class Dear(toys.Toy):
        metrics = tuple(replace(m, seconds=1000.0 * (m.name == priced)) for m in toys.Toy.metrics)

    assert toy_run(Asks, Dear(), evals=1).columns["started"][0] == paid


def test_a_price_is_not_charged_on_the_wall_clock(tmp_path: Path) -> None:
    class Dear(toys.Live):
        metrics = (Metric("loss", ""), Metric("size", "", cheap=True, seconds=1000.0))

    with closing(Journal(tmp_path / "run.jsonl", "id")) as journal:
        assert toy_run(Asks, Dear(), evals=2, journal=journal).columns["started"][-1] < 1000


@pytest.mark.parametrize(("fault", "status", "reason"), [(4, "infeasible", "too large"), (0, "failed", "MemoryError")])
def test_with_several_objectives_a_refusal_and_a_failure_keep_their_reasons(
    fault: int, status: str, reason: str
) -> None:
    class Same(Draws):
        def ask(self) -> Configuration:
            return (0, 0, 0, fault)

    found = several(Same, toys.Faulty(), evals=2)
    assert found.columns["status"].tolist() == [status] * 2
    assert all(text.startswith(reason) for text in found.columns["reason"])


def test_the_one_level_of_a_benchmark_without_a_fidelity_may_be_proposed() -> None:
    class Whole(Method):
        def __init__(self, problem: Problem, rng: Generator) -> None:
            self._space, self._rng = problem.space, rng

        def ask(self) -> Proposal:
            return Proposal(self._space.sample(self._rng), Level())

        def tell(self, observation: object) -> None:
            pass

    found = toy_run(Whole, evals=3)
    assert found.failure == ""
    assert found.columns["status"].tolist() == ["ok"] * 3


def test_a_level_is_refused_where_there_is_the_whole_evaluation_alone() -> None:
    class Impatient(toys.Careful):
        def ask(self) -> Proposal:  # type: ignore[override]
            return Proposal((0, 0, 0, 0), Level(epochs=3))

    failure = toy_run(Impatient).failure
    assert "there is no level epochs 3; allowed: the whole evaluation" in failure
