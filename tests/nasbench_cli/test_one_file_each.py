"""A plug-in of each kind is one file of `tests/plugin`, which keeps its promises and runs without a change of ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nasbench.benchmarks import BENCHMARKS, Evaluation, Level, Metric
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.checks import BENCHMARK_CHECKS, EXECUTOR_CHECKS, METHOD_CHECKS, Check, Failed
from nasbench.cli.engine.executors import EXECUTORS
from nasbench.methods import METHODS, Method, Observation, Problem
from tests.conftest import Lend, Printed
from tests.nasbench_cli.toy_runs import toy_run
from tests.plugin.launched import Launched
from tests.plugin.priced import SECONDS, Priced
from tests.plugin.softmax import Softmax
from tests.plugin.two_objectives import WeightedSteps


@pytest.fixture(autouse=True)
def plugged_in(lend: Lend) -> None:
    """Gives the plug-ins their names, as the entry points of a package do."""
    lend(METHODS, "weighted-steps", WeightedSteps)
    lend(EXECUTORS, "launched", Launched)
    lend(BENCHMARKS, "softmax", Softmax)
    lend(BENCHMARKS, "priced", Priced)


@pytest.mark.parametrize("check", METHOD_CHECKS, ids=str)
def test_a_method_for_two_objectives_keeps_a_methods_promises(check: Check) -> None:
    check("weighted-steps", "priced")


@pytest.mark.parametrize("name", ["softmax", "priced"])
@pytest.mark.parametrize("check", BENCHMARK_CHECKS, ids=str)
def test_a_benchmark_of_one_file_keeps_a_benchmarks_promises(check: Check, name: str) -> None:
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("promise", ["stops when told", "records a run that ends its process"])
def test_an_executor_of_one_file_keeps_an_executors_promises(promise: str) -> None:
    """The dearer ones are tried with the executor of docs/plugins.md (test_executors.py)."""
    (check,) = (check for check in EXECUTOR_CHECKS if check.promise.startswith(promise))
    check("launched:prefix=nice")


def front(observed: list[tuple[float, float]]) -> set[tuple[float, float]]:
    return {a for a in observed if not any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in observed)}


def test_a_method_is_given_all_objectives_and_finds_their_front() -> None:
    """On x² and (x - 7)² with x among 0 … 7, each point is on the front; one objective has a single best point."""
    objectives = Metric("left", ""), Metric("right", "", minimize=False)
    space = Priced().space
    for chosen, expected in ((objectives, 8), (objectives[:1], 1)):
        problem = Problem(space, chosen, told={metric.name: metric for metric in objectives})
        method = WeightedSteps(problem, np.random.default_rng(0))
        observed = []
        for _ in range(300):
            configuration = method.ask()
            x = float(configuration[0])
            values = {"left": x**2, "right": -((x - 7) ** 2)}
            method.tell(Observation(configuration, Evaluation(values, 1.0), True))
            observed.append((x**2, (x - 7) ** 2))
        late = front(observed) if len(chosen) == 2 else set(observed[-100:])
        assert len(late) >= expected
        if len(chosen) == 1:
            assert sum(left == 0 for left, _ in observed[-100:]) > 50


class Buys(Method):
    """Asks for the price of every configuration that it proposes."""

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self.problem, self.rng = problem, rng

    def ask(self) -> Configuration:
        configuration = self.problem.space.sample(self.rng)
        assert self.problem.known is not None
        self.problem.known("guess", configuration)
        return configuration

    def tell(self, observation: Observation) -> None:
        """Ignored."""


def test_a_metric_at_a_price_is_charged_on_a_table() -> None:
    bought = toy_run(Buys, Priced(), evals=5)
    assert bought.columns["finished"].tolist() == [(60.0 + SECONDS) * n for n in range(1, 6)]
    assert bought.columns["cost"].tolist() == [60.0] * 5  # a price is not a part of the training


def test_levels_of_both_axes_and_kept_trainings_run_from_the_command_line(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    done = nasbench(
        "run", "--method", "hyperband", "--bench", "softmax", "--seeds", 1, "--evals", 4, "--store", tmp_path
    )
    assert done.code == 0, done.err
    frame = pd.read_parquet(tmp_path)
    assert set(frame["level"]) == {200, 600, 1800}
    assert frame["trial"].duplicated().any()


class Careless(Softmax):
    """Keeps its training in a file that a kill can leave half-written, and believes whatever it finds there."""

    name = "careless"

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        if state is not None:
            if state.exists():
                np.frombuffer(state.read_bytes(), count=4)
            state.write_bytes(np.arange(4.0).tobytes())
        return super().measure(configuration, seed, upto, None)


class Forgetful(Softmax):
    """Counts from the kept level on, also where it was to stop at that very level."""

    name = "forgetful"

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        further = seed + 1 if state is not None and state.exists() else seed
        if state is not None:
            state.write_bytes(b"kept")
        return super().measure(configuration, further, upto, None)


@pytest.mark.parametrize(
    ("benchmark", "said"),
    [(Careless, "buffer is smaller"), (Forgetful, "after a kill before its record was written")],
)
def test_a_training_that_a_kill_spoils_is_found(lend: Lend, benchmark: type[Softmax], said: str) -> None:
    lend(BENCHMARKS, benchmark.name, benchmark)
    (check,) = (check for check in BENCHMARK_CHECKS if check.promise == "kept trainings survive a kill")
    with pytest.raises((Failed, ValueError), match=said):
        check(benchmark.name)


class BuysTwice(Buys):
    """Asks for the price of each of its proposals twice."""

    def ask(self) -> Configuration:
        configuration = super().ask()
        assert self.problem.known is not None
        self.problem.known("guess", configuration)
        return configuration


def test_each_time_that_a_price_is_asked_for_it_is_charged() -> None:
    bought = toy_run(BuysTwice, Priced(), evals=5)
    assert bought.columns["finished"].tolist() == [(60.0 + 2 * SECONDS) * n for n in range(1, 6)]
