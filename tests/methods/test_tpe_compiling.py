"""TPE is compiled once per installation, however many processes begin with it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

BEGINS = """
from pathlib import Path
from nasbench.methods.tpe import sampler
folder = Path(sampler.compiled.suggest.stats.cache_path)
print(folder, flush=True)
input()
class Lock(sampler.FileLock):
    def acquire(self):
        print("waits", flush=True)
        return super().acquire()
sampler.FileLock = Lock
sampler.compile_ahead = lambda: print("compiles", flush=True)
sampler.make_compiled()
"""
"""A process that begins with TPE, when it is told to, and says what it does; it compiles nothing."""


@pytest.fixture
def beginner(tmp_path: Path) -> subprocess.Popen[str]:
    """Such a process on a machine where nothing is compiled."""
    return subprocess.Popen(
        [sys.executable, "-c", BEGINS],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_process_waits_for_the_one_that_compiles_and_takes_what_it_made(beginner: subprocess.Popen[str]) -> None:
    assert beginner.stdin
    assert beginner.stdout
    folder = Path(beginner.stdout.readline().strip())
    with (folder / "compiled.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # this process compiles
        print(file=beginner.stdin, flush=True)
        assert beginner.stdout.readline() == "waits\n"
        (folder / f"compiled.suggest-1.py{sys.version_info[0]}{sys.version_info[1]}.1.nbc").touch()
    assert beginner.communicate()[0] == ""
    assert beginner.returncode == 0


def test_the_first_process_compiles(beginner: subprocess.Popen[str]) -> None:
    assert beginner.communicate("\n")[0].splitlines()[1:] == ["waits", "compiles"]
