"""Runs of Syne Tune, CARP-S and HpBandSter, in files that these tools wrote (`make_experiments.py`)."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nasbench.base.errors import UsageError
from tests.nasbench_cli.outside.reading import (
    CARPS,
    GATHERED,
    HPBANDSTER,
    SYNE_TUNE,
    best,
    changed,
    column,
    copied,
    read,
    refused,
    runs,
)

# --- Syne Tune --------------------------------------------------------------------------------------------------------


def test_trials_of_syne_tune_count_by_their_last_rows() -> None:
    found = runs(SYNE_TUNE)
    assert list(found) == [(m, "train_height", s) for m in ("RandomSearch", "asha") for s in (1, 2)]
    for method, folder in (("RandomSearch", "rs"), ("asha", "asha")):
        for seed in (1, 2):
            run, table = (
                found[method, "train_height", seed],
                pd.read_csv(SYNE_TUNE / f"{folder}-{seed}/results.csv.zip"),
            )
            last = [rows.iloc[-1] for _, rows in table.groupby("trial_id")]
            assert column(run, "objective") == [row["mean_loss"] for row in last]
            assert column(run, "finished") == [row["st_tuner_time"] for row in last]
            assert json.loads(str(column(run, "configuration")[0])) == {
                name.removeprefix("config_"): pytest.approx(last[0][name], abs=1e-13)
                for name in table
                if name.startswith("config_")
            }
            assert (run[0].setting.objective, run[0].evals) == ("mean_loss", len(last))
    notes = read(SYNE_TUNE).note.split("; ")
    assert "the value of a trial is that of its last row, wherever it was stopped" in notes
    assert "the benchmark is the name of the script, train_height" in notes


def test_an_experiment_states_its_names_direction_and_seed(tmp_path: Path) -> None:
    path = copied(SYNE_TUNE / "asha-2", tmp_path)
    ((_, _, seed),) = runs(path)
    assert (seed, read(path).sense, "script" in read(path).note) == (2, "minimise", False)
    changed(path / "metadata.json", '"metric_mode": "min"', '"metric_mode": ["max"]')
    (run,) = runs(path).values()
    assert column(run, "objective").index(best(run)) == read(path).frame["value"].argmax()
    said = runs(path, columns={"method": "mine", "benchmark": "b", "seed": "7", "value": "epoch"}, sense="maximise")
    assert list(said) == [("mine", "b", 7)]
    with pytest.raises(UsageError, match=r"is less or more of epoch better\? --direction"):
        runs(path, columns={"value": "epoch"})


def test_seeds_that_no_experiment_states_are_the_order_of_folders(tmp_path: Path) -> None:
    path = copied(SYNE_TUNE, tmp_path)
    for folder in path.glob("asha-*"):
        shutil.rmtree(folder)
    for file in path.rglob("metadata.json"):
        facts = json.loads(file.read_text())
        del facts["scheduler_kwargs"]["random_seed"]
        file.write_text(json.dumps(facts))
    assert [seed for _, _, seed in runs(path)] == [0, 1]
    assert "seeds are the order of the folders" in read(path).note
    shutil.copytree(SYNE_TUNE / "asha-1", path / "asha-1")
    with pytest.raises(UsageError, match="some of its experiments state a seed, and others none"):
        read(path)


def test_an_experiment_without_compression_with_a_trial_that_failed(tmp_path: Path) -> None:
    path = copied(SYNE_TUNE / "rs-1", tmp_path)
    table = pd.read_csv(path / "results.csv.zip")
    (path / "results.csv.zip").unlink()
    table[table["trial_id"] != 2].assign(mean_loss=lambda t: t["mean_loss"].where(t["trial_id"] != 3, np.inf)).to_csv(
        path / "results.csv", index=False
    )
    (run,) = runs(path).values()
    assert column(run, "status") == ["ok", "ok", "failed", "ok", "ok"]
    assert "1 trial of rs-1 without results left out" in read(path).note


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_rows_are_counted_whatever_ends_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    path = copied(SYNE_TUNE / "rs-1", tmp_path)
    (path / "results.csv.zip").unlink()
    (path / "results.csv").write_bytes(("trial_id,mean_loss" + f"{end}1,2" * 50).encode())
    assert len(read(path).frame) == 1
    monkeypatch.setattr("nasbench.cli.outside.readers.syne_tune.MOST_CELLS", 101)
    assert "more than 101 values" in refused(path)


def test_several_metrics_of_syne_tune_are_asked_about(tmp_path: Path) -> None:
    path = copied(SYNE_TUNE / "rs-1", tmp_path)
    changed(
        path / "metadata.json",
        '["mean_loss"], "metric_mode": "min"',
        '["mean_loss", "epoch"], "metric_mode": ["min", "max"]',
    )
    with pytest.raises(UsageError, match="--column value=mean_loss says which"):
        read(path)
    assert (read(path, columns={"value": "epoch"}).name, read(path, columns={"value": "epoch"}).sense) == (
        "epoch",
        "maximise",
    )
    shutil.copytree(SYNE_TUNE / "rs-2", tmp_path / "both" / "rs-2")
    shutil.move(path, tmp_path / "both")
    changed(tmp_path / "both/rs-1/metadata.json", '["mean_loss", "epoch"], "metric_mode": ["min", "max"]', '["epoch"]')
    with pytest.raises(UsageError, match="its experiments are of epoch and mean_loss"):
        read(tmp_path / "both")
    with pytest.raises(UsageError, match="less of mean_loss is better in some"):
        changed(tmp_path / "both/rs-1/metadata.json", '["epoch"]', '["mean_loss"], "metric_mode": "max"')
        read(tmp_path / "both")


def test_an_experiment_without_names_is_asked_about(tmp_path: Path) -> None:
    path = copied(SYNE_TUNE / "rs-1", tmp_path)
    changed(path / "metadata.json", '"entrypoint"', '"elsewhere"')
    with pytest.raises(UsageError, match="states no benchmark: --column benchmark=NAME says it"):
        read(path)


# --- CARP-S -----------------------------------------------------------------------------------------------------------


def test_logs_of_carps_and_what_it_gathers_are_the_same_runs() -> None:
    found, gathered = runs(CARPS / "runs"), runs(GATHERED)
    assert list(found) == list(gathered)
    assert list(found) == [("RandomSearch", f"bbob/2/{f}/0", seed) for f in (1, 2) for seed in (1, 2)]
    for (_, bench, seed), run in found.items():
        log = CARPS / f"runs/RandomSearch/BBOB/{bench}/{seed}/trial_logs.jsonl"
        trials = [json.loads(line) for line in log.read_text().splitlines()]
        costs = [trial["trial_value"]["cost"] for trial in trials]
        assert column(run, "objective") == costs
        assert best(run) == min(costs)
        assert run[0].evals == len(trials) == 8
        ends = [trial["trial_value"]["endtime"] - trials[0]["trial_value"]["starttime"] for trial in trials]
        assert column(run, "finished") == pytest.approx(ends, abs=1e-6)
        assert json.loads(str(column(run, "configuration")[0]))["x1"] == trials[0]["trial_info"]["config"][1]
        other = gathered["RandomSearch", bench, seed]
        np.testing.assert_allclose(column(other, "objective"), costs)  # type: ignore[arg-type]
        assert column(other, "finished") == pytest.approx(ends, abs=1e-6)
    assert read(GATHERED).sense == read(CARPS / "runs").sense == "minimise"


def test_the_settings_of_carps_follow_their_references(tmp_path: Path) -> None:
    path = copied(CARPS / "runs/RandomSearch/BBOB/bbob/2/1/0/1", tmp_path)
    config = path / ".hydra/config.yaml"
    changed(config, "task_id: ${task.name}", "problem_id: ${outer}\nouter: 'a/${task.name}/${seed}'")
    changed(config, "seed: 1\n", "seed: 5\n", 1)
    assert list(runs(path)) == [("RandomSearch", "a/bbob/2/1/0/5", 5)]
    assert list(runs(path, columns={"method": "RS"})) == [("RS", "a/bbob/2/1/0/5", 5)]


def test_crashed_trials_of_carps_have_no_value(tmp_path: Path) -> None:
    path = copied(CARPS / "runs/RandomSearch/BBOB/bbob/2/1/0/1", tmp_path)
    lines = (path / "trial_logs.jsonl").read_text().splitlines(keepends=True)
    lines[1] = lines[1].replace('"status": 1', '"status": 2')
    lines[2] = re.sub(r'"cost": [-\d.]+', '"cost": Infinity', lines[2])
    (path / "trial_logs.jsonl").write_text("".join(lines))
    (run,) = runs(path).values()
    assert column(run, "status") == ["ok", "failed", "failed", *["ok"] * 5]


def test_budgets_of_carps_below_the_highest_are_left_out(tmp_path: Path) -> None:
    path = copied(CARPS / "runs/RandomSearch/BBOB/bbob/2/1/0", tmp_path)
    log = path / "1/trial_logs.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    costs = [json.loads(line)["trial_value"]["cost"] for line in lines]
    log.write_text(
        "".join(line.replace('"budget": null', f'"budget": {3 ** (n % 2)}', 1) for n, line in enumerate(lines))
    )
    (run,) = runs(path / "1").values()
    assert column(run, "objective") == costs[1::2]
    assert "an evaluation is one at the highest budget; 4 others left out" in read(path / "1").note
    other = path / "2/trial_logs.jsonl"
    other.write_text(other.read_text().replace('"budget": null', '"budget": 1'))
    with pytest.raises(UsageError, match="seed 2, has no trial at the highest budget, 3"):
        read(path)


def test_several_objectives_of_carps_are_refused(tmp_path: Path) -> None:
    path = copied(CARPS / "runs/RandomSearch/BBOB/bbob/2/1/0/1", tmp_path)
    log = path / "trial_logs.jsonl"
    log.write_text(re.sub(r'"cost": ([-\d.]+)', r'"cost": [\1, 1]', log.read_text()))
    with pytest.raises(UsageError, match="several objectives"):
        read(path)
    pd.read_parquet(GATHERED).assign(task_type="multi-objective").to_parquet(tmp_path / "logs.parquet")
    with pytest.raises(UsageError, match="several objectives"):
        read(tmp_path / "logs.parquet")


# --- HpBandSter -------------------------------------------------------------------------------------------------------


def test_only_the_highest_budget_of_hpbandster_counts_and_all_of_its_time() -> None:
    found = runs(HPBANDSTER)
    assert list(found) == [(m, "quadratic", seed) for m in ("halving", "random") for seed in (1, 2)]
    for (method, bench, seed), run in found.items():
        folder = HPBANDSTER / method / bench / str(seed)
        rows = [json.loads(line) for line in (folder / "results.json").read_text().splitlines()]
        configs = {str(k): c for k, c, _ in map(json.loads, (folder / "configs.json").read_text().splitlines())}
        full = [row for row in rows if row[1] == 9]
        losses = [row[3]["loss"] if row[3] else np.nan for row in full]
        np.testing.assert_array_equal(column(run, "objective"), losses)  # type: ignore[arg-type]
        assert best(run) == np.nanmin(losses)
        assert column(run, "status") == ["failed" if np.isnan(loss) else "ok" for loss in losses]
        assert column(run, "finished") == [row[2]["finished"] for row in full]
        assert [json.loads(str(c)) for c in column(run, "configuration")] == [configs[str(row[0])] for row in full]
        assert run[0].evals == 4
    rows_ = read(HPBANDSTER)
    assert (rows_.sense, rows_.name) == ("minimise", "loss")
    assert "16 evaluations at lower budgets left out" in rows_.note


def test_the_clock_of_hpbandster_begins_with_its_first_job(tmp_path: Path) -> None:
    path = copied(HPBANDSTER, tmp_path) / "random" / "quadratic" / "1" / "results.json"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        row[2] = {name: time + 1000 for name, time in row[2].items()}
    path.write_text("".join(json.dumps(row) + "\n" for row in reversed(rows)))
    assert column(runs(tmp_path / "hpbandster")["random", "quadratic", 1], "finished") == [9, 18, 27, 36]


def test_folders_or_options_name_the_runs_of_hpbandster() -> None:
    one = HPBANDSTER / "halving/quadratic/1"
    with pytest.raises(UsageError, match=r"method, benchmark or seed: .*METHOD/BENCHMARK/SEED.*--column method=…"):
        read(one)
    assert list(runs(one, columns={"method": "m", "benchmark": "b", "seed": "3"})) == [("m", "b", 3)]
    assert list(runs(HPBANDSTER / "random", columns={"method": "m"})) == [("m", "quadratic", 1), ("m", "quadratic", 2)]


def test_a_run_without_the_highest_budget_of_its_benchmark_is_refused(tmp_path: Path) -> None:
    path = copied(HPBANDSTER, tmp_path)
    file = path / "random/quadratic/2/results.json"
    file.write_text(file.read_text().replace("], 9.0,", "], 3.0,"))
    with pytest.raises(
        UsageError, match="random on quadratic, seed 2, has no evaluation at the highest budget there, 9"
    ):
        read(path)


def test_a_line_with_an_endless_integer_is_refused(tmp_path: Path) -> None:
    value = "9" * 4000
    (tmp_path / "t.jsonl").write_text(f'{{"method": "a", "task": "b", "seed": 1, "step": 1, "value": {value}}}\n')
    with pytest.raises(UsageError, match="line 1 is no JSON"):
        runs(tmp_path / "t.jsonl")
