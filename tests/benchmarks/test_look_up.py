"""Tests for one-shot searches whose draws are looked up in a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nasbench.base.errors import UsageError
from nasbench.benchmarks import open_benchmark
from nasbench.benchmarks.images import DATASETS, LookUp
from nasbench.benchmarks.images.look_up import _percentiles
from nasbench.benchmarks.spaces import AsSupernet
from nasbench.benchmarks.spaces.cells import Stage
from nasbench.benchmarks.spaces.cells.operations import sized
from nasbench.benchmarks.spaces.network_grids import CellGrid
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.methods import MethodSpec
from nasbench.methods.contract import METHODS
from nasbench.methods.problem import Problem
from tests.conftest import Printed

NAME = "supernet:digits:nb201-cifar10"


@pytest.fixture(scope="module")
def look_up() -> LookUp:
    benchmark = open_benchmark(NAME)
    assert isinstance(benchmark, LookUp)
    return benchmark


def test_the_objective_is_the_percentile_of_the_mean_error(look_up: LookUp) -> None:
    table = open_benchmark("nb201-cifar10")
    assert isinstance(table, TabularBenchmark)
    rng = np.random.default_rng(0)
    means = pd.Series([table.mean_metrics(table.space.configuration(k))[table.objective.name] for k in range(15_625)])
    percentiles = (100 * (means.rank() - 0.5) / 15_625).to_numpy()
    assert percentiles.mean() == pytest.approx(50)
    for row in rng.integers(15_625, size=200).tolist():
        evaluation = look_up.evaluate(look_up.space.configuration(row), int(rng.integers(1000)))
        assert evaluation.cost == 0
        assert evaluation.metrics["percentile"] == pytest.approx(percentiles[row], abs=1e-9)
        assert evaluation.metrics[table.objective.name] == means[row]


def test_a_network_becomes_the_cell_of_the_table(look_up: LookUp) -> None:
    assert isinstance(look_up.space, AsSupernet)
    searchable = look_up.space.as_supernet()
    names = ("nor_conv_3x3", "none", "skip_connect", "avg_pool_3x3", "nor_conv_1x1", "none")
    assert set(names) <= {sized(name, 3) for name in searchable.operations}
    cell = searchable.configuration([Stage(names, 3)] * 3)
    assert tuple(look_up.space.values(cell).values()) == names


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("supernet:digits:hpolib-naval", "hpolib-naval is no table of cells, such as nb201-cifar10 or cells-organa"),
        ("supernet:digits:nb201-cifar11", "did you mean nb201-cifar10"),
        ("supernet:digit:nb201-cifar10", "did you mean digits"),
        ("supernet:digits", "as in supernet:digits:nb201-cifar10"),
    ],
)
def test_other_names_are_refused(name: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        open_benchmark(name)


@pytest.mark.parametrize("method", ["zo-darts++", "spos:cells=each", "one-shot-random:cells=each", "proxy:cells=each"])
def test_a_search_for_a_cell_per_stage_is_refused(look_up: LookUp, method: str) -> None:
    problem = Problem(look_up.space, (look_up.objective,))
    with pytest.raises(UsageError, match="has networks of one cell"):
        MethodSpec.parse(method).build(problem, np.random.default_rng(0))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["darts", "zo-darts+", "spos", "one-shot-random"])
def test_one_shot_methods_draw_cells(look_up: LookUp, method: str) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    options = {
        "darts": {"epochs": 1, "order": 1},
        "zo-darts+": {"epochs": 1, "stop": 1, "T": 5},
        "spos": {"epochs": 1, "population": 2, "generations": 1},
    }
    search = METHODS.get(method)(
        Problem(look_up.space, (look_up.objective,)), np.random.default_rng(0), **options.get(method, {})
    )
    cells = [search.ask() for _ in range(5)]
    assert all(0 < look_up.evaluate(cell, 0).metrics["percentile"] < 100 for cell in cells)


def test_cells_that_a_table_lacks_leave_the_others_their_percentiles() -> None:
    found = _percentiles(np.array([3.0, np.nan, 1.0, 2.0]), [])[:, 0, 0]
    assert found == pytest.approx([500 / 6, np.nan, 100 / 6, 50.0], nan_ok=True)


def test_seconds_are_no_budget_where_evaluations_take_none(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    asked = ("plan", "--method", "one-shot-random", "--bench", NAME, "--budget-seconds", 10, "--store", tmp_path / "s")
    refused = nasbench(*asked)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "evaluations of supernet:digits:nb201-cifar10 take no time, so seconds are no budget" in refused.err
    assert nasbench(*asked, "--charge-thinking").code == 0
    assert nasbench(*asked, "--evals", 3).code == 0  # whichever ends first


@pytest.mark.parametrize(("option", "is_warned"), [(("--charge-thinking",), True), (("--evals", 3), False)])
def test_a_search_on_a_simulated_clock_uses_up_no_seconds_unless_thinking_is_charged(
    option: tuple[str | int, ...], is_warned: bool, nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    asked = ("--method", "proxy", "--bench", NAME, "--budget-seconds", 0.5, "--seeds", 1, "--store", tmp_path / "s")
    done = nasbench("plan", *asked, *option)
    assert (done.code == 2 and "the budget is 0.5 s" in done.err) == is_warned


def test_images_smaller_than_those_of_the_supernet_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(DATASETS.get("digits"), side=14)
    monkeypatch.setattr(DATASETS, "get", lambda name: small)
    with pytest.raises(UsageError, match="images of digits have sides of 14 pixels, and a supernet here sees 16"):
        LookUp("digits", "nb201-cifar10")


def test_a_table_with_other_operations_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One-shot searches would draw of five operations, and others of those that the table has."""
    table = open_benchmark("nb201-cifar10")
    wider = [replace(h, values=(*h.values, "nor_conv_5x5")) for h in table.space.hyperparameters]  # type: ignore[attr-defined]
    monkeypatch.setattr(table, "space", CellGrid(wider))
    with pytest.raises(UsageError, match=r"Op0 of nb201-cifar10 is one of .*nor_conv_5x5, and a supernet here has"):
        LookUp("digits", "nb201-cifar10")


def test_every_convolution_of_its_supernet_is_normalised_by_the_batch_alone(look_up: LookUp) -> None:
    """A scale that is learnt would rescale the operation whose share is being learnt."""
    torch = pytest.importorskip("torch")
    from nasbench.methods.oneshot.supernet import Supernet

    space = look_up.space.as_supernet()  # type: ignore[attr-defined]
    network = Supernet(space.filters, space.shape[0], space.classes, space.depth, operations=space.operations)
    norms = [module for module in network.cells.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    assert not any(norm.affine or norm.track_running_stats for norm in norms)
