"""Estimators of scikit-learn as live benchmarks, and the tables `sk-…` that are made of them."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from nasbench.base.errors import UsageError
from nasbench.base.metrics import Metric
from nasbench.benchmarks import BENCHMARKS, abilities, open_benchmark
from nasbench.benchmarks.contract import ON_FILES
from nasbench.benchmarks.fidelity import Level
from nasbench.benchmarks.learners import LearnerBenchmark, LearnerCurves, data
from nasbench.benchmarks.learners.estimators import LEARNERS
from nasbench.benchmarks.spaces import GridSpace, Ordinal
from nasbench.benchmarks.tabular import learners
from nasbench.benchmarks.tabular.imported import TableData
from nasbench.cli.checks import BENCHMARK_CHECKS
from research import own_tables
from tests.benchmarks import directly
from tests.conftest import Printed

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "notebook" / "own-tables.md").read_text(encoding="utf-8")
SECONDS = {"train_time", "predict_time"}

each_learner = pytest.mark.parametrize("learner", LEARNERS)
TABLES = tuple(name for name in learners.NAMES if name != "cells-organa")
each_table = pytest.mark.parametrize("name", TABLES)


def unmeasured(metrics: object) -> dict[str, float]:
    """The metrics that are the same whenever they are computed."""
    return {name: value for name, value in dict(metrics).items() if name not in SECONDS}  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["cancer", "diabetes"])
def test_a_seed_splits_the_rows_into_a_half_and_two_quarters(name: str) -> None:
    pytest.importorskip("sklearn")
    inputs, targets = data.load(name)
    split = data.split(name, 3)
    assert [len(part.targets) / len(targets) for part in split.values()] == pytest.approx([0.5, 0.25, 0.25], abs=0.01)
    train = split["train"]
    assert train.inputs.mean(0) == pytest.approx(np.zeros(inputs.shape[1]), abs=1e-10)
    assert train.inputs.std(0) == pytest.approx(np.ones(inputs.shape[1]))
    rows = np.concatenate([part.inputs for part in split.values()])
    assert len({tuple(row) for row in rows.round(9)}) == len(targets)  # every row is in one split
    assert not np.array_equal(data.split(name, 4)["train"].inputs, train.inputs)
    if data.DATA[name].classes:
        shares = [part.targets.mean() for part in split.values()]
        assert max(shares) - min(shares) < 0.01
    else:
        assert (train.targets.mean(), train.targets.std()) == pytest.approx((0, 1), abs=1e-10)


@each_learner
def test_a_configuration_scores_as_scikit_learn_alone_says(learner: str) -> None:
    pytest.importorskip("sklearn")
    for name in ("wine", "diabetes"):
        curves = LearnerCurves(LearnerBenchmark(learner, name))
        configuration = curves.space.sample(np.random.default_rng(1))
        seed = int.from_bytes(hashlib.sha256(f"learner:{learner}:{name} 2".encode()).digest()[:8]) >> 1
        expected = directly.computed(f"sk-{learner}-{name}", curves.space.values(configuration), 2)
        assert unmeasured(curves.evaluate(configuration, seed).metrics) == expected


@pytest.mark.parametrize("learner", [name for name, learner in LEARNERS.items() if learner.levels])
def test_a_level_of_a_live_benchmark_is_a_point_of_the_curve_in_its_table(learner: str) -> None:
    pytest.importorskip("sklearn")
    live = LearnerBenchmark(learner, "wine")
    configuration = live.space.sample(np.random.default_rng(0))
    curve = LearnerCurves(live).evaluate(configuration, 7).metrics
    assert live.fidelity is not None
    points = [live.evaluate(configuration, 7, level).metrics for level in live.fidelity.levels]
    assert [p["val-error@54"] for p in points] == [curve[f"val-error@{k}"] for k in (2, 6, 18, 54)]
    assert [p["test-error@54"] for p in points] == [curve[f"test-error@{k}"] for k in (2, 6, 18, 54)]
    assert len(set(curve.values())) > 4


@pytest.mark.parametrize(
    ("learner", "values", "same"),
    [
        ("svm", {"kernel": "linear", "C": 4.0, "gamma": 0.1, "degree": 4}, {"gamma": 1e-4, "degree": 2}),
        ("svm", {"kernel": "rbf", "C": 4.0, "gamma": 0.1, "degree": 4}, {"degree": 2}),
        ("svm", {"kernel": "poly", "C": 4.0, "gamma": 0.1, "degree": 4}, {}),
        ("linear", {"penalty": "l1", "mix": 0.5, "C": 1.0}, {"mix": 0.05}),
        ("linear", {"penalty": "elasticnet", "mix": 0.5, "C": 1.0}, {}),
    ],
)
def test_what_has_no_effect_makes_no_other_configuration(
    learner: str, values: dict[str, object], same: dict[str, object]
) -> None:
    pytest.importorskip("sklearn")
    live = LearnerBenchmark(learner, "wine")
    configuration = live.space.from_values(values)
    canonical = live.canonical(configuration)
    assert live.space.values(canonical) == values | same
    one, other = (live.evaluate(c, 5).metrics for c in (configuration, canonical))
    assert one["val-error"] == other["val-error"]


@pytest.mark.parametrize("name", [f"learner:{name}:diabetes" for name in LEARNERS] + ["learner:svm:wine"])
def test_our_live_benchmarks_keep_their_promises(name: str) -> None:
    pytest.importorskip("sklearn")
    for check in BENCHMARK_CHECKS:
        if "another process" not in check.promise:  # test_processors.py tries that for all of them in one process
            check(name)


def test_an_evaluation_computes_on_one_thread() -> None:
    pytest.importorskip("sklearn")
    live = LearnerBenchmark("boosting", "wine")
    live.make_ready()
    with threadpool_limits(2):
        live.evaluate(live.space.configuration(0), 1, Level(iterations=2))
        assert {library["num_threads"] for library in threadpool_info()} == {1}


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_clock_counts_no_import(learner: str) -> None:
    pytest.importorskip("sklearn")
    script = f"""
