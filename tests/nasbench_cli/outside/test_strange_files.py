"""Files are known by what they are, and damaged ones are refused in one sentence."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from nasbench.base.errors import UsageError
from nasbench.cli.outside import Asked, import_runs
from nasbench.cli.outside.readers import reader_of
from tests.nasbench_cli.outside.reading import (
    CARPS,
    COCO,
    GATHERED,
    HPBANDSTER,
    IOH,
    SYNE_TUNE,
    changed,
    copied,
    read,
)

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


def test_lines_with_names_of_their_own_are_counted_before_they_are_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nasbench.benchmarks.tabular.frames.MOST_CELLS", 400)
    lines = [f'{{"method": "a", "value": {number}, "x{number}": 1}}\n' for number in range(20)]
    (tmp_path / "t.jsonl").write_text("".join(lines))
    log = Path(shutil.copytree(CARPS / "runs/RandomSearch/BBOB/bbob/2/1/0/1", tmp_path / "log")) / "trial_logs.jsonl"
    trials = [json.loads(line) for line in log.read_text().splitlines()]
    log.write_text("".join(json.dumps(t | {f"x{n}": {f"y{n}": 1}}) + "\n" for n, t in enumerate(trials * 3)))
    for path in (tmp_path / "t.jsonl", log):
        with pytest.raises(UsageError, match="more than 400 values, which is the limit"):
            read(path)


def test_a_note_names_the_first_of_many_columns(tmp_path: Path) -> None:
    names = ",".join(f"x{number}" for number in range(30))
    path = tmp_path / "t.csv"
    path.write_text(f"method,benchmark,seed,value,{names}\n" + "a,b,0,1" + ",1" * 30 + "\n")
    assert read(path).note.endswith("x18, x19 and 10 more")


def test_other_folders_are_of_no_tool(tmp_path: Path) -> None:
    for name in ("results.json", "metadata.json", "results.csv.d", "a.info", "b.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "logs.parquet").mkdir()
    with pytest.raises(UsageError, match="no reader knows it"):
        reader_of(tmp_path)


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


def commas(folder: Path) -> None:
    """A few bytes of many values: each takes more room in memory."""
    with zipfile.ZipFile(folder / "results.csv.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"a" + b"," * (1 << 25) + b"\n1\n")


def broad(folder: Path) -> None:
    """Short rows below a long header, which a reader would fill."""
    with zipfile.ZipFile(folder / "results.csv.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"a" + b"," * (1 << 13) + b"\n1" * (1 << 13))


ONE, RUN, LOGGED = SYNE_TUNE / "rs-1", CARPS / "runs/RandomSearch/BBOB/bbob/2/1/0/1", IOH / "improvements"
FUNCTION, DATA, INFO = "IOHprofiler_f1_Sphere.json", "data_f1_Sphere/IOHprofiler_f1_DIM2.dat", "bbobexp_f1.info"
DAMAGE: dict[str, tuple[Path, Change, str]] = {
    "a cut archive": (ONE, cut("results.csv.zip"), "results.csv.zip is damaged or cut off"),
    "a bomb": (ONE, bomb, "has more than 268,435,456 bytes unpacked"),
    "many commas": (ONE, commas, "has more than 33,554,432 values, which is the limit"),
    "a broad header": (ONE, broad, "has more than 33,554,432 values, which is the limit"),
    "cut metadata": (ONE, cut("metadata.json"), "metadata.json is not JSON"),
    "no metrics": (ONE, edited("metadata.json", "metric_names", "names"), "it states no metric_names"),
    "another metric": (ONE, edited("metadata.json", '["mean_loss"], "metric_m', '["los"], "metric_m'), "column"),
    "a list": (ONE, lambda f: (f / "metadata.json").write_text("[]"), "it holds no object of JSON"),
    "no text": (ONE, lambda f: (f / "metadata.json").write_bytes(b"\xff{"), "is not a text file"),
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
    "two numbers for a configuration": (
        HPBANDSTER,
        lambda f: [
            edited(f"random/quadratic/1/{name}.json", "[0, 0, 1]", "[0, 1]", -1)(f) for name in ("configs", "results")
        ],
        "none of a run",
    ),
    "dates": (
        HPBANDSTER,
        edited("random/quadratic/1/results.json", '"submitted": 0.0', '"submitted": "now"'),
        "none of a",
    ),
    "no loss": (HPBANDSTER, edited("random/quadratic/1/results.json", "loss", "cost"), "a row is none of a run"),
    "cut data": (LOGGED, cut(DATA), "1 runs, and IOHprofiler_f1_Sphere.json 2"),
    "half a row": (LOGGED, lambda f: (f / DATA).write_text((f / DATA).read_text()[:-14]), "too short"),
    "no header": (LOGGED, edited(DATA, "evaluations raw_y\n", ""), "it does not begin with a header"),
    "no data": (LOGGED, lambda f: (f / DATA).unlink(), "cannot read .*DIM2.dat: No such file"),
    "data elsewhere": (LOGGED, edited(FUNCTION, "data_f1_", "../data_f1_"), "a file outside it"),
    "no instance": (LOGGED, edited(FUNCTION, "instance", "i"), "a fact of a run is missing"),
    "another best": (LOGGED, edited(FUNCTION, '"y": ', '"y": -'), "improvements were not logged"),
    "an end out of any range": (
        LOGGED,
        edited(FUNCTION, '"evals": 12,', '"evals": 1e400,'),
        "a fact of a run is missing",
    ),
    "an end too early": (LOGGED, edited(FUNCTION, ": 12,", ": 11,"), "goes on after its end"),
    "a run less": (COCO, edited(INFO, ", 3:20|1.1e+01", ""), "has 3 runs, and bbobexp_f1.info names 2"),
    "a strange run": (COCO, edited(INFO, "3:20|", "3;20|"), "names no run"),
    "a run that goes on": (COCO, edited(INFO, "3:20|", "3:19|"), "has evaluation 20, and bbobexp_f1.info names 19"),
    "no dimension": (COCO, edited(INFO, "DIM =", "D ="), "without funcId, DIM and algId"),
    "evaluations that go back": (COCO, edited("data_f1/bbobexp_f1_DIM2.dat", "\n20 ", "\n1 "), "do not increase"),
    "a run of many digits": (COCO, edited(INFO, "3:20|", f"{'3' * 5000}:20|"), "names no run"),
    "more evaluations than a computer counts": (COCO, edited(INFO, "3:20|", f"3:{'9' * 23}|"), "names no run"),
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


@pytest.mark.slow
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
