"""Runs that go in one go: where they may, they equal the event loop."""

import math
import time
from typing import Any

import numpy as np
import pytest

from nasbench.benchmarks import Evaluation, open_benchmark, parse_constraints
from nasbench.benchmarks.spaces import Hashed, Space
from nasbench.benchmarks.spaces.network_grids import CellGrid
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.benchmarks.tabular.embedded import open_embedded
from nasbench.cli.engine import runner
from nasbench.cli.engine.block import run_block
from nasbench.cli.engine.plan import Grid, Protocol, expand
from nasbench.cli.engine.runner import run
from nasbench.cli.engine.workers import EvaluationSeeds
from nasbench.methods import Method, MethodSpec
from nasbench.methods.random_search import RandomSearch
from nasbench.results import Setup
from tests.nasbench_cli.toys import Spec


@pytest.mark.parametrize("bench", ["nb201-cifar10", "hpolib-naval", "hpobench-car", "sk-boosting-wine"])
@pytest.mark.parametrize("workers", [1, 2, 7, 60])
@pytest.mark.parametrize("constraint", ["none", "train_time@0.1", "train_time>=0.01+train_time@0.9"])
def test_a_run_in_one_go_equals_the_event_loop(
    bench: str, workers: int, constraint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    constraints = (parse_constraints([constraint]),)
    grid = Grid((MethodSpec("random"),), (bench,), constraints, (0,), Protocol(50, None, workers))
    (planned,) = expand([grid])
    for seed in (0, 1):
        at_once = run(planned.setup, seed, planned.spec, open_benchmark(bench), planned.bounds)
        with monkeypatch.context() as patch:
            patch.setattr(runner, "run_block", lambda *_: None)
            looped = run(planned.setup, seed, planned.spec, open_benchmark(bench), planned.bounds)
        assert at_once.columns.keys() == looped.columns.keys()
        for name in at_once.columns.keys() - {"thinking"}:
            assert at_once.columns[name].dtype == looped.columns[name].dtype, name
            np.testing.assert_array_equal(at_once.columns[name], looped.columns[name], err_msg=name)


def in_one_go(
    method: str = "random",
    table: TabularBenchmark | None = None,
    evals: int | None = 50,
    seconds: float | None = None,
    charge_thinking: bool = False,
) -> dict[str, np.ndarray] | None:
    protocol = Protocol(evals, seconds, charge_thinking=charge_thinking)
    (planned,) = expand([Grid((MethodSpec(method),), ("nb201-cifar10",), ((),), (0,), protocol)])
    benchmark = table or open_benchmark("nb201-cifar10")
    seeds = EvaluationSeeds(np.random.SeedSequence(1))
    return run_block(planned.setup, planned.spec, benchmark, (), np.random.default_rng(0), seeds)


def test_a_run_goes_in_one_go_where_it_may_and_nowhere_else() -> None:
    """Else the comparison with the event loop would compare the loop with itself."""
    begin = time.perf_counter()
    found = in_one_go()
    assert found is not None
    assert 0 < found["thinking"].sum() < time.perf_counter() - begin
    assert in_one_go("evolution") is None
    assert in_one_go(evals=None, seconds=1e5) is None
    assert in_one_go(seconds=1e5) is None  # whichever ends first
    assert in_one_go(charge_thinking=True) is None


@pytest.mark.parametrize(
    ("column", "value"),
    [("objective", math.nan), ("objective", 1e101), ("cost", math.inf), ("cost", -1.0), ("cost", 1e101)],
)
def test_a_table_with_what_is_no_number_is_left_to_the_event_loop(column: str, value: float) -> None:
    """There each such evaluation is recorded as failed."""
    table = open_embedded("nb201-cifar10")
    values = table.values.copy()
    values[:, :, table.cost_column if column == "cost" else 0] = value
    broken = TabularBenchmark(
        table.name,
        table.family,
        table.space,
        table.metrics,
        lambda: values,
        cost=table.metrics[table.cost_column].name,
        source=table.source,
        licence=table.licence,
        checksum=table.checksum,
    )
    assert in_one_go(table=broken) is None


class Constant(RandomSearch):
    """Overrides only how it asks for one."""

    def ask(self) -> tuple[int, ...]:
        return (1, 2, 3, 4, 0, 0)


class Shifted(TabularBenchmark):
    """Overrides only how it evaluates one."""

    def measure(self, configuration: Any, seed: int, upto: Any, state: Any, /) -> Evaluation:
        evaluation = super().measure(configuration, seed, upto, state)
        name = self.objective.name
        return evaluation._replace(metrics={**evaluation.metrics, name: evaluation.metrics[name] + 1000})


class Lazy(CellGrid):
    """Overrides only how it samples one."""

    def sample(self, rng: np.random.Generator) -> tuple[int, ...]:
        return (0,) * 6


class Sorted(Constant, blockwise=True):
    """Says that its ways for one and for many agree."""


def test_only_a_class_that_says_so_itself_goes_in_blocks() -> None:
    assert all(kind.blockwise for kind in (RandomSearch, TabularBenchmark, CellGrid, Sorted))
    assert not any(kind.blockwise for kind in (Constant, Shifted, Lazy, Method, Space))


def test_what_is_overridden_for_one_is_not_passed_over_for_many() -> None:
    (planned,) = expand([Grid((MethodSpec("random"),), ("nb201-cifar10",), ((),), (0,), Protocol(20))])
    table = open_benchmark("nb201-cifar10")
    constant = run(planned.setup, 0, Spec(Constant), table, ())
    assert set(constant.columns["configuration"]) == {table.space.to_json((1, 2, 3, 4, 0, 0))}
    shifted = open_embedded("nb201-cifar10")
    shifted.__class__ = Shifted
    assert (run(planned.setup, 0, planned.spec, shifted, ()).columns["objective"] > 1000).all()
    lazy = open_embedded("nb201-cifar10")
    lazy.space = Lazy(lazy.space.hyperparameters)
    first = run(planned.setup, 0, planned.spec, lazy, ())
    assert set(first.columns["configuration"]) == {table.space.to_json((0,) * 6)}
    assert Hashed(lazy.space, 64).draw(5, np.random.default_rng(0))[0](4) == (0,) * 6


def test_whole_and_broken_numbers_of_seconds_are_one_budget() -> None:
    def setup(seconds: float) -> Setup:
        grid = Grid((MethodSpec("random"),), ("nb201-cifar10",), ((),), (0,), Protocol(None, seconds))
        return expand([grid])[0].setup

    assert setup(20000) == setup(20000.0)
    assert setup(20000).id == setup(20000.0).id
