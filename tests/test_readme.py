"""What the README shows is what the code does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from nasbench.benchmarks import BENCHMARKS
from nasbench.benchmarks.spaces.trainable import SPACES
from nasbench.methods import METHODS
from tests.conftest import Printed

README = (Path(__file__).parent.parent / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_method_of_the_readme_runs(
    nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    METHODS.names()
    # Whoever follows the README has a method of this name already.
    monkeypatch.setattr(METHODS, "_items", {n: m for n, m in METHODS._items.items() if n != "local"})
    (source,) = (block for block in blocks("python") if "METHODS.register" in block)
    exec(compile(source, "README.md", "exec"), {"__name__": "readme"})
    asked = ["--method", "local:restart=0.2", "--method", "random", "--bench", "hpolib-naval", "--seeds", 3]
    assert nasbench("run", *asked, "--constrain", "train_time@0.1", "--evals", 50, "--store", tmp_path / "s").code == 0
    assert set(pd.read_parquet(tmp_path / "s")["method"]) == {"local:restart=0.2", "random"}


def test_the_suite_of_the_readme_is_one(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    (source,) = (block for block in blocks("toml") if "[[grid]]" in block)
    path = tmp_path / "mine.toml"
    path.write_text(re.sub("(?m)^seeds = 30", "seeds = 1", source))
    printed = nasbench("run", "--suite", path, "--store", tmp_path / "s")
    assert (printed.code, printed.err) == (0, "")


def test_every_option_the_readme_names_exists(nasbench: Callable[..., Printed]) -> None:
    commands = ["list", "show", "show-run", "distance", "run", "status", "report", "bench", "tabulate", "data fetch"]
    commands += ["import table", "import nas-bench-201", "plan", "check", ""]
    known = " ".join(nasbench(*command.split(), "--help").out for command in commands)
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README))
    assert named
    assert {option for option in named if option not in known} == set()


def test_the_search_space_of_the_readme_is_one(
    nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    BENCHMARKS.names()
    monkeypatch.setattr(BENCHMARKS, "_items", {n: b for n, b in BENCHMARKS._items.items() if n != "my-space"})
    (source,) = (block for block in blocks("python") if "BENCHMARKS.register" in block)
    exec(compile(source, "README.md", "exec"), {"__name__": "readme"})
    assert "repeat-0/conv2d-2.kernel_size" in nasbench("show", "my-space").out
    asked = ["--method", "random", "--method", "smbo", "--method", "mcts", "--method", "c-tpe", "--bench", "my-space"]
    done = nasbench("run", *asked, "--constrain", "filters<=60", "--seeds", 3, "--evals", 30, "--store", tmp_path / "s")
    assert done.code == 0, done.err
    frame = pd.read_parquet(tmp_path / "s")
    assert set(frame["method"]) == {"random", "smbo", "mcts", "c-tpe"}
    assert frame.groupby(["method", "seed"])["incumbent"].last().min() < 20


def test_published_numbers_in_the_readme_are_those_of_the_file() -> None:
    path = Path(__file__).parent.parent / "results" / "published" / "deep_architect.json"
    table = json.loads(path.read_text())["table_2_test_accuracy"]
    names = {"random": "random", "mcts": "MCTS", "smbo": "SMBO", "evolution": "evolution"}
    for name, (mean, _) in table.items():
        assert re.search(rf"{names[name]}\s{mean:.2f}", README)


def test_the_trained_space_of_the_readme_is_one(
    nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    SPACES.names()
    monkeypatch.setattr(SPACES, "_items", {n: s for n, s in SPACES._items.items() if n != "small"})
    (source,) = (block for block in blocks("python") if "SPACES.register" in block)
    exec(compile(source, "README.md", "exec"), {"__name__": "readme"})
    asked = ["run", "--method", "smbo", "--bench", "digits/small@1", "--seeds", 1, "--evals", 3]
    done = nasbench(*asked, "--store", tmp_path / "s")
    assert done.code == 0, done.err
    assert set(pd.read_parquet(tmp_path / "s")["status"]) == {"ok"}
