"""Runs of Syne Tune, CARP-S, HpBandSter, IOHprofiler and COCO, in files that these tools wrote: `make_files_b.py`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nasbench
from nasbench.base.errors import UsageError
from nasbench.cli.outside import Asked, import_runs
from nasbench.cli.outside.readers import reader_of
from nasbench.cli.outside.rows import Rows
from nasbench.cli.outside.runs import runs_of
from nasbench.results.store.trajectory import Setup, Trajectory

FILES = Path(__file__).parent / "files"
SYNE_TUNE, CARPS, HPBANDSTER, IOH, COCO = (
    FILES / name for name in ("syne_tune", "carps", "hpbandster", "ioh", "coco/bbob")
)
GATHERED = CARPS / "logs.parquet"
Runs = dict[tuple[str, str, int], tuple[Setup, Trajectory]]


def read(path: Path, **asked: object) -> Rows:
    return reader_of(path).read(path, Asked(**asked))  # type: ignore[arg-type]


def runs(path: Path, **asked: object) -> Runs:
    made = runs_of(read(path, **asked), Asked(**asked))  # type: ignore[arg-type]
    return {(s.method, s.bench, t.seed): (s, t) for s, every in made for t in every}


def column(run: tuple[Setup, Trajectory], name: str) -> list[object]:
    values: list[object] = run[1].columns[name].tolist()
    return values


def best(run: tuple[Setup, Trajectory]) -> float:
    return float(run[1].columns["incumbent"][-1])


def copied(path: Path, folder: Path) -> Path:
    return Path(shutil.copytree(path, folder / path.name))


def changed(path: Path, old: str, new: str, times: int = -1) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, times))


# --- which reader -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "title"),
    [
        (SYNE_TUNE, "experiments of Syne Tune"),
        (SYNE_TUNE / "rs-1", "experiments of Syne Tune"),
        (CARPS / "runs", "logs of CARP-S"),
        (GATHERED, "logs of CARP-S"),
        (HPBANDSTER, "folders of HpBandSter"),
        (IOH / "every", "files of IOHprofiler"),
        (IOH / "every" / "IOHprofiler_f1_OneMax.json", "files of IOHprofiler"),
        (COCO, "a folder of COCO"),
    ],
)
def test_files_are_known_by_what_they_are(path: Path, title: str) -> None:
    assert reader_of(path).title == title


def test_a_log_is_no_table(tmp_path: Path) -> None:
    (log,) = (CARPS / "runs/RandomSearch/BBOB/bbob/2/1/0/1").glob("*.jsonl")
    assert reader_of(log).title == "logs of CARP-S"
    pd.DataFrame({"method": ["a"]}).to_parquet(tmp_path / "logs.parquet")
    assert reader_of(tmp_path / "logs.parquet").title == "a table"


def test_other_folders_are_of_no_tool(tmp_path: Path) -> None:
    for name in ("results.json", "metadata.json", "results.csv.d", "a.info", "b.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "logs.parquet").mkdir()
    with pytest.raises(UsageError, match="no reader knows it"):
        reader_of(tmp_path)


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


# --- IOHprofiler ------------------------------------------------------------------------------------------------------


def test_improvements_of_ioh_are_the_best_so_far() -> None:
    found = runs(IOH / "improvements")
    assert list(found) == [("random", f"{f}_d2", seed) for f in ("f1_Sphere", "f2_Ellipsoid") for seed in (1, 2)]
    for function in ("f1_Sphere", "f2_Ellipsoid"):
        facts = json.loads((IOH / f"improvements/IOHprofiler_{function}.json").read_text())
        for stated in facts["scenarios"][0]["runs"]:
            run = found["random", f"{function}_d2", stated["instance"]]
            assert best(run) == pytest.approx(stated["best"]["y"], rel=1e-9)
            assert run[0].evals == stated["evals"] == 12
            reached = [n for n, value in enumerate(column(run, "objective"), 1) if value == best(run)]
            assert reached == list(range(stated["best"]["evals"], 13))  # the last row, a worse value, is no improvement
    assert (read(IOH / "improvements").shape, read(IOH / "improvements").sense) == ("best", "minimise")


def test_every_evaluation_of_ioh_is_a_trajectory_and_may_be_read_as_the_best_so_far() -> None:
    rows = read(IOH / "every")
    assert (rows.shape, rows.sense, sorted(set(rows.frame["seed"]))) == ("trajectory", "maximise", [1001, 1002])
    assert "seed 1001 is instance 1, run 1" in rows.note
    lines = (IOH / "every/data_f1_OneMax/IOHprofiler_f1_DIM8.dat").read_text().splitlines()
    fields = [line.split() for line in lines if line[0].isdigit()]
    assert rows.frame["value"].tolist() == [float(row[1]) for row in fields]
    as_best = read(IOH / "every", shape="best").frame
    assert as_best["value"].tolist() == [float(row[2]) for row in fields]
    assert read(IOH / "every", shape="final").frame["value"].tolist() == [5, 7]
    with pytest.raises(UsageError, match="not every evaluation is logged"):
        read(IOH / "improvements", shape="trajectory")


def test_a_run_of_ioh_goes_on_after_its_last_row(tmp_path: Path) -> None:
    path = copied(IOH / "improvements", tmp_path)
    changed(path / "IOHprofiler_f1_Sphere.json", '"evals": 12, "best"', '"evals": 15, "best"')
    changed(path / "IOHprofiler_f2_Ellipsoid.json", '"evals": 12, "best"', '"evals": 15, "best"')
    assert {run[0].evals for run in runs(path).values()} == {15}


def test_functions_with_two_directions_are_given_one_by_one() -> None:
    with pytest.raises(UsageError, match=r"give each .json file by itself"):
        read(IOH)
    assert list(runs(IOH / "improvements/IOHprofiler_f1_Sphere.json", columns={"method": "RS"})) == [
        ("RS", "f1_Sphere_d2", 1),
        ("RS", "f1_Sphere_d2", 2),
    ]


METHODS = ["evolution", "random", "tpe"]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    for bench, options in (("hpolib-naval", {"constraints": "model_size@0.3"}), ("sk-forest-wine", {})):
        nasbench.run(METHODS, bench, seeds=4, evals=25, store=folder / "store", **options)
    return folder


@pytest.mark.parametrize("score", ["observed", "mean"])
def test_what_our_export_to_ioh_writes_reads_back_with_the_same_ranks(
    exported: Path, score: str, tmp_path: Path
) -> None:
    first = nasbench.report(
        exported / "store", out=tmp_path / "a", format="csv", score=score, ioh=str(tmp_path / "ioh")
    )
    import_runs([tmp_path / "ioh"], tmp_path / "store", Asked())
    second = nasbench.report(tmp_path / "store", out=tmp_path / "b", format="csv")
    for name, columns in (("medians", ["bench", "constraint", *METHODS]), ("ranks", ["method", "first", "last"])):
        pd.testing.assert_frame_equal(first.tables[name][columns], second.tables[name][columns])
    assert first.tables["ranks"]["25"].nunique() > 1
    shape = {"observed": "best", "mean": "final"}[score]  # a value by another score may rise
    assert second.tables["ranks"]["25" if shape == "best" else "1"].tolist() == first.tables["ranks"]["25"].tolist()
    assert read(tmp_path / "ioh").shape == shape
    if shape == "final":
        with pytest.raises(UsageError, match="--score observed"):
            read(tmp_path / "ioh", shape="best")


# --- COCO -------------------------------------------------------------------------------------------------------------


def test_runs_of_coco_reach_the_values_that_coco_states() -> None:
    found = runs(COCO)
    assert list(found) == [("random", f"f{f}_d2", seed) for f in (1, 2) for seed in (1, 2, 3)]
    stated = json.loads((COCO.parent / "best.json").read_text())
    for (_, bench, seed), run in found.items():
        text = (COCO / f"data_{bench[:2]}/bbobexp_{bench[:2]}_DIM2.dat").read_text()
        optima = [float(value) for value in re.findall(r"Fopt \(([-+.e\d]+)\)", text)]
        expected = stated[f"bbob_f00{bench[1]}_i0{seed}_d02"] - optima[seed - 1]
        assert best(run) == pytest.approx(expected, abs=1e-8, rel=1e-8)
        assert run[0].evals == 20
    rows = read(COCO)
    assert (rows.shape, rows.sense) == ("best", "minimise")
    assert "seeds are instances" in rows.note
    assert {method for method, _, _ in runs(COCO, columns={"method": "RS"})} == {"RS"}


def test_other_suites_of_coco_are_other_benchmarks(tmp_path: Path) -> None:
    path = copied(COCO, tmp_path)
    changed(path / "bbobexp_f1.info", "suite = 'bbob'", "suite = 'sbox-cost'")
    changed(path / "bbobexp_f2.info", "suite = 'bbob', ", "")
    changed(path / "bbobexp_f2.info", "1:20|", "1:30|")
    changed(path / "bbobexp_f2.info", "data_f2/", "data_f2\\")
    assert {bench for _, bench, _ in runs(path, budget=30)} == {"sbox-cost_f1_d2", "f2_d2"}
    with pytest.raises(UsageError, match="--budget N says where runs ended"):
        runs(path)


def test_several_runs_on_an_instance_have_seeds_of_their_own(tmp_path: Path) -> None:
    path = copied(COCO, tmp_path)
    changed(path / "bbobexp_f1.info", ", 2:20|", ", 1:20|")
    assert sorted(seed for _, bench, seed in runs(path) if bench == "f1_d2") == [1001, 1002, 3001]


# --- what is damaged --------------------------------------------------------------------------------------------------

Change = Callable[[Path], object]


def cut(name: str) -> Change:
    """Cuts a file in the middle."""
    return lambda folder: (folder / name).write_bytes(
        (folder / name).read_bytes()[: (folder / name).stat().st_size // 2]
    )


def edited(name: str, old: str, new: str, times: int = 1) -> Change:
    return lambda folder: changed(folder / name, old, new, times)


def bomb(folder: Path) -> None:
    with (
        zipfile.ZipFile(folder / "results.csv.zip", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a", "w") as file,
    ):
        for _ in range(300):
            file.write(bytes(1 << 20))


RUN = CARPS / "runs/RandomSearch/BBOB/bbob/2/1/0/1"
DATA = "data_f1_Sphere/IOHprofiler_f1_DIM2.dat"
DAMAGE: dict[str, tuple[Path, Change, str]] = {
    "a cut archive": (SYNE_TUNE / "rs-1", cut("results.csv.zip"), "results.csv.zip is damaged or cut off"),
    "a bomb": (SYNE_TUNE / "rs-1", bomb, "has more than 268,435,456 bytes unpacked"),
    "cut metadata": (SYNE_TUNE / "rs-1", cut("metadata.json"), "metadata.json is not JSON"),
    "no metrics": (SYNE_TUNE / "rs-1", edited("metadata.json", "metric_names", "names"), "it states no metric_names"),
    "another metric": (
        SYNE_TUNE / "rs-1",
        edited("metadata.json", '["mean_loss"], "metric_m', '["los"], "metric_m'),
        "column",
    ),
    "a list": (SYNE_TUNE / "rs-1", lambda f: (f / "metadata.json").write_text("[]"), "it holds no object of JSON"),
    "no text": (SYNE_TUNE / "rs-1", lambda f: (f / "metadata.json").write_bytes(b"\xff{"), "is not a text file"),
    "a cut log": (RUN, cut("trial_logs.jsonl"), "damaged or cut off: line 4 is no JSON"),
    "no trials": (RUN, edited("trial_logs.jsonl", "trial_value", "value"), "it has lines without trial_value"),
    "no cost": (RUN, edited("trial_logs.jsonl", '"cost"', '"loss"', -1), "its trials have no cost"),
    "a word": (RUN, edited("trial_logs.jsonl", '"cost": ', '"cost": "much", "_": '), "cost is 'much' in row 1"),
    "no settings": (RUN, lambda f: shutil.rmtree(f / ".hydra"), "cannot read .*config.yaml: No such file"),
    "no optimiser": (RUN, edited(".hydra/config.yaml", "optimizer_id: RandomSearch", "a: b"), "it states no method"),
    "no seed": (RUN, edited(".hydra/config.yaml", "seed: 1", "seed: null"), "it states no benchmark|it states no seed"),
    "cut results": (HPBANDSTER, cut("random/quadratic/1/results.json"), "line 3 is no JSON"),
    "no configurations": (HPBANDSTER, lambda f: (f / "random/quadratic/1/configs.json").unlink(), "cannot read"),
    "a configuration less": (
        HPBANDSTER,
        edited("random/quadratic/1/configs.json", "[0, 0, 1]", "[9, 9, 9]"),
        "none of a run",
    ),
    "no loss": (HPBANDSTER, edited("random/quadratic/1/results.json", "loss", "cost"), "a row is none of a run"),
    "cut data": (IOH / "improvements", cut(DATA), "1 runs, and IOHprofiler_f1_Sphere.json 2"),
    "half a row": (IOH / "improvements", lambda f: (f / DATA).write_text((f / DATA).read_text()[:-14]), "too short"),
    "no header": (IOH / "improvements", edited(DATA, "evaluations raw_y\n", ""), "it does not begin with a header"),
    "no data": (IOH / "improvements", lambda f: (f / DATA).unlink(), "cannot read .*DIM2.dat: No such file"),
    "data elsewhere": (
        IOH / "improvements",
        edited("IOHprofiler_f1_Sphere.json", "data_f1_", "../data_f1_"),
        "a file outside it",
    ),
    "no instance": (
        IOH / "improvements",
        edited("IOHprofiler_f1_Sphere.json", "instance", "i"),
        "a fact of a run is missing",
    ),
    "another best": (
        IOH / "improvements",
        edited("IOHprofiler_f1_Sphere.json", '"y": ', '"y": -'),
        "improvements were not logged",
    ),
    "an end too early": (
        IOH / "improvements",
        edited("IOHprofiler_f1_Sphere.json", ": 12,", ": 11,"),
        "goes on after its end",
    ),
    "a run less": (COCO, edited("bbobexp_f1.info", ", 3:20|1.1e+01", ""), "has 3 runs, and bbobexp_f1.info names 2"),
    "a strange run": (COCO, edited("bbobexp_f1.info", "3:20|", "3;20|"), "names no run"),
    "a run that goes on": (
        COCO,
        edited("bbobexp_f1.info", "3:20|", "3:19|"),
        "has evaluation 20, and bbobexp_f1.info names 19",
    ),
    "no dimension": (COCO, edited("bbobexp_f1.info", "DIM =", "D ="), "without funcId, DIM and algId"),
    "evaluations that go back": (COCO, edited("data_f1/bbobexp_f1_DIM2.dat", "\n20 ", "\n1 "), "do not increase"),
    "two objectives": (COCO.parent / "bbob-biobj", lambda f: None, "has runs with two objectives"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_files_are_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    source, change, said = DAMAGE[name]
    path = copied(source, tmp_path)
    change(path)
    with pytest.raises(UsageError, match=said) as refused:
        import_runs([path], tmp_path / "store", Asked())
    assert str(refused.value).removeprefix("cannot read ").startswith(str(tmp_path))
    assert len(str(refused.value).splitlines()) == 1
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("name", ["a cut archive", "a cut log", "cut results", "cut data", "a run less"])
def test_damaged_files_end_a_command_with_2(name: str, tmp_path: Path) -> None:
    source, change, said = DAMAGE[name]
    path = copied(source, tmp_path)
    change(path)
    asked = ["import", "runs", str(path), "--store", str(tmp_path / "store")]
    done = subprocess.run([sys.executable, "-m", "nasbench", *asked], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert done.stderr.startswith(f"nasbench: {tmp_path}")
    assert re.search(said, done.stderr)


@pytest.mark.parametrize("path", [SYNE_TUNE, CARPS / "runs", HPBANDSTER, IOH / "every", COCO])
def test_options_for_tables_are_refused(path: Path) -> None:
    with pytest.raises(UsageError, match=r"--column cost=… is for tables"):
        read(path, columns={"cost": "a"})
    if path not in (IOH / "every", COCO):
        with pytest.raises(UsageError, match="--shape best is for tables: these rows are read as trajectory"):
            read(path, shape="best")
