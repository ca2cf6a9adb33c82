"""LCBench's surrogate: against recorded answers, and onnxruntime on the same file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nasbench.benchmarks import Level, UsageError, abilities, parse_constraints
from nasbench.benchmarks.protobuf import Malformed
from nasbench.benchmarks.surrogate import lcbench
from nasbench.benchmarks.surrogate.lcbench import EPOCHS, FAMILIES, FILES, SPACE, TASKS, LCBench, import_surrogate
from nasbench.benchmarks.surrogate.network import Network
from tests.conftest import Printed

DATA = Path(__file__).parents[3] / "shared" / "data" / "lcbench"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"the surrogate is not in {DATA}")

# Batch size, learning rate, momentum, weight decay, layers, units, dropout.
POINTS = {
    "A": (91, 0.0031622777, 0.545, 0.050005, 3, 256, 0.5),
    "B": (16, 1e-4, 0.1, 1e-5, 1, 64, 0.0),
    "C": (512, 0.1, 0.99, 0.1, 5, 1024, 1.0),
    "D": (64, 0.003, 0.5, 0.001, 2, 512, 0.2),
    "E": (32, 0.02, 0.9, 1e-4, 4, 128, 0.1),
}
# Time, validation accuracy, cross-entropy and balanced accuracy, test cross-entropy and balanced accuracy after 1, 10
# and 52 epochs, as onnxruntime answered elsewhere.
ANSWERS = (Path(__file__).parent / "lcbench_answers.txt").read_text().splitlines()


@pytest.fixture(autouse=True)
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))
    lcbench._opened.cache_clear()
    return import_surrogate(DATA)


def test_answers_are_the_recorded_ones() -> None:
    checked = 0
    for line in ANSWERS:
        first, second, third = line.split(" | ")
        task, point, *answer = first.split()
        parts = (answer, second.split(), third.split())
        curve = LCBench(int(task)).curve(POINTS[point], 52)
        for epoch, answer in zip((1, 10, 52), parts, strict=True):
            time, accuracy, entropy, balanced, test_entropy, test_balanced = map(float, answer)
            expected = (100 - 100 * balanced, 100 - 100 * test_balanced, 100 - accuracy, entropy, test_entropy, time)
            assert curve[epoch - 1] == pytest.approx(expected, rel=2e-3, abs=2e-3)
            checked += 1
    assert checked == 45


def test_onnxruntime_gives_the_same_on_random_rows() -> None:
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(DATA / "model.onnx"))
    network, codes = lcbench._opened()
    rng = np.random.default_rng(0)
    tasks = [codes[str(task)] for task in TASKS]
    for code in rng.choice(tasks, 10, replace=False).tolist():
        points = [(int(rng.integers(1, 53)), *SPACE.sample(rng)) for _ in range(100)]
        inputs = {"x_cat": np.full((100, 1), code, np.int32), "x_cont": np.array(points, np.float32)}
        (expected,) = session.run(None, inputs)
        # In single precision a time is known to 5 ms: it is a share of 46,791 s.
        close = np.isclose(
            network.outputs(code, np.array(points, float)), expected, rtol=2e-3, atol=[6e-3, 0, 0, 0, 0, 0]
        )
        assert close.all()


def test_an_evaluation_is_the_end_of_its_curve_and_the_seed_changes_nothing() -> None:
    task = LCBench(7593)
    configuration = SPACE.sample(np.random.default_rng(3))
    curve = task.curve(configuration, 52)
    assert curve.shape == (EPOCHS, len(task.metrics))
    evaluation = task.evaluate(configuration, 5)
    assert evaluation == task.evaluate(configuration, 6)
    assert tuple(evaluation.metrics.values()) == tuple(curve[-1])
    assert evaluation.curve == tuple(curve[:, 0])
    assert task.evaluate(configuration, 5, Level(epochs=9)).curve == pytest.approx(curve[:9, 0])
    assert task.mean_metrics(configuration) == evaluation.metrics
    assert evaluation.cost == curve[:, -1].max()
    short = task.at(12)
    assert short.name == "lcbench-7593@12"
    assert short.metrics[0].name == "valid-balanced-error@12"
    assert tuple(short.evaluate(configuration, 0).metrics.values()) == tuple(curve[11])
    assert short.evaluate(configuration, 0).cost == curve[:12, -1].max()
    with pytest.raises(UsageError, match="no lcbench-7593@53; allowed: 1 to 52"):
        abilities.at(task, 53)
    whole, early = short.evaluate(configuration, 0), task.evaluate(configuration, 0, Level(epochs=12))
    assert early._replace(metrics={}) == whole._replace(metrics={})
    assert list(early.metrics.values()) == list(whole.metrics.values())
    with pytest.raises(UsageError, match="has no level epochs 0; allowed: epochs 1 to 52"):
        task.evaluate(configuration, 0, Level(epochs=0))
    assert (task.kind, str(task.fidelity)) == ("surrogate", "epochs 1 to 52")


def test_what_is_paid_never_falls_although_the_networks_time_does() -> None:
    rng, tasks = np.random.default_rng(0), [LCBench(number) for number in TASKS * 3]
    curves = ((t, c, t.curve(c, EPOCHS)[:, -1]) for t in tasks for c in (SPACE.sample(rng) for _ in range(3)))
    task, configuration, times = next(found for found in curves if (np.diff(found[2]) < 0).any())
    costs = [task.evaluate(configuration, 0, Level(epochs=epochs)).cost for epochs in range(1, EPOCHS + 1)]
    assert costs == np.maximum.accumulate(times).tolist()


def test_quantiles_of_time_bound_their_share_of_random_configurations() -> None:
    task = LCBench(146212)
    (bound,) = abilities.bounds(task, parse_constraints(["time@0.3"]))
    rng = np.random.default_rng(8)
    times = [task.evaluate(SPACE.sample(rng), 0).metrics[bound.metric.name] for _ in range(150)]
    assert np.mean([bound.holds(t) for t in times]) == pytest.approx(0.3, abs=0.13)  # more than three standard errors
    with pytest.raises(UsageError, match="never selected"):
        abilities.bounds(task, parse_constraints(["test-balanced-error@52<=5"]))


def test_there_are_34_tasks_in_five_families() -> None:
    assert len(TASKS) == 34
    assert len(set(FAMILIES.values())) == 5
    assert FAMILIES[3945] == FAMILIES[7593] != FAMILIES[34539]


@pytest.mark.slow
def test_families_are_groups_that_rank_alike() -> None:
    """Average linkage of Spearman's coefficient of the validation error at 0.58, on a sample of its own."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform
    from scipy.stats import spearmanr

    rng = np.random.default_rng(5)
    points = np.array([(52, *SPACE.sample(rng)) for _ in range(4000)], float)
    network, codes = lcbench._opened()
    errors = np.stack([-network.outputs(codes[str(task)], points)[:, 3] for task in TASKS], axis=1)
    distances = 1 - spearmanr(errors).statistic
    groups = fcluster(linkage(squareform(distances, checks=False), "average"), 0.42, "distance")
    between = 168910  # stands with one or the other, as the sample has it
    found = {frozenset(np.array(TASKS)[groups == g].tolist()) - {between} for g in set(groups.tolist())}
    assert found == {frozenset(t for t in TASKS if FAMILIES[t] == name) - {between} for name in FAMILIES.values()}


