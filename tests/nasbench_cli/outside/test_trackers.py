"""Runs of MLflow and Ray Tune, in files that they wrote (`make_trackers.py`), and a table of Weights & Biases.

The server of Weights & Biases makes its table, which is written here by its documentation.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nasbench.base.errors import UsageError
from nasbench.cli.outside.readers import reader_of
from nasbench.cli.outside.readers.mlflow import _facts
from tests.nasbench_cli.outside.reading import FILES, Nasbench, marks, one_sentence, read, refused

# ---------------------------------------------------------------- MLflow


@pytest.fixture
def mlruns(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FILES / "mlruns", tmp_path / "mlruns"))


def runs_of(mlruns: Path) -> list[Path]:
    """The folders of MLflow's runs, in the order of their starts."""

    def start(run: Path) -> str:
        return next(line for line in (run / "meta.yaml").read_text().splitlines() if line.startswith("start_time"))

    return sorted((meta.parent for meta in mlruns.glob("*/*/meta.yaml")), key=start)


ACCURACY = {"value": "val_accuracy"}


def test_an_experiment_of_mlflow_is_a_run(mlruns: Path, nasbench: Nasbench, tmp_path: Path) -> None:
    rows = read(mlruns, columns=ACCURACY)
    assert marks(rows) == [("random", "digits", "3")]
    assert (rows.name, rows.shape, rows.sense) == ("val_accuracy", "trajectory", "maximise")
    expected = [0.5 + 0.05 * (7 * number % 8) for number in range(8)]
    np.testing.assert_allclose(rows.frame["value"], [*expected, np.nan])
    assert rows.frame["evaluation"].tolist() == list(range(1, 10))
    assert rows.frame["status"].tolist() == ["ok"] * 8 + ["failed"]
    assert rows.frame["configuration"].iloc[0] == {"depth": "1", "rate": "0.1"}
    assert rows.frame["seconds"].is_monotonic_increasing
    assert 0 < rows.frame["seconds"].iloc[0] < rows.frame["seconds"].iloc[-1] < 10
    asked = ("import", "runs", mlruns, "--store", tmp_path / "s")
    assert "--column value=train_loss" in one_sentence(nasbench(*asked))
    assert "unknown metric 'accuracy'" in one_sentence(nasbench(*asked, "--column", "value=accuracy"))
    assert nasbench(*asked, "--column", "value=val_accuracy").code == 0


def test_the_table_of_mlflow_is_the_same_run(tmp_path: Path) -> None:
    path = Path(shutil.copy(FILES / "mlflow.csv", tmp_path / "random__digits__3.csv"))
    folder, table = (read(source, columns=ACCURACY) for source in (FILES / "mlruns", path))
    assert marks(table) == [("random", "digits", "3")]
    np.testing.assert_allclose(table.frame["value"], folder.frame["value"])
    np.testing.assert_allclose(table.frame["seconds"], folder.frame["seconds"], atol=1e-3)
    assert table.frame["status"].tolist() == folder.frame["status"].tolist()
    assert table.frame["configuration"].iloc[1] == {"depth": 2, "rate": 0.2}
    assert read(path, columns={"value": "metrics.val_accuracy"}).name == "val_accuracy"
    assert marks(read(FILES / "mlflow.csv", columns=ACCURACY)) == [("mlflow", "files", "0")]


