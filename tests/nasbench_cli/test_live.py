"""Live benchmarks from the command line: every method that fits, kill and resume, tables of one's own."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nasbench.benchmarks.images import ImageBenchmark
from nasbench.methods import METHODS
from tests.conftest import Lend, Printed
from tests.few_digits import register as register_few_digits

pytest.importorskip("torch")
pytest.importorskip("sklearn")

BENCH = "digits/nasbench201@1"
ALWAYS_KEPT = [
    sys.executable,
    "-c",
    "from nasbench.benchmarks.training import training; training.CHECKPOINT_SECONDS = 0.0\n"
    "from nasbench.cli.main import main; main()",
]
"""The command, which keeps the state of a training after each epoch."""


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch, lend: Lend) -> str:
    """The name of a data set of 128 images to train on."""
    return register_few_digits(monkeypatch, lend)


@pytest.fixture
def few_cells(few: str) -> str:
    return f"{few}/nasbench201@1"


def rows(store: Path) -> pd.DataFrame:
    files = sorted(path for path in store.glob("*.parquet") if path.name != "0-schema.parquet")
    return pd.concat([pd.read_parquet(path) for path in files]).sort_values(["run", "evaluation"])


@pytest.mark.parametrize(
    ("method", "library"),
    [
        ("random", ""),
        ("evolution:population=3,tournament=2", ""),
        ("tpe:initial=3", ""),
        ("c-tpe:initial=3,knowledge=20", ""),
        ("smbo:candidates=50,initial=3", ""),
        ("mcts", ""),
        ("cnsga2:population=2", "optuna"),
        ("optuna-tpe", "optuna"),
        ("ax-nei:initial=3", "ax"),
    ],
)
def test_every_method_that_fits_searches_cells_under_a_size(
    method: str, library: str, few: str, nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    if library and importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    asked = ["run", "--method", method, "--bench", f"{few}@1", "--constrain", "parameters@S"]
    done = nasbench(*asked, "--seeds", 1, "--evals", 5, "--store", tmp_path / "store")
    assert done.code == 0, done.err
    found = rows(tmp_path / "store")
    assert (found["status"] == "ok").sum() == found["spent"].iloc[-1] == 5
    assert set(found["status"]) <= {"ok", "infeasible"}
    assert (found["finished"] > found["started"]).all()


@pytest.mark.slow
def test_killed_again_and_again_a_live_run_asks_what_an_undisturbed_one_asks(tmp_path: Path) -> None:
    def start(store: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "nasbench", "run", "--bench", BENCH, "--method"]
        command += ["evolution:population=3,tournament=2", "--seeds", "1", "--evals", "8", "--store"]
        return subprocess.Popen([*command, tmp_path / store], stderr=subprocess.PIPE, start_new_session=True)

    assert start("whole").wait() == 0
    killed = 0
    while True:
        process = start("killed")
        journal = tmp_path / "killed" / "_journals"
        begun = sum(len(path.read_bytes().splitlines()) for path in journal.glob("*.jsonl"))
        while process.poll() is None:
            lines = sum(len(path.read_bytes().splitlines()) for path in journal.glob("*.jsonl"))
            if killed < 2 and lines > begun + 2:  # the header, and an evaluation or two more than before
                os.killpg(process.pid, signal.SIGKILL)
                killed += 1
                break
            time.sleep(0.02)
        if process.wait() == 0:
            break
    assert killed == 2
    whole, resumed = rows(tmp_path / "whole"), rows(tmp_path / "killed")
    for column in ("configuration", "status", "objective", "incumbent"):
        assert whole[column].tolist() == resumed[column].tolist()
    assert resumed["started"].is_monotonic_increasing


@pytest.mark.slow
def test_time_before_a_kill_is_on_the_clock(tmp_path: Path) -> None:
    """A training that a kill interrupts goes on from its state, and its row has the time of both attempts."""
    command = [*ALWAYS_KEPT, "run", "--bench", "digits/nasbench201@6", "--method", "random"]
    command += ["--seeds", "1", "--evals", "1", "--store", str(tmp_path / "store")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    states = tmp_path / "store" / "_journals"
    while not list(states.glob("*.state")):
        assert process.poll() is None  # it would never come
        time.sleep(0.02)
    (state,) = states.glob("*.state")
    kept = {state.stat().st_mtime_ns}  # when
    while len(kept) < 3:
        assert process.poll() is None
        kept.add(state.stat().st_mtime_ns)
        time.sleep(0.002)
    process.kill()
    process.wait()
    before = (max(kept) - min(kept)) / 1e9
    assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0
    (row,) = rows(tmp_path / "store").to_dict("records")
    assert row["finished"] - row["started"] > row["metric.train_time"] > before
    assert list(states.iterdir()) == []


def test_a_failed_evaluation_is_retried_without_those_before_it(
    few_cells: str, nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [
        "run",
        "--method",
        "random",
        "--bench",
        few_cells,
        "--seeds",
        1,
        "--evals",
        5,
        "--store",
        tmp_path / "store",
    ]
    calls = []
    plain = ImageBenchmark.measure

    def third_fails(benchmark: ImageBenchmark, *arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise MemoryError("no memory")
        return plain(benchmark, *arguments)

    monkeypatch.setattr(ImageBenchmark, "measure", third_fails)
    assert nasbench(*asked).code == 1
    first = rows(tmp_path / "store")
    assert first["status"].tolist().count("failed") == 1
    done = nasbench(*asked, "--retry-failed")
    assert done.code == 0
    assert len(calls) == 5 + 3  # the third and what came after it
    again = rows(tmp_path / "store")
    assert again["configuration"].tolist() == first["configuration"].tolist()
    assert again["objective"].tolist()[:2] == first["objective"].tolist()[:2]


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ctrl_c_ends_a_live_run_in_one_sentence(workers: int, tmp_path: Path) -> None:
    command = [*ALWAYS_KEPT, "run", "--bench", "digits/nasbench201@1000", "--method", "random"]
    command += ["--seeds", "1", "--evals", "9", "--workers", str(workers), "--store", str(tmp_path / "store")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while len(list((tmp_path / "store" / "_journals").glob("*.state"))) < workers:  # all of them are training
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)  # a run would take longer
    assert process.returncode == 130
    assert "the same command continues from it" in err
    assert "terminate called" not in err


@pytest.mark.slow
@pytest.mark.usefixtures("forking")
def test_two_workers_and_two_jobs_train_side_by_side(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    asked = ["run", "--method", "random", "--bench", BENCH, "--seeds", 2, "--evals", 2]
    objectives = []
    for name, options in {"one": [], "two": ["--workers", 2], "jobs": ["--jobs", 2]}.items():
        assert nasbench(*asked, *options, "--store", tmp_path / name).code == 0
        found = rows(tmp_path / name)
        objectives.append(sorted(zip(found["configuration"], found["objective"].fillna(-1), strict=True)))
    assert objectives[0] == objectives[1] == objectives[2]


def test_data_dir_stands_in_for_the_data_folder(
    nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NASBENCH_DATA", os.environ["NASBENCH_DATA"])  # so that it is put back
    listed = nasbench("data", "list", "--data-dir", tmp_path)
    assert listed.code == 0
    assert "not here" in listed.out
    assert os.environ["NASBENCH_DATA"] == str(tmp_path)


def test_show_says_how_a_live_benchmark_is_trained(nasbench: Callable[..., Printed]) -> None:
    shown = " ".join(nasbench("show", "digits/genetic").out.split())
    assert "3 epochs, batches of 64, 8 channels in the first stage" in shown
    assert "digits/genetic/retrain" in shown


@pytest.mark.slow
def test_a_reference_network_stands_beside_the_searches(
    few_cells: str, nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    assert (
        nasbench("run", "--method", "random", "--bench", few_cells, "--seeds", 2, "--evals", 3, "--store", store).code
        == 0
    )
    alone = [
        "run",
        "--method",
        "random",
        "--bench",
        "few-digits/resnet18@1",
        "--seeds",
        1,
        "--evals",
        1,
        "--store",
        store,
    ]
    assert nasbench(*alone).code == 0
    done = nasbench("report", store, "--out", tmp_path / "report", "--format", "csv,html", "--full")
    assert done.code == 0, done.err  # the two budgets are not mixed
    assert "Reference networks" in done.out
    table = pd.read_csv(tmp_path / "report" / "references.csv")
    assert set(table["benchmark"]) == {"few-digits/resnet18@1"}
    assert set(table["metric"]) == {"val-error@1", "test-error@1", "test-auc"}
    found = rows(store)
    objective = found.loc[found["bench"] == "few-digits/resnet18@1", "objective"].iloc[0]
    assert table.set_index("metric").loc["val-error@1", "median"] == objective
    ranks = pd.read_csv(tmp_path / "report" / "settings.csv")
    assert set(ranks["bench"]) == {few_cells}
    assert "Reference networks" in (tmp_path / "report" / "index.html").read_text()


def test_a_method_is_made_ready_before_the_clock_of_a_live_run(
    few_cells: str, nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = []
    monkeypatch.setattr(METHODS.get("c-tpe"), "make_ready", classmethod(lambda cls: called.append(time.monotonic())))
    plain = ImageBenchmark.measure
    monkeypatch.setattr(ImageBenchmark, "measure", lambda *a: (called.append(0), plain(*a))[1])
    asked = [
        "run",
        "--method",
        "c-tpe",
        "--bench",
        few_cells,
        "--seeds",
        1,
        "--evals",
        1,
        "--store",
        tmp_path / "store",
    ]
    assert nasbench(*asked).code == 0
    assert called[0] > 0
    assert called[1:] == [0]


@pytest.mark.slow
def test_who_found_nothing_has_no_median_of_anothers(
    few_cells: str, nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    asked = [
        "run",
        "--method",
        "random",
        "--bench",
        few_cells,
        "--seeds",
        2,
        "--evals",
        2,
        "--store",
        tmp_path / "store",
    ]
    assert "the last 200 proposals were all refused" in nasbench(*asked, "--constrain", "parameters<=10").err
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = nasbench("report", tmp_path / "store", "--out", tmp_path / "report", "--format", "csv")
    assert done.code == 0, done.err
    assert "nothing feasible" in done.out
    assert nasbench(*asked).code == 0
    page = nasbench("show-run", tmp_path / "store", "random", few_cells, 0, "--constrain", "none").out
    assert re.search(r"There: val-auc 0\.\d+, parameters [\d,]+, parameters_paper", page)
