"""Other people's optimisers on our benchmarks, as the examples write it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nasbench.results import Store

ROOT = Path(__file__).parent.parent
LIBRARIES = {"optuna": "optuna", "smac": "smac", "syne_tune": "syne_tune", "nevergrad": "nevergrad", "ax": "ax"}


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_loop_of_a_library_is_a_stored_run(name: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(LIBRARIES[name]) is None:
        pytest.skip(f"{LIBRARIES[name]} is not installed")
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, ROOT / "examples" / "optimisers" / f"with_{name}.py"]
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (store,) = (tmp_path / "runs").iterdir()
    (fragments,) = [Store.open(store).fragments()]
    assert {f.setup.constraint for f in fragments} == {"model_size@0.5"}
    runs = [run for f in fragments for run in f.runs]
    assert len(runs) >= 2
    assert all(run.rows >= 12 and not run.failure for run in runs)


def test_every_example_is_tried() -> None:
    assert {path.stem for path in (ROOT / "examples" / "optimisers").glob("*.py")} == {f"with_{n}" for n in LIBRARIES}
