"""Kill -9, other jobs, other orders: the store's contents are the same."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from nasbench.results import Store
from nasbench.results.store import content_hash
from tests.conftest import Printed
from tests.nasbench_cli.conftest import importing

_LONG = 120  # seconds for what takes less than one

SUITE = """
methods = ["random", "evolution:population=10,tournament=3"]
benchmarks = ["nb201-cifar10", "hpolib-naval"]
constraints = ["none", "train_time@0.1"]
seeds = 40
evals = 100
workers = 4
"""


MARKED = """
methods = ["careful:start=1", "careful:start=2", "careful:start=3", "toy-local"]
benchmarks = ["toy-marked"]
constraints = ["none", "size<=5"]
seeds = 25
evals = 20
workers = 4
"""


STOPPED = b"nasbench: stopped; what was stored is kept, and the same command continues from it"


def not_of_tables(errors: bytes) -> list[bytes]:
    """The lines but those that say that a table is converted, or, on a busy machine, that a store is in use."""
    of_others = (b"notice: converting ", b"notice: waiting for process ")
    return [line for line in errors.splitlines() if line and not line.startswith(of_others)]


def start(suite: Path, store: Path, jobs: int, ignored: str = "", **environment: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "nasbench", "run", "--suite", suite, "--store", store, "--jobs", str(jobs)]
    if ignored:
        command = ["sh", "-c", f'trap "" {ignored}; exec "$@"', "sh", *command]
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, start_new_session=True, env=os.environ | environment, **streams)


@pytest.mark.slow
def test_killed_a_dozen_times_the_store_equals_that_of_an_undisturbed_run(plugged: Path, tmp_path: Path) -> None:
    """Each kill comes when so many evaluations have begun: of the driver alone, or of its workers too."""
    suite, marks = tmp_path / "suite.toml", tmp_path / "marks"
    suite.write_text(MARKED)
    toys = importing(plugged) | {"TOY_MARKS": str(marks)}
    assert start(suite, tmp_path / "whole", 1, **toys).wait() == 0
    expected = content_hash(Store.open(tmp_path / "whole"))
    assert len(marks.read_text().split()) == 8 * 25 * 20
    rng = random.Random(0)
    store, killed, finished = tmp_path / "store0", 0, 0
    while killed < 12:
        marks.unlink(missing_ok=True)
        evaluations = rng.randrange(1, 1500)
        process = start(suite, store, jobs=1 + killed % 2, **toys)
        while process.poll() is None and (not marks.exists() or len(marks.read_text().split()) < evaluations):
            time.sleep(0.002)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL) if killed % 3 else process.send_signal(signal.SIGKILL)
            killed += 1
        if process.wait() == 0:  # less was missing: begin another store
            assert content_hash(Store.open(store)) == expected
            finished += 1
            store = tmp_path / f"store{finished}"
    final = start(suite, store, jobs=2, **toys)
    assert final.wait() == 0
    found = Store.open(store)
    assert content_hash(found) == expected
    frame = pd.read_parquet(store, columns=["run", "evaluation"])
    assert len(frame) == 8 * 25 * 20
    assert not frame.duplicated().any()
    Store.create(store)  # removes what a child, killed after the last command had begun, may have left half-written
    assert list(store.glob(".*.tmp")) == []


@pytest.mark.usefixtures("forking")
def test_jobs_and_the_order_of_seeds_do_not_change_a_trajectory(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    asked = ["run", "--method", "evolution:population=5", "--method", "random", "--bench", "nb201-cifar10"]
    asked += ["--evals", 30, "--workers", 3]
    hashes = set()
    for name, parts in {
        "one": [("0:6", 1)],
        "two": [("0:6", 2)],
        "parts": [("4:6", 1), ("0:2", 2), ("0:6", 1)],
    }.items():
        for seeds, jobs in parts:
            assert nasbench(*asked, "--seeds", seeds, "--jobs", jobs, "--store", tmp_path / name).code == 0
        hashes.add(content_hash(Store.open(tmp_path / name)))
    assert len(hashes) == 1


@pytest.mark.slow
def test_two_commands_on_one_store_at_the_same_time_do_no_harm(tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text(SUITE)
    both = [start(suite, tmp_path / "store", jobs) for jobs in (1, 2)]
    assert [process.wait() for process in both] == [0, 0]
    frame = pd.read_parquet(tmp_path / "store", columns=["run", "evaluation"])
    assert len(frame) == 8 * 40 * 100
    assert not frame.duplicated().any()


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ctrl_c_stops_at_once_and_says_how_to_go_on(tmp_path: Path, jobs: int) -> None:
    process = at_work(tmp_path, jobs)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=_LONG)  # the suite would take longer
    assert process.returncode == 130
    assert not_of_tables(errors) == [STOPPED]
    assert len(Store.open(tmp_path / "store").fragments()) > 0


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("stop", "everybody"), [(signal.SIGTERM, False), (signal.SIGTERM, True), (signal.SIGHUP, True)]
)
def test_a_kill_or_a_closed_terminal_stops_at_once_and_says_how_to_go_on(
    tmp_path: Path, jobs: int, stop: signal.Signals, everybody: bool
) -> None:
    if signal.getsignal(stop) is signal.SIG_IGN:
        pytest.skip(f"{stop.name} is ignored here, as under nohup, and so by every process that begins here")
    process = at_work(tmp_path, jobs)
    for _ in range(2):  # a terminal and its shell both send one
        (os.killpg if everybody else os.kill)(process.pid, stop)
    _, errors = process.communicate(timeout=_LONG)  # the suite would take longer
    assert process.returncode == 128 + stop
    assert not_of_tables(errors) == [STOPPED.replace(b"stopped", f"stopped by {stop.name}".encode())]
    assert len(Store.open(tmp_path / "store").fragments()) > 0
    latest = time.monotonic() + _LONG
    while group_members(process.pid) and time.monotonic() < latest:  # helpers end when they see that nobody is left
        time.sleep(0.05)
    assert not group_members(process.pid)


@pytest.mark.slow
def test_a_kill_stops_a_command_that_leaves_ctrl_c_to_others_and_nohup_goes_on(tmp_path: Path) -> None:
    process = at_work(tmp_path, 1, ignored="INT HUP")  # by shells for background commands, and by nohup
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=_LONG)
    assert process.returncode == 128 + signal.SIGTERM
    assert not_of_tables(errors) == [STOPPED.replace(b"stopped", b"stopped by SIGTERM")]


@pytest.mark.slow
def test_ctrl_c_while_processes_start_prints_nothing_of_theirs(tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text(SUITE.replace("40", "200000"))
    process = start(suite, tmp_path / "store", jobs=2)
    while not any("spawn_main" in words_of(member) for member in group_members(process.pid)):
        time.sleep(0.005)
        assert process.poll() is None
    time.sleep(0.05)  # now it imports
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=_LONG)
    assert process.returncode == 130
    assert not_of_tables(errors) == [STOPPED]


@pytest.mark.slow
def test_a_killed_parent_leaves_no_orphans_computing(tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text(SUITE.replace("40", "200000"))
    process = start(suite, tmp_path / "store", jobs=2)
    while not list((tmp_path / "store").glob("random*.parquet")):
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    for _ in range(10 * _LONG):  # the suite would take longer
        if not group_members(process.pid):
            return
        time.sleep(0.1)
    raise AssertionError("a worker goes on without its parent")


def words_of(process: int) -> str:
    """The command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


def at_work(folder: Path, jobs: int, **options: str) -> subprocess.Popen[bytes]:
    """A command with more to do than a test waits for, which has stored its first runs."""
    suite = folder / "suite.toml"
    suite.write_text(SUITE.replace("40", "200000"))
    process = start(suite, folder / "store", jobs, **options)
    while not list((folder / "store").glob("random*.parquet")):
        time.sleep(0.05)
        assert process.poll() is None
    return process


def group_members(group: int) -> list[int]:
    """Processes of a process group that still live (zombies do not)."""
    members = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            members.append(int(path.parent.name))
    return members
