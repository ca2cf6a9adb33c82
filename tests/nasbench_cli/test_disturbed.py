"""Whole commands on disks that fail, in processes that are killed, and many at a time on one store."""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pandas as pd
import pytest

from nasbench.benchmarks import BENCHMARKS
from nasbench.cli import main
from nasbench.methods import METHODS
from nasbench.results import Store
from nasbench.results.store import content_hash, disk
from tests import forked
from tests.conftest import Printed
from tests.nasbench_cli import toys
from tests.results.faults import SHORT, Counting, Failing, Killing

TABLE = ["run", "--method", "random", "--method", "careful", "--bench", "toy", "--seeds", "2", "--evals", "5"]
LIVE = ["run", "--method", "careful", "--bench", "toy-live", "--seeds", "1", "--evals", "6", "--workers", "1"]
MEASURED = ["started", "finished", "thinking"]
SLOW = pytest.mark.slow


class Quick(toys.Live):
    """Live, but at once."""

    def measure(
        self, configuration: toys.Configuration, seed: int, upto: toys.Level, state: Path | None, /
    ) -> toys.Evaluation:
        return toys.Toy.measure(self, configuration, seed, upto, state)


@contextmanager
def registered() -> Iterator[None]:
    with (
        METHODS.temporarily("careful", toys.Careful),
        BENCHMARKS.temporarily("toy", toys.Toy),
        BENCHMARKS.temporarily("toy-live", Quick),
    ):
        yield


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    with registered():
        yield


def contents(folder: Path) -> pd.DataFrame:
    frame = pd.read_parquet(folder).drop(columns=MEASURED)
    return frame.sort_values(["run", "evaluation"], ignore_index=True)


@pytest.mark.parametrize(
    ("asked", "code", "step"),
    [
        pytest.param(TABLE, errno.EIO, 1, marks=SLOW),
        pytest.param(TABLE, errno.ENOSPC, 1, marks=SLOW),
        pytest.param(LIVE, errno.ENOSPC, 1, marks=SLOW),
        pytest.param(LIVE, errno.EIO, 1, marks=SLOW),
        pytest.param(LIVE, SHORT, 1, marks=SLOW),
        (LIVE, errno.EIO, 19),
        pytest.param(LIVE, errno.EIO, 3, marks=SLOW),
        pytest.param(LIVE, SHORT, 3, marks=SLOW),
    ],
)
def test_whichever_operation_of_a_command_fails_it_says_so_and_the_same_command_finishes(
    asked: list[str],
    code: int,
    step: int,
    in_memory: Path,
    nasbench: Callable[..., Printed],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(disk, "system", counting := Counting())
    assert nasbench(*asked, "--store", in_memory / "whole").code == 0
    total, expected = counting.count, contents(in_memory / "whole")
    assert total > 40
    for nth in range(0, total, step):
        store = in_memory / f"store{nth}"
        monkeypatch.setattr(disk, "system", failing := Failing(nth, code))
        done = nasbench(*asked, "--store", store)
        assert done.code in (0, 1), (nth, failing.hit, done.err)
        assert "defect" not in done.err, (nth, failing.hit, done.err)
        if done.code == 0:  # what is skipped or tried again is no error, and then nothing may be missing
            pd.testing.assert_frame_equal(contents(store), expected)
        else:
            said = re.search(r"^nasbench: |^\d+ runs? (is|are) still missing", done.err, re.MULTILINE)
            assert said, (nth, failing.hit, done.err)
        monkeypatch.setattr(disk, "system", Counting())
        again = nasbench(*asked, "--store", store)
        assert again.code == 0, (nth, failing.hit, again.err)
        pd.testing.assert_frame_equal(contents(store), expected)
        assert not list((store / "_journals").glob("*.jsonl"))
        shutil.rmtree(store)


def command(arguments: list[str], nth: int | None) -> None:
    """Runs a command in this process, which is killed at its Nth operation on the disk; exits with its code."""
    disk.system = Counting() if nth is None else Killing(nth)
    with registered(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = main.run_command(arguments)
    os._exit(code)


def ended(arguments: list[str], nth: int | None) -> int:
    return forked.ended(command, arguments, nth)


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "step"), [(TABLE, 1), (LIVE, 1), (LIVE, 9)])
def test_killed_at_every_operation_the_same_command_finishes(asked: list[str], step: int, in_memory: Path) -> None:
    assert ended([*asked, "--store", str(in_memory / "whole")], None) == 0
    expected = contents(in_memory / "whole")
    nth, code = 0, -signal.SIGKILL
    while code == -signal.SIGKILL:
        store = in_memory / f"store{nth}"
        code = ended([*asked, "--store", str(store)], nth)
        assert ended([*asked, "--store", str(store)], None) == 0, nth
        pd.testing.assert_frame_equal(contents(store), expected)
        assert not [p for p in store.rglob("*") if p.name.endswith((".tmp", ".jsonl"))]
        shutil.rmtree(store)
        nth += step
    assert code == 0
    assert nth > 40


def begun(words: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_many_commands_on_one_store_disturb_nobody(tmp_path: Path) -> None:
    """Four that run, two that report, two that tell the status, one that takes runs out: six times, about a minute."""
    asked = ["--method", "random", "--method", "evolution:population=5", "--bench", "hpolib-naval", "--evals", "20"]
    seeds, store = "40", str(tmp_path / "store")
    true = re.compile(r"\d+ runs are still missing|^notice: waiting for (process \d+ on|another process)")

    def start(*words: str) -> subprocess.Popen[str]:
        return begun([sys.executable, "-m", "nasbench", *words])

    whole = start("run", *asked, "--seeds", seeds, "--store", str(tmp_path / "whole"))
    assert whole.communicate()[1] == ""
    first = start("run", *asked, "--seeds", "1", "--store", store)
    assert first.wait() == 0
    stale = (
        "from pathlib import Path; from nasbench.results import Store\n"
        f"store = Store.open(Path({store!r}))\n"
        "[store.forget(f.setup, {f.seeds[-1]}) for f in store.fragments()]\n"
        "print(*store.notices)"
    )
    said = []
    for _ in range(6):
        part = [["run", *asked, "--seeds", f"{i * 7 % 30}:{seeds}", "--store", store] for i in range(4)]
        part += [["report", store, "--out", str(tmp_path / f"report{i}"), "--format", "csv"] for i in range(2)]
        part += [["status", store]] * 2
        running = [start(*words) for words in part]
        running.append(
            subprocess.Popen([sys.executable, "-c", stale], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
        for process in running:
            out, err = process.communicate()
            said += [line for line in err.splitlines() if not true.search(line)]
            assert process.returncode in (0, 1), (process.args, err)
            assert "aside" not in out
    assert said == []
    final = start("run", *asked, "--seeds", seeds, "--store", store)
    assert final.communicate()[1] == ""
    assert content_hash(Store.open(Path(store))) == content_hash(Store.open(tmp_path / "whole"))
    with suppress(FileNotFoundError):
        assert not list((tmp_path / "store").glob(".*.tmp"))