import sys
from nasbench.benchmarks.learners.benchmark import LearnerBenchmark
live = LearnerBenchmark({learner!r}, "wine")
live.make_ready()
before = set(sys.modules)
assert live.evaluate(live.space.configuration(0), 1).status == "ok"
assert set(sys.modules) == before, set(sys.modules) - before
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_predictions_of_a_regression_stay_in_the_range_of_the_training_targets() -> None:
    from nasbench.benchmarks.learners.benchmark import _score

    train = data.LearnerSamples(np.zeros((2, 1)), np.array([-1.0, 2.0]))
    rows = data.LearnerSamples(np.zeros((2, 1)), np.array([0.0, 2.0]))
    assert _score(np.array([-9.0, 9.0]), rows, train, classes=False) == pytest.approx(100 * np.sqrt(0.5))


def test_without_scikit_learn_or_with_another_one_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    sklearn = pytest.importorskip("sklearn")
    live = LearnerBenchmark("knn", "wine")
    data.load.cache_clear()
    monkeypatch.setitem(data.DATA, "wine", data.DATA["wine"]._replace(checksum="0" * 64))
    with pytest.raises(UsageError, match=r"this scikit-learn's data set wine has SHA-256 [0-9a-f]{64}, not 0000"):
        live.make_ready()
    monkeypatch.setattr(sklearn, "__version__", "1.7.2")
    with pytest.raises(UsageError, match=r"needs scikit-learn 1\.8 or newer, and this is 1\.7\.2"):
        live.make_ready()
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(UsageError, match="trains scikit-learn's estimators: `make setup EXTRAS=peers`"):
        live.make_ready()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("learner:svm", "name a learner and a data set of scikit-learn, as in learner:svm:wine"),
        ("learner:svn:wine", "unknown learner 'svn' .did you mean svm"),
        ("learner:svm:whine", "unknown data set of learners 'whine' .did you mean wine"),
        ("learner:svm:wine@3", "there is no learner:svm:wine@3; it has one fidelity only"),
        ("learner:boosting:wine@18", "its levels are for methods that choose how long to train"),
    ],
)
def test_a_name_that_there_is_not_is_said(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_benchmark(name)


def test_tabulate_gives_all_configurations_of_a_repetition_one_seed(
    nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sklearn")
    out = tmp_path / "knn"
    done = nasbench("tabulate", "learner:knn:wine", "--sample", 3, "--repetitions", 2, "--out", out)
    assert done.code == 0, done.err
    table = pd.read_csv(f"{out}.csv")
    live = ON_FILES.get("learner")("knn", "wine")
    for row in table.to_dict("records"):
        configuration = live.space.from_values({h.name: row[h.name] for h in LEARNERS["knn"].space.hyperparameters})
        seed = int.from_bytes(hashlib.sha256(f"learner:knn:wine {row['repetition']}".encode()).digest()[:8]) >> 1
        again = unmeasured(live.evaluate(configuration, seed).metrics)
        assert again == {name: row[name] for name in again}
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))
    imported = nasbench("import", "table", f"{out}.csv", "--spec", f"{out}.toml")
    assert "learner-knn-wine: 3 of 200 configurations" in imported.out, imported.err
    facts = json.loads((tmp_path / "data" / "tables" / "learner-knn-wine" / "table.json").read_text())
    assert facts["cost"] == "train_time"
    assert [h.get("log") for h in facts["space"]] == [True, None, False]


