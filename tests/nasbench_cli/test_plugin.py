"""A third party's package, installed by pip beside ours, and used from the command line in processes of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def plugged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the toys as a distribution with entry points."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    shutil.copy(HERE.parent / "plugin" / "pyproject.toml", source)
    module = (HERE / "toys.py").read_text()
    more = """

def cannot_open() -> Benchmark:
    raise OSError('the data has gone')


from nasbench.methods import METHODS


@METHODS.register("local")
class Local(Careful):
    \"\"\"Registered by its decorator and by its entry point.\"\"\"
"""
    (source / "nasbench_toys.py").write_text(module + more)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True, capture_output=True)
    return target


@pytest.fixture
def command(plugged: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def call(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "nasbench", *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(plugged)} | environment,
        )

    return call


Command = Callable[..., subprocess.CompletedProcess[str]]


def test_a_plugins_names_are_listed_and_its_broken_ones_say_why(command: Command) -> None:
    listed = json.loads(command("list", "--json").stdout)
    methods = {row["name"]: row for row in listed["methods"]}
    assert methods["careful"]["options"] == "start=3"
    assert methods["broken-method"]["summary"].startswith("cannot be loaded: AttributeError")
    assert "toy" in {row["name"] for row in listed["benchmarks"]}
    done = command("run", "--method", "broken-method", "--bench", "toy")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "method 'broken-method' cannot be loaded" in done.stderr


def test_a_benchmark_that_does_not_open_says_why(command: Command) -> None:
    done = command("run", "--method", "random", "--bench", "toy-closed")
    assert done.returncode == 2
    assert done.stderr == "nasbench: benchmark toy-closed cannot be opened: OSError: the data has gone\n"
    assert "toy-closed" in command("list").stdout


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_plugins_method_runs_on_a_plugins_benchmark(command: Command, tmp_path: Path, jobs: int) -> None:
    done = command(
        *("run", "--method", "careful:start=5", "--method", "random", "--bench", "toy", "--constrain", "size<=4"),
        *("--seeds", 4, "--evals", 20, "--workers", 2, "--jobs", jobs, "--store", "s"),
    )
    assert done.returncode == 0, done.stderr
    frame = pd.read_parquet(tmp_path / "s")
    assert len(frame) == 2 * 4 * 20
    assert set(frame["method"]) == {"careful:start=5", "random"}
    assert frame["feasible"].eq(frame["metric.size"] <= 4).all()
    assert command("report", "s", "--out", "r").returncode == 0


def test_failures_are_data_and_the_rest_goes_on(command: Command, tmp_path: Path) -> None:
    arguments = [
        *("run", "--method", "raises-in-ask", "--method", "raises-at-once", "--method", "random"),
        *("--bench", "toy", "--bench", "toy-faulty", "--seeds", 2, "--evals", 30, "--store", "s"),
    ]
    done = command(*arguments)
    assert done.returncode == 1
    assert "failed: raises-in-ask on toy, none, seed 0: stopped: ask: ValueError: no idea" in done.stderr
    assert "failed: raises-at-once on toy, none, seed 1: stopped: constructor: RuntimeError: not today" in done.stderr
    assert "random on toy-faulty" in done.stderr
    assert "random on toy," not in done.stderr
    assert "10 runs with failures" in done.stderr
    assert "Traceback" not in done.stderr
    frame = pd.read_parquet(tmp_path / "s")
    assert len(frame[(frame["method"] == "random") & (frame["bench"] == "toy")]) == 60
    assert command("report", "s", "--out", "r").returncode == 0
    again = command(*arguments)
    assert again.returncode == 1
    assert "12 runs in 6 cells: all (cached)" in again.stdout
    status = json.loads(command("status", "s", "--json").stdout)
    states = {(c["method"], c["bench"]): c["state"] for c in status["cells"]}
    assert states["random", "toy"] == "complete"
    assert states["raises-in-ask", "toy"] == "failed"
    retried = command(*arguments, "--retry-failed")
    assert "10 to run" in retried.stdout
    assert len(pd.read_parquet(tmp_path / "s")) == len(frame)


def test_a_plugin_neither_replaces_ours_nor_trips_over_its_own_decorator(command: Command) -> None:
    methods = {row["name"]: row for row in json.loads(command("list", "methods", "--json").stdout)}
    assert methods["local"]["summary"].startswith("Registered by its decorator")
    assert command("run", "--method", "local", "--method", "random", "--bench", "toy", "--evals", 5).returncode == 0
    assert "learns nothing" in command("show", "random").stdout


def test_a_benchmark_must_answer_to_its_name(command: Command) -> None:
    done = command("run", "--method", "random", "--bench", "toy-alias")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "benchmark toy-alias calls itself toy" in done.stderr


def test_only_the_failed_runs_of_a_file_are_retried(command: Command, tmp_path: Path) -> None:
    arguments = ["run", "--method", "odd-fails", "--bench", "toy", "--seeds", 8, "--evals", 5, "--store", "s"]
    assert "8 runs computed" in command(*arguments).stdout
    before = pd.read_parquet(tmp_path / "s")
    failed = before.loc[before["status"] == "failed", "seed"].nunique()
    assert 0 < failed < 8
    again = command(*arguments, "--retry-failed")
    assert again.returncode == 1
    assert f"{failed} runs computed" in again.stdout
    after = pd.read_parquet(tmp_path / "s")
    columns = ["seed", "evaluation", "configuration", "objective", "reason"]
    order = {"by": ["seed", "evaluation"], "ignore_index": True}
    pd.testing.assert_frame_equal(before[columns].sort_values(**order), after[columns].sort_values(**order))


@pytest.mark.parametrize("jobs", [1, 2])
def test_clumsy_answers_and_exits_are_failures_like_any_other(command: Command, tmp_path: Path, jobs: int) -> None:
    asked = ["--method", "random", "--method", "exits", "--bench", "toy-clumsy", "--constrain", "size<=4"]
    done = command("run", *asked, "--seeds", 2, "--evals", 40, "--jobs", jobs, "--store", "s")
    assert done.returncode == 1
    assert "defect" not in done.stderr
    frame = pd.read_parquet(tmp_path / "s")
    assert set(frame.loc[frame["method"] == "exits", "reason"]) == {"ask: SystemExit: bye"}
    random = frame[frame["method"] == "random"]
    assert len(random) == 80
    reasons = set(random.loc[random["status"] == "failed", "reason"])
    assert {"ValueError: line one line two ?", "SystemExit: 3"} < reasons
    assert any(reason.startswith("TypeError") for reason in reasons)
    assert (random.loc[random["objective"] == 1.5, "metric.size"] == 2.0).all()


def test_a_run_that_kills_its_process_is_recorded_and_the_rest_goes_on(command: Command, tmp_path: Path) -> None:
    asked = ["--method", "dies", "--method", "random", "--bench", "toy", "--seeds", 6, "--evals", 5, "--jobs", 2]
    done = command("run", *asked, "--store", "s")
    assert done.returncode == 1
    frame = pd.read_parquet(tmp_path / "s")
    assert frame.groupby("method")["seed"].nunique().to_dict() == {"dies": 6, "random": 6}
    dead = frame[frame["reason"].str.startswith("the process that computed it died")]
    assert 0 < len(dead) < 6
    assert set(dead["method"]) == {"dies"}
    assert len(frame[frame["method"] == "random"]) == 30


def test_a_live_run_that_cannot_be_resumed_keeps_its_journal(command: Command, tmp_path: Path) -> None:
    arguments = ["run", "--method", "raises-in-ask", "--bench", "toy-live", "--seeds", 1, "--evals", 9, "--store", "s"]
    first = command(*arguments, TOY_MARKS=str(tmp_path / "marks"))
    assert first.returncode == 1
    (journal,) = (tmp_path / "s" / "_journals").glob("*.jsonl")
    assert len((tmp_path / "marks").read_text().split()) == 4
    retried = command(*arguments, "--retry-failed", TOY_MARKS=str(tmp_path / "marks"))
    assert retried.returncode == 1
    assert len((tmp_path / "marks").read_text().split()) == 4  # nothing that was recorded ran again
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines).replace('"digit0\\\\": ', '"digit0\\\\":  ').replace("digit0", "other"))
    diverged = command(*arguments, "--retry-failed")
    assert diverged.returncode == 1
    assert "cannot be resumed" in diverged.stderr
    assert "1 runs are still missing" in diverged.stderr
    assert journal.exists()


def test_a_live_run_killed_at_any_instant_continues_and_computes_nothing_twice(
    command: Command, plugged: Path, tmp_path: Path
) -> None:
    arguments = ["run", "--method", "careful", "--bench", "toy-live", "--seeds", "2", "--evals", "60"]
    assert command(*arguments, "--store", "whole").returncode == 0
    environment = os.environ | {"PYTHONPATH": str(plugged), "TOY_MARKS": str(tmp_path / "marks")}
    killed = 0
    for _ in range(40):
        process = subprocess.Popen(
            [sys.executable, "-m", "nasbench", *arguments, "--store", "killed"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(0.45 + 0.05 * killed)  # ever longer: on a busy machine the first are killed while they begin
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed += 1
    assert killed >= 3
    assert command(*arguments, "--store", "killed").returncode == 0
    columns = ["seed", "evaluation", "configuration", "objective", "incumbent", "status"]
    frames = [
        pd.read_parquet(tmp_path / name)[columns].sort_values(["seed", "evaluation"]) for name in ("whole", "killed")
    ]
    pd.testing.assert_frame_equal(*(frame.reset_index(drop=True) for frame in frames))
    marks = (tmp_path / "marks").read_text().split()
    assert 120 <= len(marks) <= 120 + killed  # at most the evaluation in flight is lost
    assert list((tmp_path / "killed" / "_journals").iterdir()) == []
