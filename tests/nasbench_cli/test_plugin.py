"""A third party's package, installed by pip beside ours, and used from the command line in processes of its own."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from nasbench.results.store.journal import Journal
from tests.nasbench_cli import toys
from tests.nasbench_cli.conftest import Command, importing


def line_of(name: str, offset: int) -> int:
    """A line of a toy, counted from that of its `ask`."""
    return inspect.getsourcelines(getattr(toys, name).ask)[1] + offset


def test_a_plugins_names_are_listed_and_its_broken_ones_say_why(command: Command) -> None:
    listed = json.loads(command("list", "--json").stdout)
    methods = {row["name"]: row for row in listed["methods"]}
    assert methods["careful"]["options"] == "start=3"
    assert methods["broken-method"]["summary"].startswith("cannot be loaded: AttributeError")
    assert "toy" in {row["name"] for row in listed["benchmarks"]}
    done = command("run", "--method", "broken-method", "--bench", "toy")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "method 'broken-method' cannot be loaded" in done.stderr
    shown = command("show", "broken-method")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert "method 'broken-method' cannot be loaded" in shown.stderr


def test_a_benchmark_that_does_not_open_says_why(command: Command) -> None:
    done = command("run", "--method", "random", "--bench", "toy-closed")
    assert done.returncode == 2
    assert done.stderr == "nasbench: benchmark toy-closed cannot be opened: OSError: the data has gone\n"
    assert "toy-closed" in command("list", "benchmarks").stdout
    assert re.search(r"^methods, plug-ins:\n(  .*\n)*  broken-method +of nasbench-toys$", command("list").stdout, re.M)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_plugins_method_runs_on_a_plugins_benchmark(
    afresh: Command, command: Command, tmp_path: Path, jobs: int
) -> None:
    call = afresh if jobs > 1 else command
    done = call(
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
    assert "failed: 4 runs, raises-in-ask on toy, none, seed 0 first: stopped: ask: ValueError: no idea" in done.stderr
    at_once = "failed: 4 runs, raises-at-once on toy, none, seed 0 first: stopped: constructor: RuntimeError: not today"
    assert at_once in done.stderr
    assert "random on toy-faulty" in done.stderr
    assert "random on toy," not in done.stderr
    assert "10 runs with failures" in done.stderr
    assert "Traceback" not in done.stderr
    frame = pd.read_parquet(tmp_path / "s")
    assert len(frame[(frame["method"] == "random") & (frame["bench"] == "toy")]) == 60
    assert command("report", "s", "--out", "r").returncode == 0
    again = command(*arguments)
    assert again.returncode == 1
    assert "12 runs in 6 setups: all (cached)" in again.stdout
    status = json.loads(command("status", "s", "--json").stdout)
    states = {(c["method"], c["bench"]): c["state"] for c in status["setups"]}
    assert states["random", "toy"] == "complete"
    assert states["raises-in-ask", "toy"] == "failed"
    retried = command(*arguments, "--retry-failed")
    assert "10 to run" in retried.stdout
    assert len(pd.read_parquet(tmp_path / "s")) == len(frame)


def test_a_plugin_neither_replaces_ours_nor_trips_over_its_own_decorator(command: Command) -> None:
    methods = {row["name"]: row for row in json.loads(command("list", "methods", "--json").stdout)}
    assert methods["toy-local"]["summary"].startswith("Registered by its decorator")
    assert command("run", "--method", "toy-local", "--method", "random", "--bench", "toy", "--evals", 5).returncode == 0
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
    assert set(frame.loc[frame["method"] == "exits", "reason"]) == {
        f"ask: SystemExit: bye (nasbench_toys.py:{line_of('Exits', 1)})"
    }
    random = frame[frame["method"] == "random"]
    assert len(random) == 80
    reasons = set(random.loc[random["status"] == "failed", "reason"])
    assert {"ValueError: line one line two ?", "SystemExit: 3"} < {reason.rpartition(" (")[0] for reason in reasons}
    assert "ValueError: its size is None, which is no number" in reasons
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
    with closing(Journal(journal, journal.stem)) as opened:
        records = opened.records
    journal.unlink()
    with closing(Journal(journal, journal.stem)) as changed:
        for record in records:
            changed.append(record._replace(configuration=record.configuration.replace("digit0", "other")))
    diverged = command(*arguments, "--retry-failed")
    assert diverged.returncode == 1
    assert "cannot be resumed" in diverged.stderr
    assert "1 run is still missing" in diverged.stderr
    assert journal.exists()


@pytest.mark.slow
def test_a_live_run_killed_at_any_instant_continues_and_computes_nothing_twice(
    command: Command, plugged: Path, tmp_path: Path
) -> None:
    arguments = ["run", "--method", "careful", "--bench", "toy-live", "--seeds", "2", "--evals", "60"]
    assert command(*arguments, "--store", "whole").returncode == 0
    environment = os.environ | importing(plugged) | {"TOY_MARKS": str(tmp_path / "marks")}
    marks = tmp_path / "marks"
    kills = range(1, 120, 13)
    for evaluations in kills:  # the next kill comes when so many evaluations have ended
        process = subprocess.Popen(
            [sys.executable, "-m", "nasbench", *arguments, "--store", "killed"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while process.poll() is None and (not marks.exists() or len(marks.read_text().split()) < evaluations):
            time.sleep(0.002)
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert command(*arguments, "--store", "killed", TOY_MARKS=str(marks)).returncode == 0
    columns = ["seed", "evaluation", "configuration", "objective", "incumbent", "status"]
    frames = [
        pd.read_parquet(tmp_path / name)[columns].sort_values(["seed", "evaluation"]) for name in ("whole", "killed")
    ]
    pd.testing.assert_frame_equal(*(frame.reset_index(drop=True) for frame in frames))
    assert 120 <= len(marks.read_text().split()) <= 120 + len(kills)  # at most the evaluation in flight is lost
    assert list((tmp_path / "killed" / "_journals").iterdir()) == []


@pytest.mark.slow
def test_a_method_that_hangs_is_stopped_and_the_rest_goes_on(command: Command, tmp_path: Path) -> None:
    asked = ["--method", "hangs", "--method", "random", "--bench", "toy", "--seeds", 1, "--evals", 5, "--store", "s"]
    done = command("run", *asked, "--executor", "processes:ask_seconds=6")
    assert done.returncode == 1
    assert "stopped: timeout: ask 3 took longer than 6 s (ask_seconds)" in done.stderr
    assert pd.read_parquet(tmp_path / "s").groupby("method").size().to_dict() == {"hangs": 1, "random": 5}


@pytest.mark.slow
def test_an_evaluation_that_hangs_ends_its_run_and_what_came_before_is_kept(command: Command, tmp_path: Path) -> None:
    asked = ["run", "--method", "careful", "--bench", "toy-hangs", "--seeds", 2, "--evals", 30, "--workers", 2]
    done = command(*asked, "--store", "s", "--executor", "processes:evaluation_seconds=6", "--jobs", 2)
    assert done.returncode == 1
    assert re.search(r"seed 0(?: first)?: stopped: timeout: evaluation \d+ took longer than 6 s", done.stderr)
    assert list((tmp_path / "s" / "_journals").glob("*.jsonl"))


@pytest.mark.parametrize(("lives", "code"), [(2, 0), (3, 1)])
def test_a_run_whose_process_is_killed_is_tried_again_and_never_failed(
    command: Command, tmp_path: Path, lives: int, code: int
) -> None:
    (tmp_path / "lives").write_text(str(lives))
    asked = ["run", "--method", "killed", "--bench", "toy", "--seeds", 1, "--evals", 5, "--jobs", 2, "--store", "s"]
    done = command(*asked, TOY_LIVES=str(tmp_path / "lives"))
    assert done.returncode == code, done.stderr
    if code:
        assert "is left out: its process was killed" in done.stderr
        assert "1 run is still missing: give the same command again" in done.stderr
        assert command(*asked, TOY_LIVES=str(tmp_path / "lives")).returncode == 0
    assert list(pd.read_parquet(tmp_path / "s")["status"]) == ["ok"] * 5


def test_a_method_that_goes_elsewhere_leaves_the_store_where_it_is(command: Command, tmp_path: Path) -> None:
    done = command("run", "--method", "leaves", "--bench", "toy", "--seeds", 2, "--evals", 3, "--store", "s")
    assert done.returncode == 0, done.stderr
    assert len(pd.read_parquet(tmp_path / "s")) == 6


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_standard_error_on_a_full_disk_stops_no_run(plugged: Path, tmp_path: Path) -> None:
    asked = "run --method leaves --method evolution:population=20 --bench toy --seeds 2 --evals 3 --store s"
    command = f"{sys.executable} -m nasbench {asked} 2>/dev/full"
    environment = os.environ | importing(plugged)
    done = subprocess.run(command, shell=True, check=False, capture_output=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0
    assert b"4 runs computed" in done.stdout
    assert len(pd.read_parquet(tmp_path / "s")) == 12


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_standard_output_on_a_full_disk_is_named(tmp_path: Path) -> None:
    for buffered in ("", "1"):
        done = subprocess.run(
            f"{sys.executable} -m nasbench list executors >/dev/full",
            shell=True,
            check=False,
            capture_output=True,
            text=True,
            env=os.environ | importing(tmp_path) | {"PYTHONUNBUFFERED": buffered},
        )
        assert done.returncode == 1
        assert done.stderr.endswith("No space left on device: 'standard output'\n")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("method", ["dies", "vanishes"])
def test_a_method_that_ends_its_process_is_a_failed_run_in_one_process_too(
    command: Command, tmp_path: Path, method: str
) -> None:
    done = command("run", "--method", method, "--bench", "toy", "--seeds", 4, "--evals", 5, "--store", "s")
    assert done.returncode == 1
    assert "4 runs computed" in done.stdout
    frame = pd.read_parquet(tmp_path / "s")
    failed = frame[frame["status"] == "failed"]
    died, refused = "the process that computed it died", "constructor: SystemExit: os._exit(0)"
    assert failed["reason"].str.startswith(refused if method == "vanishes" else died).all()
    assert failed["seed"].nunique() == (4 if method == "vanishes" else 2)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_method_that_replaces_numpys_functions_harms_no_other(afresh: Command, tmp_path: Path, jobs: int) -> None:
    asked = ["--method", "replaces", "--method", "evolution", "--method", "random", "--method", "careful"]
    kept = ["--bench", "nb201-cifar10", "--bench", "toy", "--seeds", 3, "--evals", 5, "--jobs", jobs, "--store", "s"]
    done = afresh("run", *asked, *kept)
    frame = pd.read_parquet(tmp_path / "s")
    assert set(frame.loc[frame["status"] == "failed", "method"]) <= {"replaces"}, done.stderr
    assert frame[frame["method"] != "replaces"].groupby("method").size().to_dict() == dict.fromkeys(
        ("careful", "evolution", "random"), 30
    )


@pytest.mark.parametrize("where", ["constructor", "ask", "tell"])
def test_a_keyboard_interrupt_that_a_method_raises_fails_its_run_and_no_other(
    command: Command, tmp_path: Path, where: str
) -> None:
    asked = ["--method", f"interrupts:where={where}", "--bench", "toy", "--bench", "toy-live", "--store", "s"]
    done = command("run", *asked, "--seeds", 2, "--evals", 5)
    assert done.returncode == 1, done.stderr
    assert "4 runs computed" in done.stdout
    frame = pd.read_parquet(tmp_path / "s")
    reasons = set(frame.loc[frame["status"] == "failed", "reason"])
    assert len(reasons) == 1
    assert reasons.pop().startswith(f"{where}: KeyboardInterrupt: ")


def test_a_check_of_a_method_that_raises_a_keyboard_interrupt_goes_on(command: Command) -> None:
    done = command("check", "interrupts", "--bench", "toy")
    assert done.returncode == 1
    assert "BROKEN  proposes members of the space: KeyboardInterrupt: asked" in done.stdout
    assert "promises kept" in done.stdout


@pytest.mark.slow
def test_ctrl_c_ends_the_command_while_a_plugins_method_thinks(plugged: Path, tmp_path: Path) -> None:
    asked = ["run", "--method", "hangs", "--bench", "toy", "--seeds", "1", "--store", "s"]
    environment = os.environ | importing(plugged)
    process = subprocess.Popen(
        [sys.executable, "-m", "nasbench", *asked], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert "waiting\n" in process.stderr  # which reads up to there
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped; what was stored is kept" in errors
    assert len(pd.read_parquet(tmp_path / "s")) == 0


@pytest.mark.parametrize("company", [[], ["--method", "random"]])
def test_codes_for_the_terminal_reach_neither_terminal_nor_store(
    command: Command, tmp_path: Path, company: list[str]
) -> None:
    asked = ["--method", "colourful", *company, "--bench", "toy", "--seeds", 1, "--evals", 5, "--store", "s"]
    done = command("run", *asked)
    assert done.returncode == 1
    assert "built red\n" in done.stderr
    assert "\nasked\nto standard error\n" in done.stderr
    assert "asked" not in done.stdout
    assert "stopped: ask: ValueError: no idea here (nasbench_toys.py:" in done.stderr
    checked = command("check", "colourful", "--bench", "toy")
    assert "BROKEN  proposes members of the space: ValueError: no idea here" in checked.stdout
    for text in (done.stdout, done.stderr, checked.stdout, checked.stderr, *pd.read_parquet(tmp_path / "s")["reason"]):
        assert not {"\x1b", "\x9b", "\x07"} & set(text)
        assert "[31m" not in text


def test_whatever_a_plugin_raises_is_recorded_in_words(command: Command, tmp_path: Path) -> None:
    asked = ["--method", "unspeakable", "--method", "exits-at-once", "--bench", "toy", "--seeds", 1, "--evals", 3]
    done = command("run", *asked, "--store", "s")
    assert done.returncode == 1
    reasons = dict(pd.read_parquet(tmp_path / "s")[["method", "reason"]].to_numpy())
    line = line_of("Unspeakable", 5)
    assert reasons["unspeakable"] == f"ask: Nameless: its text cannot be had (nasbench_toys.py:{line})"
    assert reasons["exits-at-once"].startswith("constructor: SystemExit: bye!!!")
    assert len(reasons["exits-at-once"]) < 600
    assert "\x1b" not in done.stderr


def test_what_a_broken_plugin_does_at_import_disturbs_nobody(command: Command) -> None:
    listed = json.loads(command("list", "methods", "--json").stdout)
    summaries = {row["name"]: row["summary"] for row in listed}
    assert summaries["exits-at-import"] == "cannot be loaded: SystemExit: 0 (nasbench_exits.py:2)"
    assert summaries["wrong-syntax"].startswith("cannot be loaded: SyntaxError: ")
    assert summaries["wrong-syntax"].endswith("(nasbench_wrong.py:3)")
    assert summaries["no-class"] == "cannot be loaded: method 'no-class' has the wrong type 'int'"
    assert "cannot be loaded" not in summaries["careful"]
    for ask in ("show", "check"):  # the name in a file that cannot be loaded is not known
        asked = command(ask, "my-method")
        assert asked.returncode == 2
        assert "unknown" in asked.stderr
        assert "(these cannot be loaded: " in asked.stderr.partition("; allowed: ")[0]
        assert "wrong-syntax: SyntaxError: " in asked.stderr
    done = command("run", "--method", "exits-at-import", "--bench", "toy")
    assert (done.returncode, done.stderr.count("\n")) == (2, 2)  # what it prints, and the sentence
    assert "importing" not in done.stdout
    done = command("run", "--method", "unheard-of", "--bench", "toy")
    assert done.returncode == 2
    assert "nasbench_wrong.py:3" in done.stderr


def test_a_plugin_that_hangs_at_import_keeps_only_those_waiting_who_ask_for_it(
    command: Command, plugged: Path, tmp_path: Path
) -> None:
    shutil.copytree(plugged, tmp_path / "other")
    module = tmp_path / "other" / "nasbench_exits.py"
    module.write_text("import threading\nthreading.Event().wait()\n")
    done = command(
        *("run", "--method", "careful", "--bench", "toy", "--seeds", 1, "--evals", 2),
        **importing(tmp_path / "other"),
    )
    assert done.returncode == 0, done.stderr


def test_a_plugins_part_of_the_report_is_listed_and_made(command: Command, tmp_path: Path) -> None:
    listed = {row["name"]: row["summary"] for row in json.loads(command("list", "parts", "--json").stdout)}
    assert listed["runs"] == "Number of runs of each method." and all(listed.values())
    assert listed["lost-part"].startswith("cannot be loaded: AttributeError")
    asked = ["--method", "random", "--method", "evolution", "--bench", "hpobench-car", "--seeds", 3, "--evals", 10]
    assert command("run", *asked, "--store", "s").returncode == 0
    done = command("report", "s", "--format", "csv", "--out", "r", "--part", "runs")
    assert done.returncode == 0, done.stderr
    assert "Runs of each method" in done.stdout
    assert (tmp_path / "r" / "runs.csv").read_text() == "method,runs\nevolution,3\nrandom,3\n"


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("no-runs", "part 'no-runs' fails: KeyError: 'nothing to count'"),
        ("lost-part", "part 'lost-part' cannot be loaded: AttributeError: "),
        ("three", "part 'three' cannot be loaded: part 'three' has the wrong type 'int'"),
        ("rnus", "unknown part 'rnus' (did you mean runs?) (these cannot be loaded: "),
    ],
)
def test_a_part_that_cannot_be_made_is_one_sentence(command: Command, tmp_path: Path, part: str, said: str) -> None:
    assert command("run", "--method", "random", "--bench", "hpobench-car", "--evals", 5, "--store", "s").returncode == 0
    done = command("report", "s", "--out", "r", "--part", part)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr
    assert not (tmp_path / "r").exists()