def small_table(name: str = "sk-small") -> TableData:
    space = GridSpace([Ordinal("x", (1, 2, 3, 4))])
    metrics = (Metric("val-error", "%", split="val"), Metric("train_time", "s", description="CPU time"))
    values = np.random.default_rng(0).random((4, 5, 2))
    return TableData(name, "sk-f", space, metrics, "train_time", "made up", "MIT", values)


def test_a_packed_table_has_the_very_values_and_says_when_a_file_is_damaged(tmp_path: Path) -> None:
    table = small_table()
    learners.pack(table, tmp_path)
    learners.pack(table, tmp_path)  # in place of the first
    opened = learners.PackedTable(tmp_path)
    assert np.array_equal(opened.values, table.values)
    (path,) = tmp_path.glob("*.npy.xz")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([path.name, "table.json"])
    learners.pack(replace(table, values=table.values + 1), tmp_path)
    (other,) = tmp_path.glob("*.npy.xz")
    other.rename(path)
    with pytest.raises(UsageError, match=r"cannot read .*: reinstall nasbench"):
        _ = learners.PackedTable(tmp_path).values
    path.rename(other)
    other.write_bytes(other.read_bytes()[:-9])
    with pytest.raises(UsageError, match=r"cannot read .*: reinstall nasbench"):
        _ = learners.PackedTable(tmp_path).values
    learners.pack(table, tmp_path)
    path.write_bytes(learners.lzma.compress(b"something else"))
    with pytest.raises(UsageError, match="is not what its name says: reinstall nasbench"):
        _ = learners.PackedTable(tmp_path).values


def test_seconds_are_medians_of_the_repetitions_and_scores_stay() -> None:
    table = small_table()
    steady = own_tables.steadied(table)
    assert np.array_equal(steady.values[:, :, 0], table.values[:, :, 0])
    assert steady.values[:, :, 1] == pytest.approx(np.median(table.values[:, :, 1], axis=1)[:, None].repeat(5, 1), 5e-3)
    assert steady.metrics[1].description == "CPU time; median of the repetitions"


def test_the_rule_looks_at_both_sides_and_counts_copies_once(tmp_path: Path) -> None:
    assert own_tables.passes(0.9, 0.8)
    assert not own_tables.passes(0.89, 1.0)
    assert not own_tables.passes(1.0, 0.79)
    rows = [(x, label, r, 10.0 * label + r) for x, label in ((1, 0), (2, 0), (3, 1)) for r in (0, 1)]
    pd.DataFrame(rows, columns=["x", "class", "repetition", "val-error@54"]).to_csv(tmp_path / "t.csv", index=False)
    assert own_tables.scores(tmp_path / "t.csv").tolist() == [[0.0, 1.0], [10.0, 11.0]]