def test_files_that_are_others_get_one_sentence(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    for name in FILES:
        for change in ("cut", "gone"):
            folder = tmp_path / f"{name}-{change}"
            shutil.copytree(DATA, folder)
            if change == "gone":
                (folder / name).unlink()
            else:
                (folder / name).write_bytes((DATA / name).read_bytes()[:-1])
            refused = nasbench("import", "lcbench", folder)
            assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
            assert ("cut off" if change == "cut" else "cannot read") in refused.err
    done = nasbench("import", "lcbench", DATA)
    assert done.code == 0
    assert "34 benchmarks" in done.out


def test_what_is_no_such_network_is_malformed() -> None:
    whole = (DATA / "model.onnx").read_bytes()
    for content in (b"", b"\x00", whole[:100], whole[: len(whole) // 2], whole[:-1], b"\x3a\x00"):
        with pytest.raises(Malformed):
            Network.read(content)


def test_values_out_of_range_are_no_configuration() -> None:
    values = SPACE.values(SPACE.sample(np.random.default_rng(0)))
    with pytest.raises(UsageError, match="weight_decay"):
        SPACE.from_values(values | {"weight_decay": 0.0})
    with pytest.raises(UsageError, match="num_layers"):
        SPACE.from_values(values | {"num_layers": 2.5})
