"""What tests of the command line share: toys that pip has installed as a plug-in, used in processes of their own."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nasbench.benchmarks import Evaluation
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.checks import executors
from nasbench.cli.engine import pool
from tests import forked
from tests.nasbench_cli.archived import store_with_archive

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

Command = Callable[..., subprocess.CompletedProcess[str]]


def importing(folder: Path) -> dict[str, str]:
    """The variable by which a process finds the modules of a folder, and those of this checkout."""
    return {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store and its archive."""
    return store_with_archive(tmp_path_factory.mktemp("archive"))


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


@METHODS.register("toy-local")
class Local(Careful):
    \"\"\"Registered by its decorator and by its entry point.\"\"\"
"""
    (source / "nasbench_toys.py").write_text(module + more)
    shutil.copy(ROOT / "examples" / "plugin" / "nasbench_example.py", source)
    shutil.copy(HERE / "toy_parts.py", source / "nasbench_parts.py")
    (source / "nasbench_exits.py").write_text("print('importing')\nraise SystemExit(0)\n")
    (source / "nasbench_wrong.py").write_text("import math\n\nclass Method(:\n    pass\n")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True, capture_output=True)
    return target


@pytest.fixture
def command(plugged: Path, tmp_path: Path) -> Command:
    """Runs a command line with the toys in a process forked from one that has imported `nasbench`."""

    def call(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return forked.nasbench([*map(str, arguments)], tmp_path, os.environ | importing(plugged) | environment)

    return call


@pytest.fixture
def afresh(plugged: Path, tmp_path: Path) -> Command:
    """The same in a new interpreter, whose pool starts new interpreters, too."""

    def call(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "nasbench", *map(str, arguments)]
        variables = os.environ | importing(plugged) | environment
        return subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path, env=variables)

    return call


@pytest.fixture
def forking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool's processes are forked from one that has imported `nasbench`, not from that of the test."""
    monkeypatch.setattr(pool, "_CONTEXT", forked.CONTEXT)


@pytest.fixture
def live_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The live runs that are tried of an executor need scikit-learn alone."""
    monkeypatch.setattr(executors, "_LIVE", "learner:knn:wine")


class Terminal(io.StringIO):
    """A stream that calls itself a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Configuration, int]]:
    """What a table of digits evaluates, with numbers made of the seed in place of a training."""
    from nasbench.benchmarks.images.curves import TrainingCurves  # with PyTorch, which may be missing

    found: list[tuple[Configuration, int]] = []

    def evaluate(benchmark: TrainingCurves, configuration: Configuration, seed: int, *_: object) -> Evaluation:
        if benchmark.networks.infeasible(configuration):
            return Evaluation({}, 0.0, "infeasible", "no path")
        found.append((configuration, seed))
        return Evaluation({m.name: float(seed % (90 + i)) for i, m in enumerate(benchmark.metrics)}, 1.0)

    monkeypatch.setattr(TrainingCurves, "evaluate", evaluate)
    return found
