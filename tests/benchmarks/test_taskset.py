"""TaskSet: against the files themselves, read with the standard library."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasbench.benchmarks import Level, UsageError
from nasbench.benchmarks.fidelity import Axis
from nasbench.benchmarks.tabular import open_table
from nasbench.benchmarks.tabular.imported import save
from nasbench.benchmarks.tabular.table import TabularBenchmark
from nasbench.benchmarks.tabular.taskset import read_task
from nasbench.methods import MethodSpec, Observation, Problem
from tests.conftest import Printed

DATA = Path(__file__).parents[3] / "shared" / "data" / "taskset"
# Rows that diverged; best final validation loss, its row and its test loss; median; largest finite loss.
FACTS = {
    "patch128_LSTM128_bs64": (99, 0.4060, 884, 0.3847, 0.6941, 40.6),
    "patch32_GRU128_bs128": (1, 0.3777, 811, 0.3509, 0.7071, 7.2e16),
    "patch32_IRNN64_relu_avg_bs128": (234, 0.4893, 67, 0.4746, 0.7337, 1.0e7),
    "patch32_LSTM128_E128_bs128": (1, 0.5245, 711, 0.5177, 0.6946, 47.2),
    "patch32_VRNN128_tanh_bs128": (1, 0.5062, 665, 0.4799, 0.7295, 344),
    "patch32_VRNN64_tanh_avg_bs128": (0, 0.4253, 811, 0.4019, 0.6941, 54.7),
}
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"TaskSet is not in {DATA}")


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))


def records(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path) as file:
        found: list[dict[str, Any]] = json.load(file)
    return found


def opened(path: Path) -> TabularBenchmark:
    table = read_task(path)
    save(table)
    return open_table(table.name)


@needs_data
@pytest.mark.parametrize("task", FACTS)
def test_every_number_is_that_of_the_file(task: str) -> None:
    path = DATA / f"FixedTextRNNClassification_imdb_{task}.json.gz"
    read, table = records(path), opened(path)
    diverged, best, row, its_test, median, largest = FACTS[task]
    assert table.space.size == len(read) == 1000
    finals = [r["valid"]["loss"][-1] for r in read]
    known = sorted(x for x in finals if math.isfinite(x))
    oracle = table.oracle(())
    assert (oracle.best, oracle.worst) == (known[0], known[-1])
    assert (oracle.best, oracle.median) == pytest.approx((best, median), abs=6e-5)
    assert oracle.worst == pytest.approx(largest, rel=0.06)  # its digits are few
    assert finals.index(known[0]) == row
    assert table.evaluate(row, 1).metrics["test-loss@50"] == pytest.approx(its_test, abs=6e-5)
    failed = 0
    for i, r in enumerate(read):
        curve = r["valid"]["loss"]
        evaluation = table.evaluate(i, i)
        if math.isfinite(curve[-1]):
            expected = [r[split]["loss"][-1] for split in ("valid", "test", "train")]
            assert list(evaluation.metrics.values()) == [*expected, 50.0]
            assert evaluation.cost == 50
        else:
            failed += 1
            until = next(k for k in range(1, 51) if not math.isfinite(curve[k]))
            assert (evaluation.status, evaluation.reason) == ("failed", "the training diverged")
            assert evaluation.cost == until
    assert failed == diverged
    trained = sorted(x for x in (r["train"]["loss"][-1] for r in read) if math.isfinite(x))
    assert table.quantile("train-loss@50", 0.25) == trained[math.ceil(len(trained) / 4)]


@needs_data
def test_lower_levels_are_earlier_points_of_the_same_training() -> None:
    path = DATA / "FixedTextRNNClassification_imdb_patch32_IRNN64_relu_avg_bs128.json.gz"
    read, table = records(path), opened(path)
    assert table.fidelity is not None
    assert table.fidelity.axes == (Axis("points", "200 steps", tuple(range(1, 51))),)
    short = table.at(5)
    assert [m.name for m in short.metrics] == ["valid-loss@5", "test-loss@5", "train-loss@5", "cost"]
    for i, r in enumerate(read):
        evaluation = short.evaluate(i, 0)
        loss = r["valid"]["loss"][5]
        if math.isfinite(loss):
            assert evaluation.metrics["valid-loss@5"] == loss
            assert evaluation.cost == 5
            assert table.evaluate(i, 0, Level(points=5)).curve == pytest.approx(r["valid"]["loss"][1:6], nan_ok=True)
        else:
            assert evaluation.status == "failed"
            assert evaluation.cost <= 5


@needs_data
def test_the_space_is_its_rows_and_neighbours_are_mutual() -> None:
    table = opened(DATA / "FixedTextRNNClassification_imdb_patch32_GRU128_bs128.json.gz")
    space = table.space
    near = [set(space.neighbours(row)) for row in range(space.size)]
    assert min(map(len, near)) >= 8
    assert all(row in near[other] for row in range(space.size) for other in near[row])
    scaled = []  # by hand, for one row
    for row in range(space.size):
        values = list(space.values(row).values())
        ranges = [(h.low, h.high) for h in space.hyperparameters]  # type: ignore[union-attr]
        scaled.append([math.log(v / low) / math.log(high / low) for v, (low, high) in zip(values, ranges, strict=True)])
    distances = sorted((math.dist(scaled[17], other), row) for row, other in enumerate(scaled) if row != 17)
    assert {row for _, row in distances[:8]} <= near[17]
    flat = space.as_flat()  # type: ignore[attr-defined]
    middle = [h.low * (h.high / h.low) ** 0.5 for h in space.hyperparameters]  # type: ignore[union-attr]
    closest = sorted(range(space.size), key=lambda row: math.dist(scaled[row], [0.5] * 8))
    assert [flat.at(middle) for _ in range(4)] == closest[:4]  # a row is not given twice
    assert flat.at(flat.coordinates(closest[0])) == closest[0]
    with pytest.raises(UsageError, match="no row with"):
        space.from_values(space.values(0) | {"l1": 1e-3})
    assert space.from_values(space.values(123)) == 123


@needs_data
def test_methods_that_fit_run_and_others_say_why_not() -> None:
    table = opened(DATA / "FixedTextRNNClassification_imdb_patch128_LSTM128_bs64.json.gz")
    for name in ("random", "evolution:population=5", "local", "tpe", "smbo", "rf-cei:candidates=20"):
        method = MethodSpec.parse(name).build(Problem.of(table), np.random.default_rng(0))
        for seed in range(14):
            configuration = method.ask()
            table.space.check(configuration)
            evaluation = table.evaluate(configuration, seed)
            method.tell(Observation(configuration, evaluation, evaluation.status == "ok"))
    assert "one choice after the other" in MethodSpec.parse("mcts").misfit(Problem.of(table))
    assert MethodSpec.parse("nasbot").misfit(Problem.of(table))


def record(rng: np.random.Generator) -> dict[str, Any]:
    names = {"learning_rate": -3, "epsilon": -3, "l1": -5, "l2": -5, "linear_decay": -6, "exponential_decay": -5}
    parameters = {name: float(10 ** (power + rng.uniform(-0.5, 0.5))) for name, power in names.items()}
    parameters |= {"beta1": float(rng.uniform(0.1, 0.9)), "beta2": float(rng.uniform(0.1, 0.9))}
    return {"hp": parameters} | {s: {"loss": rng.uniform(0.3, 1, 51).tolist()} for s in ("train", "valid", "test")}


def test_a_diverged_training_costs_the_points_up_to_its_divergence(tmp_path: Path) -> None:
    """From point 21 on, not at all, from the first on; one that is no number for a while is run to its end."""
    rng, nothing = (
        np.random.default_rng(0),
        {"diverged": range(21, 51), "whole": (), "at once": range(51), "once": [30, 31]},
    )
    whole = [record(rng) for _ in nothing]
    for own, points in zip(whole, nothing.values(), strict=True):
        for point in points:
            own["valid"]["loss"][point] = math.inf if point % 2 else math.nan
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(whole))
    table = opened(path)
    assert [table.evaluate(row, 0).cost for row in range(4)] == [21, 50, 1, 50]
    assert [table.evaluate(row, 0).status for row in range(4)] == ["failed", "ok", "failed", "ok"]
    assert [table.evaluate(0, 0, Level(points=level)).cost for level in (20, 21, 22)] == [20, 21, 21]
    assert [table.evaluate(0, 0, Level(points=level)).status for level in (20, 21, 22)] == ["ok", "failed", "failed"]
    at_30 = table.evaluate(3, 0, Level(points=30))
    assert (at_30.status, at_30.cost) == ("failed", 30)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: [], "not a list of records"),
        (lambda r: {"a": 1}, "not a list of records"),
        (lambda r: [*r[:2], {"hp": r[2]["hp"]}], "KeyError"),
        (lambda r: [*r[:2], {**r[2], "valid": {"loss": [1.0]}}], "not a task of TaskSet"),
        (lambda r: [*r[:2], {**r[2], "valid": {"loss": ["x"] * 51}}], "not a task of TaskSet"),
        (lambda r: [*r, r[0]], "one configuration twice"),
        (lambda r: [*r[:2], {**r[2], "valid": {"loss": [10**400] * 51}}], "not a task of TaskSet"),
        (lambda r: [*r, {**r[0], "hp": r[0]["hp"] | {"learning_rate": 100.0}}], "leaves its range"),
        (lambda r: [{**r[0], "valid": {"loss": [math.nan] * 51}}], "no completed training"),
    ],
)
def test_other_files_get_one_sentence(
    nasbench: Callable[..., Printed], tmp_path: Path, change: Callable[[list[Any]], Any], message: str
) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "mine.json"
    whole = [record(rng) for _ in range(5)]
    path.write_text(json.dumps(whole))
    assert nasbench("import", "taskset", path).code == 0
    path.write_text(json.dumps(change(whole)))
    refused = nasbench("import", "taskset", path)
    assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
    assert message in refused.err


def test_damaged_files_and_bombs_get_one_sentence(
    nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = gzip.compress(json.dumps([record(np.random.default_rng(0))]).encode())
    for content in (whole[:-9], b"", b"\x1f\x8b nothing", gzip.compress(b"no JSON"), gzip.compress(bytes(40 << 20))):
        (tmp_path / "bad.json.gz").write_bytes(content)
        refused = nasbench("import", "taskset", tmp_path / "bad.json.gz")
        assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
    assert "unpacks to more than" in refused.err
    assert nasbench("import", "taskset", tmp_path / "absent.json").code == 2
