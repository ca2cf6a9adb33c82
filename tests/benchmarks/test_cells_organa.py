"""The table of all networks of `cells-mini`, and searches of all kinds on it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nasbench.base.errors import UsageError
from nasbench.benchmarks import abilities, open_benchmark
from nasbench.benchmarks.constraints import Constraint
from nasbench.benchmarks.spaces.cells import Ties, dead_stages, miniature_stages, size
from nasbench.benchmarks.spaces.cells.stages import EACH_ITS_OWN, MINIATURE_TIES, ONE_CELL
from nasbench.benchmarks.spaces.network_grids import MiniatureGrid
from nasbench.benchmarks.spaces.published.cells import DEPTHS, OPERATIONS, SIZED
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.cli.engine.evaluations import refusing
from nasbench.methods import MethodSpec, Problem
from nasbench.results import Store
from tests.conftest import Printed

NAME = "supernet:digits:cells-organa"


@pytest.fixture(scope="module")
def table() -> TabularBenchmark:
    benchmark = open_benchmark("cells-organa")
    assert isinstance(benchmark, TabularBenchmark)
    return benchmark


def test_every_network_with_a_path_was_trained_and_its_size_is_the_formulas(table: TabularBenchmark) -> None:
    column = [metric.name for metric in table.metrics].index("parameters")
    assert table.values.shape[1] == 3
    for row in range(table.space.size):
        values = table.space.values(table.space.configuration(row))
        stages = miniature_stages(values)
        is_dead = bool(dead_stages(stages))
        missing = np.isnan(table.values[row, :, 0])
        assert missing.all() == missing.any() == is_dead
        if not is_dead:
            counts = table.values[row, :, column]
            assert set(counts[np.isfinite(counts)]) == {size(stages, 4, (1, 16, 16), 11).parameters}


def test_equal_networks_have_equal_scores(table: TabularBenchmark) -> None:
    """An edge from the middle node matters only where one leads there."""
    rows = [{"depth": 1, "op0": "none", "op1": "nor_conv_3x3", "op2": op} for op in SIZED]
    configurations = [table.space.from_values(values) for values in rows]
    found = [[table.evaluate(configuration, seed) for seed in range(4)] for configuration in configurations]
    assert all(answers == found[0] for answers in found)


def test_it_says_what_cannot_be_told_on_it(table: TabularBenchmark) -> None:
    assert "its best networks are not told apart" in table.caution


def test_a_table_of_cells_mini_has_all_of_its_choices(table: TabularBenchmark) -> None:
    with pytest.raises(UsageError, match="a table of cells-mini has op0, op1, op2, depth"):
        MiniatureGrid(table.space.hyperparameters[:3])


def test_its_networks_are_graphs(table: TabularBenchmark) -> None:
    space = table.space
    assert isinstance(space, MiniatureGrid)
    deep, flat = (
        space.as_graph(space.from_values({"depth": depth, "op0": "nor_conv_7x7", "op1": "none", "op2": "nor_conv_3x3"}))
        for depth in (3, 1)
    )
    assert [graph.labels.count("conv7") for graph in (deep, flat)] == [6, 2]  # two stages


def test_ties_make_the_networks_of_the_space() -> None:
    for *operations, depth in product(SIZED, SIZED[:3], SIZED[2:4], DEPTHS):
        choices = dict(zip(("op0", "op1", "op2"), operations, strict=True)) | {"depth": depth}
        assert MINIATURE_TIES.network(operations, [depth]) == miniature_stages(choices)
    assert (MINIATURE_TIES.searched, MINIATURE_TIES.deep) == ((6, 9, 10), (1,))


@pytest.mark.parametrize("ties", [EACH_ITS_OWN, ONE_CELL, MINIATURE_TIES])
def test_tied_edges_share_a_distribution_and_its_slopes(ties: Ties) -> None:
    torch = pytest.importorskip("torch")
    from nasbench.methods.oneshot.distributions import Logits, Shared, alive_of, softmax

    own = torch.randn(len(ties.searched), 5, requires_grad=True)
    sizes, depths = torch.randn(len(ties.searched), 3), torch.randn(len(ties.deep), 3)
    shared = Shared(ties, OPERATIONS)
    found = Logits(own, sizes, depths).probabilities(softmax, shared)
    for edge, choice in enumerate(ties.edges):
        if isinstance(choice, int):
            assert torch.equal(found.operations[edge], own.softmax(-1)[choice])
            assert torch.equal(found.kernels[edge], sizes.softmax(-1)[choice])
        else:
            assert found.operations[edge].argmax() == OPERATIONS.index(choice)
            assert found.operations[edge].max() == 1
    assert [stage is None for stage in ties.depths] == [bool(row[0] == 1) for row in found.depths]
    assert torch.allclose(found.operations.sum(1), torch.ones(18))
    found.operations[:, 0].sum().backward()
    assert (own.grad != 0).all()
    (alive,) = alive_of([found])
    assert alive == shared.everything(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        "darts:epochs=1,order=1",
        "zo-darts:epochs=1,T=5",
        "zo-darts++:epochs=2,stop=2,T=5,theta=1,every=1",
        "spos:cells=each,epochs=1,population=3,generations=2,parents=2",
        "one-shot-random:cells=each",
        "proxy:cells=each,networks=4",
    ],
)
def test_one_shot_methods_draw_networks_of_the_table_within_bounds(method: str) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    benchmark = open_benchmark(NAME)
    problem = Problem.of(benchmark, abilities.bounds(benchmark, [Constraint.parse("parameters<=60000")]))
    search = MethodSpec.parse(method).build(problem, np.random.default_rng(0))
    drawn = [search.ask() for _ in range(6)]
    answers = [benchmark.evaluate(configuration, 0) for configuration in drawn]
    assert {answer.status for answer in answers} == {"ok"}
    assert max(answer.metrics["parameters"] for answer in answers) <= 60_000
    if "random" in method or "++" in method:
        assert len({benchmark.space.values(configuration)["depth"] for configuration in drawn}) > 1


def test_the_expected_size_of_a_search_is_the_size_of_what_it_draws() -> None:
    torch = pytest.importorskip("torch")
    from nasbench.methods.oneshot.distributions import Probabilities, Shared
    from nasbench.methods.oneshot.parameters import ExpectedParameters
    from nasbench.methods.oneshot.sampling import network_of

    space = open_benchmark(NAME).space.as_supernet()  # type: ignore[attr-defined]
    expected = ExpectedParameters(space, (7, 5, 3), space.depth, False, torch.device("cpu"))
    rng = np.random.default_rng(0)
    for _ in range(40):
        chosen = [rng.integers(width, size=rows) for rows, width in ((3, 5), (3, 3), (1, 3))]
        stages = network_of([row.tolist() for row in chosen], (7, 5, 3), 3, MINIATURE_TIES)
        parts = [torch.eye(width)[torch.from_numpy(row)] for row, width in zip(chosen, (5, 3, 3), strict=True)]
        found = float(expected(Shared(MINIATURE_TIES, OPERATIONS)(Probabilities.of(parts))))
        if not dead_stages(stages):
            assert found == size(stages, space.filters, space.shape, space.classes).parameters


@pytest.mark.slow
def test_five_kinds_of_method_run_in_one_command(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    methods = ["zo-darts++:epochs=2,stop=2,T=5,theta=1,every=1", "nasbot:initial=3", "c-tpe:initial=3", "random"]
    methods.append("evolution:population=4")
    asked = [word for method in methods for word in ("--method", method)]
    asked += ["--bench", NAME, "--constrain", "parameters@M", "--seeds", "1", "--evals", "8"]
    done = nasbench("run", *asked, "--store", tmp_path / "s")
    assert done.code == 0, done.err
    frame = pd.read_parquet(tmp_path / "s")
    trained = frame[frame["status"] == "ok"]  # others were refused, by their size
    assert trained.groupby("method").size().eq(8).all()
    assert set(frame.loc[frame["status"] != "ok", "status"]) <= {"infeasible"}
    assert frame["method"].nunique() == 5


def test_an_evaluation_takes_the_mean_time_of_its_network_s_trainings(table: TabularBenchmark) -> None:
    looked_up = open_benchmark(NAME)
    column = [metric.name for metric in table.metrics].index("train_time")
    times = table.means(column)
    rng = np.random.default_rng(5)
    seen = 0
    while seen < 5:
        configuration = looked_up.space.sample(rng)
        if abilities.known(looked_up, "parameters", configuration) > 0:
            evaluation = looked_up.evaluate(configuration, seen)
            assert evaluation.cost == evaluation.metrics["train_time"] == times[table.space.index(configuration)] > 0
            seen += 1
    assert open_benchmark("supernet:digits:nb201-cifar10").evaluate((0, 0, 0, 0, 0, 1), 0).cost == 0


def test_where_an_evaluation_stands_for_a_training_a_network_of_another_size_is_refused() -> None:
    for name, refuses in ((NAME, True), ("cells-organa", False)):
        benchmark = open_benchmark(name)
        bounds = abilities.bounds(benchmark, [Constraint("parameters", "@", 0.2, "S")])
        assert refusing(benchmark, bounds) == (bounds if refuses else ())


def test_random_search_trains_networks_of_the_size_class_alone(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    asked = ("--constrain", "parameters@S", "--seeds", 2, "--evals", 10, "--store", tmp_path / "s")
    assert nasbench("run", "--method", "random", "--method", "c-tpe:initial=3", "--bench", NAME, *asked).code == 0
    others = 0
    for fragment in Store.open(tmp_path / "s").fragments():
        rows = fragment.table().to_pandas()
        assert (rows["status"] == "ok").sum() == 20
        assert rows.loc[rows["status"] == "ok", "feasible"].all()
        refused = rows[rows["status"] == "infeasible"]
        assert len(rows) == 20 + len(refused)
        assert refused["objective"].isna().all()  # nothing is told of it but its size
        others += len(refused)
    assert others