@each_table
def test_a_table_is_the_whole_grid_of_its_learner(name: str) -> None:
    _, learner, which = name.split("-")
    table = BENCHMARKS.get(name)()
    assert isinstance(table, learners.PackedTable)
    assert (table.name, table.family, table.search_space) == (name, f"sk-{learner}", f"sk-{learner}")
    live = LearnerBenchmark(learner, which)
    assert table.space.describe() == live.space.describe()
    assert [m.name for m in table.metrics] == [m.name for m in live.metrics]
    assert [m.is_test for m in table.metrics] == [False, True, False, False, False]
    assert table.cost_column == 2
    assert table.values.shape == (table.space.size, 5, 5)
    assert np.isfinite(table.values).all()
    assert (table.values[:, :, 2:4] > 0).all()
    assert (np.ptp(table.values[:, :, 2:4], axis=1) == 0).all()  # seconds are medians
    if live.fidelity is None:
        assert table.fidelity is None
    else:
        assert table.fidelity is not None
        assert (table.fidelity.axes[0].name, table.fidelities) == (live.fidelity.axes[0].name, (2, 6, 18, 54))
        assert np.array_equal(table.curves[:, :, -1], table.values[:, :, :2])


@each_table
def test_the_page_says_what_each_table_is(name: str) -> None:
    table = learners.open_learner_table(name)
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` ")]
    fields = [field.strip(" `") for field in row.split("|")[1:-1]]
    size = sum(path.stat().st_size for path in (learners.FOLDER / name).iterdir())
    means = table.values[:, :, 0].mean(axis=1)
    assert fields[1] == str(table.space.size)
    assert own_tables.passes(float(fields[3]), float(fields[4]))
    assert fields[5:] == [
        f"{means.min():.2f} to {means.max():.2f} %",
        "yes",
        f"{size:,}",
        table.checksum.removeprefix("sha256:")[:12],
    ]


def test_the_page_has_a_row_per_table_and_says_which_ones_fail_the_rule() -> None:
    rows = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| `sk-") and " to " in line]
    assert len(rows) == len(LEARNERS) * len(data.DATA)
    assert {row[0].strip("| `") for row in rows if row[6] == "yes"} == set(TABLES)
    for row in rows:
        assert own_tables.passes(float(row[3]), float(row[4])) == (row[6] == "yes")


def test_all_tables_together_are_small_and_there_is_nothing_else() -> None:
    assert sum(path.stat().st_size for path in learners.FOLDER.rglob("*") if path.is_file()) < 3e6
    assert {path.name for path in learners.FOLDER.iterdir()} == set(learners.NAMES)
    assert set(TABLES) <= {f"sk-{learner}-{name}" for learner in LEARNERS for name in data.DATA}


def test_the_tables_need_no_scikit_learn() -> None:
    program = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from nasbench.benchmarks import open_benchmark\n"
        f"table = open_benchmark({TABLES[0]!r})\n"
        "print(table.evaluate(table.space.configuration(7), 3).cost > 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


@pytest.mark.slow
@each_table
def test_cells_of_a_table_are_what_scikit_learn_alone_gives(name: str) -> None:
    sklearn = pytest.importorskip("sklearn")
    source = json.loads((directly.PACKED / name / "table.json").read_text())["source"]
    if f"scikit-learn {sklearn.__version__} " not in source:
        pytest.skip(f"the tables are of another version: {source}")
    seed = int.from_bytes(name.encode()[:8])
    for values, repetition, told in directly.cells(name, np.random.default_rng(seed), 2):
        assert directly.computed(name, values, repetition) == unmeasured(told)


@pytest.mark.parametrize("name", data.DATA)
def test_the_stated_rows_are_those_of_the_data_and_give_the_stated_seconds(name: str) -> None:
    pytest.importorskip("sklearn")
    rows = sum(len(part.targets) for part in data.split(name, 0).values())
    assert rows == data.DATA[name].rows
    assert abilities.seconds_each(open_benchmark(f"learner:forest:{name}")) == pytest.approx(1e-4 * rows)
