"""Any room can be shut: without one folder the names, a search and a report of the others are what they were."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = sorted(path.parent.name for path in (ROOT / "methods").glob("*/__init__.py"))
ROOMS = [
    *(f"methods/{name}" for name in FOLDERS if name != "surrogates"),  # that one is shared
    *(f"benchmarks/{name}" for name in ("families", "surrogate", "images", "regression", "learners")),
]
NEED_TPE = {"bohb", "parego", "warm_start"}
"""Modules of other rooms that search by TPE."""

PROGRAM = """
import json, pathlib, nasbench
from nasbench.benchmarks import BENCHMARKS
from nasbench.cli.commands.list import overview
from nasbench.methods import METHODS
assert pathlib.Path(nasbench.__file__).is_relative_to(pathlib.Path.cwd()), nasbench.__file__
frame = nasbench.run(["random", "evolution"], "nb201-cifar10", seeds=3, evals=120, store="s")
report = nasbench.report("s").text
print(json.dumps([METHODS.names(), METHODS.broken, BENCHMARKS.broken, len(frame), overview(), report]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_without_a_room_the_others_work(room: str, tmp_path: Path) -> None:
    for name in ("nasbench", "nasbench_cli", "methods", "benchmarks", "results", "suites"):
        ignored = shutil.ignore_patterns("__pycache__", "parts" if name == "benchmarks" else "__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True, ignore=ignored)
    shutil.rmtree(tmp_path / room)
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NASBENCH_DATA": str(tmp_path / "data")}
    (tmp_path / "data").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    names, broken, unopened, rows, listed, report = json.loads(done.stdout.splitlines()[-1])
    assert set(broken) == (NEED_TPE if room == "methods/tpe" else set())
    assert not unopened
    assert {"random", "evolution", "local", "mcts", "smbo"} <= set(names)
    assert rows == 2 * 3 * 120
    assert f"methods, {room.partition('/')[2]}:" not in listed
    assert "evolution" in report
