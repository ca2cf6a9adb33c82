"""`nasbench report`: which runs it is about, and what it calls their methods."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nasbench as front
from nasbench.benchmarks import UsageError
from nasbench.results import Store, StoreError
from tests.conftest import Printed

Command = Callable[..., Printed]
EVOLUTION = "evolution:population=5,tournament=2"


def test_methods_are_selected_and_named(nasbench: Command, small_store: Store, tmp_path: Path) -> None:
    options = ["--out", tmp_path / "r", "--format", "csv", "--method", "evolution", "--label", f"{EVOLUTION}=evo"]
    printed = nasbench("report", small_store.folder, *options)
    assert printed.code == 0
    assert "3 runs of 20 evaluations" in " ".join(printed.out.split())
    assert "evo" in printed.out
    assert "evolution:" not in printed.out
    assert "a selection by hand: 1 of 2 methods" in " ".join(printed.out.split())
    without = nasbench("report", small_store.folder, *options[:4], "--without", "random")
    assert "3 runs of 20 evaluations" in " ".join(without.out.split())


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--bench", "nb201-cifar", "no runs of the benchmark 'nb201-cifar' (did you mean nb201-cifar10?)"),
        ("--family", "hpolib", "no runs of the family 'hpolib'; allowed: nas-bench-201"),
        ("--constrain", "none", "no runs of the constraint 'none'"),
        ("--method", "randon", "no runs of the method 'randon' (did you mean random?)"),
        ("--label", "random", "label 'random' must be METHOD=SHORT"),
        ("--label=random=a", "--label=random=b", "random has two labels: give it one"),
        ("--label", "random=\x1b", "a method cannot be labelled '\\x1b': a label is one line of printable text"),
    ],
)
def test_a_wrong_selection_is_a_sentence(
    nasbench: Command, small_store: Store, tmp_path: Path, option: str, value: str, said: str
) -> None:
    printed = nasbench("report", small_store.folder, "--out", tmp_path / "r", option, value)
    assert printed.code == 2
    assert said in printed.err
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--out", "r", "--paper", "r"], "--out and --paper both name r: give each a folder of its own"),
        (["--ioh", "./report"], "--out and --ioh both name report: give each"),
        (["--paper", "x", "--ioh", "y/../x"], "--paper and --ioh both name y/../x: give each"),
    ],
)
def test_one_folder_for_two_kinds_of_files_is_refused(
    nasbench: Command,
    small_store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "y").mkdir()
    printed = nasbench("report", small_store.folder, *options)
    assert (printed.code, printed.err.count("\n")) == (2, 1)
    assert said in printed.err
    assert {path.name for path in tmp_path.iterdir()} == {"y", "store"}


def test_a_suites_labels_reach_its_report(nasbench: Command, tmp_path: Path) -> None:
    suite = tmp_path / "mine.toml"
    text = f"""methods = ["random", "{EVOLUTION}"]
benchmarks = ["nb201-cifar10"]
evals = 10
checkpoints = [5]
labels = {{ "{EVOLUTION}" = "small population" }}
"""
    suite.write_text(text)
    assert nasbench("run", "--suite", suite, "--store", tmp_path / "s").code == 0
    printed = nasbench("report", tmp_path / "s", "--out", tmp_path / "r", "--format", "csv")
    assert "small population" in printed.out
    suite.write_text(text.replace(f'"{EVOLUTION}" =', '"tpe" ='))
    wrong = nasbench("run", "--suite", suite, "--store", tmp_path / "s")
    assert wrong.code == 2
    assert "mine.toml, line 5: labels: " in wrong.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"checkpoints": 0}, "a checkpoint must be at least 1, not 0"),
        ({"checkpoints": 5.5}, "checkpoints '5.5' must be evaluation counts"),
        ({"label": {"random": 3}}, "a label maps a method to its short name, both texts"),
        ({"label": {"random": ""}}, "a method cannot be labelled '': a label is one line of printable text"),
        ({"label": {"random": "a\nb"}}, r"a method cannot be labelled 'a\\nb'"),
        ({"paper": "p", "figure_width": 3}, "figure width 3 must be a length from 1.5in to 12in"),
    ],
)
def test_from_python_other_types_are_one_sentence(
    options: dict[str, Any], said: str, small_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((UsageError, StoreError), match=said):
        front.report(small_store.folder, out="r", **options)


@pytest.mark.slow
def test_a_notebooks_backend_for_figures_disturbs_no_command(small_store: Store, tmp_path: Path) -> None:
    """A kernel exports it to what it starts, and it may not be installed beside nasbench."""
    command = [sys.executable, "-m", "nasbench", "report", small_store.folder, "--paper", tmp_path / "paper"]
    done = subprocess.run(
        command,
        env=os.environ | {"MPLBACKEND": "module://no_such_backend"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "paper" / "README.md").exists()