def test_runs_of_mlflow_that_name_their_method_are_grouped(mlruns: Path) -> None:
    for number, run in enumerate(runs_of(mlruns)):
        (run / "tags" / "method").write_text("ab"[number % 2])
        (run / "params" / "task").write_text("wine")
        (run / "params" / "seed").write_text(str(number // 4))
    rows = read(mlruns, columns=ACCURACY)
    assert rows.frame.groupby(["method", "seed"])["evaluation"].apply(list).to_dict() == {
        ("a", "0"): [1, 2],
        ("a", "1"): [1, 2],
        ("a", "2"): [1],
        ("b", "0"): [1, 2],
        ("b", "1"): [1, 2],
    }
    assert set(rows.frame["benchmark"]) == {"wine"}
    named = read(mlruns, columns=ACCURACY | {"method": "depth", "benchmark": "mlflow.runName"})
    assert marks(named)[0][:2] == ("1", "trial-0")
    (runs_of(mlruns)[0] / "tags" / "method").unlink()
    assert "8 of 9 runs name a method" in refused(mlruns, columns=ACCURACY)


def test_a_seed_without_a_method_is_that_of_a_training(mlruns: Path) -> None:
    for number, run in enumerate(runs_of(mlruns)):
        (run / "params" / "seed").write_text(str(number))
    assert marks(read(mlruns, columns=ACCURACY)) == [("random", "digits", "3")]
    assert "--column method=NAME" in refused(mlruns, columns=ACCURACY | {"seed": "seed"})
    assert "unknown parameter or tag 'algo'" in refused(mlruns, columns=ACCURACY | {"method": "algo"})


def test_single_runs_of_mlflow_are_histories_or_results(mlruns: Path, tmp_path: Path) -> None:
    for number, run in enumerate(runs_of(mlruns)):
        (run / "tags" / "method").write_text("m")
        (run / "params" / "seed").write_text(str(number))
    steps = read(mlruns, columns=ACCURACY)
    first = steps.frame[steps.frame["seed"] == "0"]
    assert (first["evaluation"].tolist(), steps.shape) == ([1, 2], "trajectory")
    np.testing.assert_allclose(first["value"], [0.4, 0.5])
    assert first["seconds"].between(0, 10).all()
    assert "steps of the metric are its evaluations" in steps.note
    final = read(mlruns, columns={"value": "train_loss"})
    assert (final.shape, final.sense, len(final.frame)) == ("final", "minimise", 9)
    assert "each is a run, with its last value" in final.note


def test_runs_of_mlflow_under_way_deleted_and_parents_are_left_out(mlruns: Path) -> None:
    first, second, third, *others = runs_of(mlruns)
    for run, old, new in ((first, "status: 3", "status: 1"), (second, "stage: active", "stage: deleted")):
        text = (run / "meta.yaml").read_text()
        assert old in text
        (run / "meta.yaml").write_text(text.replace(old, new))
    for run in others:
        (run / "tags" / "mlflow.parentRunId").write_text(third.name)
    rows = read(mlruns, columns=ACCURACY)
    np.testing.assert_allclose(rows.frame["value"][:2], [0.5 + 0.05 * (21 % 8), 0.5 + 0.05 * (28 % 8)])
    assert len(rows.frame) == 6
    assert "2 runs left out: parents of others, or under way" in rows.note
    (others[1] / "tags" / "mlflow.parentRunId").write_text(others[0].name)
    assert "several parent runs" in refused(mlruns, columns=ACCURACY)


def test_damaged_runs_of_mlflow_are_one_sentence(nasbench: Nasbench, mlruns: Path, tmp_path: Path) -> None:
    asked = ("--store", tmp_path / "s", "--column", "value=val_accuracy")
    run = runs_of(mlruns)[0]
    metric, meta = run / "metrics" / "val_accuracy", run / "meta.yaml"
    whole, facts = metric.read_text(), meta.read_text()
    metric.write_text(whole[:-7])
    assert f"{metric} is damaged" in one_sentence(nasbench("import", "runs", mlruns, *asked))
    metric.write_text(whole)
    meta.write_text(facts[: facts.index("start_time")])
    assert "is damaged, or of another version of MLflow: 'start_time'" in one_sentence(
        nasbench("import", "runs", mlruns, *asked)
    )
    meta.write_text(facts.replace("start_time: ", f"start_time: {'9' * 400}"))
    assert "is damaged, or of another version of MLflow: " in one_sentence(nasbench("import", "runs", mlruns, *asked))
    meta.write_text(facts)
    experiment = run.parent / "meta.yaml"
    others = [line for line in experiment.read_text().splitlines() if not line.startswith("name: ")]
    for escape in ("\\UFFFFFFFF", "\\uD800"):
        experiment.write_text("\n".join([*others, f'name: "{escape}"', ""]))
        assert "is no character" in one_sentence(nasbench("import", "runs", mlruns, *asked))
    table = tmp_path / "mlflow.csv"
    table.write_text((FILES / "mlflow.csv").read_text()[:-200])
    assert "mlflow.csv" in one_sentence(nasbench("import", "runs", table, *asked))


@pytest.mark.parametrize(
    "name",
    [
        "ResNet-20 on CIFAR-10 with cosine schedule, label smoothing and cutout augmentation: random search",
        "it's 'quoted', with a colon: and " + "long " * 40 + "end",
        "two\nlines and a tab\t, caf\xe9 \x1b[31m \u2028 " + "wide " * 30,
        'a backslash \\ and "quotes" \x07' + " x" * 60,
        "007",
        "ends with a colon:",
    ],
)
def test_names_are_read_as_yaml_writes_them(mlruns: Path, name: str) -> None:
    yaml = pytest.importorskip("yaml")
    path = next(mlruns.glob("*/meta.yaml"))
    for is_unicode in (False, True):
        written = yaml.safe_dump({"experiment_id": "1", "name": name, "last": "x"}, allow_unicode=is_unicode)
        for end in (b"\n", b"\r\n"):
            path.write_bytes(written.encode().replace(b"\n", end))
            assert _facts(path) == {"experiment_id": "1", "last": "x", "name": name}, written


@pytest.mark.parametrize(
    "text", [r'"\q"', '"open', "'open", "'a'b'", "&a b", "*a", "!!python/name:os.system", "[1, 2]"]
)
def test_other_yaml_than_mlflow_writes_is_refused(mlruns: Path, text: str) -> None:
    next(mlruns.glob("*/meta.yaml")).write_text(f"experiment_id: '1'\nname: {text}\n")
    assert "is damaged, or not written by MLflow" in refused(mlruns, columns=ACCURACY)


def test_links_out_of_a_folder_of_mlflow_are_refused(mlruns: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("0")
    (runs_of(mlruns)[0] / "params" / "own").symlink_to(tmp_path / "secret")
    assert "params/own, a file outside it" in refused(mlruns, columns=ACCURACY).replace("names own", "names params/own")


# ---------------------------------------------------------------- Weights & Biases

WANDB = """"Name","State","Notes","User","Tags","Created","Runtime","Sweep","lr","layers","_step","accuracy"
"late","finished","-","me","","2026-03-01T10:00:30.000Z","12","","0.1","2","9","0.7"
"first","finished","-","me","","2026-03-01T10:00:00.000Z","20","","0.2","3","9","0.9"
"broken","crashed","-","me","","2026-03-01T10:00:40.000Z","5","","0.3","4","2","0.99"
"now","running","-","me","","2026-03-01T10:00:50.000Z","5","","0.4","5","2","0.95"
"""


def test_runs_of_weights_and_biases(tmp_path: Path, nasbench: Nasbench) -> None:
    path = tmp_path / "grid__mnist__2.csv"
    path.write_text(WANDB)
    asked = ("import", "runs", path, "--store", tmp_path / "s")
    assert "accuracy, layers or lr may be the value: --column value=accuracy" in one_sentence(nasbench(*asked))
    rows = read(path, columns={"value": "accuracy"})
    assert (marks(rows), rows.shape, rows.sense) == ([("grid", "mnist", "2")], "trajectory", "maximise")
    np.testing.assert_equal(rows.frame["value"].to_numpy(), [0.9, 0.7, np.nan])
    assert rows.frame["seconds"].tolist() == [20, 42, 45]
    assert rows.frame["cost"].tolist() == [20, 12, 5]
    assert rows.frame["status"].tolist() == ["ok", "ok", "failed"]
    assert rows.frame["configuration"].iloc[0] == {"lr": 0.2, "layers": 3}
    assert nasbench(*asked, "--column", "value=accuracy").code == 0
    plain = Path(shutil.copy(path, tmp_path / "export.csv"))
    assert marks(read(plain, columns={"value": "accuracy"})) == [("export", tmp_path.name, "0")]


def test_runs_of_weights_and_biases_that_name_their_method_are_results(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    path.write_text(WANDB.replace('"lr","layers"', '"method","seed"'))
    rows = read(path, columns={"value": "accuracy"})
    assert (rows.shape, rows.name) == ("final", "accuracy")
    assert marks(rows)[0] == ("0.1", "export", "2")


def test_damaged_tables_of_weights_and_biases_are_one_sentence(tmp_path: Path, nasbench: Nasbench) -> None:
    path = tmp_path / "export.csv"
    asked = ("import", "runs", path, "--store", tmp_path / "s", "--column", "value=accuracy")
    path.write_text(WANDB[:-40])
    assert "export.csv" in one_sentence(nasbench(*asked))
    path.write_text(WANDB.replace("2026-03-01T10:00:40.000Z", "yesterday"))
    assert "Created of" in one_sentence(nasbench(*asked))
    path.write_text(WANDB.replace("2026-03-01T10:00:40.000Z", ""))
    assert "Created of" in one_sentence(nasbench(*asked))


# ---------------------------------------------------------------- Ray Tune


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FILES / "grid__parabola__4", tmp_path / "grid__parabola__4"))


def trial(experiment: Path, number: int) -> Path:
    (found,) = experiment.glob(f"*_0000{number}_*")
    return found


def test_an_experiment_of_ray_is_a_run(experiment: Path, nasbench: Nasbench, tmp_path: Path) -> None:
    rows = read(experiment)
    assert (marks(rows), rows.shape, rows.name) == ([("grid", "parabola", "4")], "trajectory", "loss")
    expected = [(x - 2) ** 2 + 1 / 3 for x in range(6)]
    expected[3] = np.nan
    np.testing.assert_allclose(rows.frame["value"], expected)
    assert [row["x"] for row in rows.frame["configuration"]] == list(range(6))
    assert rows.frame["status"].tolist() == ["ok", "ok", "ok", "failed", "ok", "ok"]
    last = json.loads((trial(experiment, 2) / "result.json").read_text().splitlines()[-1])
    assert rows.frame["cost"].iloc[2] == last["time_total_s"]
    first = json.loads((trial(experiment, 0) / "result.json").read_text().splitlines()[0])
    assert rows.frame["seconds"].iloc[2] == last["timestamp"] - first["timestamp"]
    assert "trials reported 1 to 3 times" in rows.note
    assert nasbench("import", "runs", experiment, "--store", tmp_path / "s").code == 0
    for path in experiment.glob("*/result.json"):
        path.unlink()
    pd.testing.assert_frame_equal(read(experiment).frame, rows.frame)


def test_trials_of_ray_are_in_the_order_of_their_first_reports(experiment: Path) -> None:
    path = trial(experiment, 5) / "result.json"
    reports = [
        json.loads(line) | {"timestamp": 1, "other": {"a": {"depth": 7}}} for line in path.read_text().splitlines()
    ]
    path.write_text("".join(json.dumps(report) + "\n" for report in reports))
    assert "loss or other/a/depth may be the value: --column value=loss" in refused(experiment)
    rows = read(experiment, columns={"value": "loss"})
    assert [row["x"] for row in rows.frame["configuration"]] == [5, 0, 1, 2, 3, 4]
    reports[-1]["timestamp"] = 1e12  # the order is that of the first reports
    path.write_text("".join(json.dumps(report) + "\n" for report in reports))
    assert read(experiment, columns={"value": "loss"}).frame["configuration"].iloc[0] == {"x": 5}


def test_a_trial_of_ray_without_a_report_is_a_failed_evaluation(experiment: Path) -> None:
    for name in ("result.json", "progress.csv"):
        (trial(experiment, 1) / name).write_text("")
    rows = read(experiment)
    assert rows.frame["status"].tolist() == ["ok", "failed", "ok", "failed", "ok", "ok"]
    assert rows.frame["configuration"].iloc[1] == {"x": 1}


def test_damaged_trials_of_ray_are_one_sentence(experiment: Path, nasbench: Nasbench, tmp_path: Path) -> None:
    asked = ("import", "runs", experiment, "--store", tmp_path / "s")
    path, params = (trial(experiment, 4) / name for name in ("result.json", "params.json"))
    whole = path.read_text()
    path.write_text(whole[:-30])
    assert f"{path} is damaged or cut off: line 3 is no JSON" in one_sentence(nasbench(*asked))
    path.write_text("[1]\n" + whole)
    assert f"line 1 of {path} is no object of JSON" in one_sentence(nasbench(*asked))
    path.write_text(whole)
    params.write_text('{"x":')
    assert f"{params} is not JSON" in one_sentence(nasbench(*asked))


# ---------------------------------------------------------------- together


def test_readers_know_their_own_files_alone(experiment: Path, mlruns: Path, tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text(WANDB)
    (tmp_path / "t.csv").write_text("method,benchmark,seed,value\na,b,0,1\n")
    (tmp_path / "empty.log").write_text("")
    titles = {path: reader_of(path).title for path in (experiment, mlruns, tmp_path / "w.csv", tmp_path / "t.csv")}
    assert list(titles.values()) == [
        "an experiment of Ray Tune",
        "runs of MLflow",
        "runs of Weights & Biases",
        "a table",
    ]
    for path in (tmp_path / "empty.log", tmp_path):
        with pytest.raises(UsageError, match="no reader knows it"):
            reader_of(path)


def test_a_file_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch, experiment: Path) -> None:
    from nasbench.cli.outside import texts

    monkeypatch.setattr(texts, "_MOST_BYTES", 100)
    assert "has more than 100 bytes" in refused(experiment)


def test_a_text_of_yaml_over_many_lines_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "meta.yaml").write_text("name: " + "a\n  " * 200_000 + "b\n")
    assert _facts(tmp_path / "meta.yaml") == {"name": "a " * 200_000 + "b"}
