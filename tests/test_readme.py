"""What the README shows is what the code does."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from methods import METHODS
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
    commands = ["list", "show", "run", "status", "report", "bench", "import table", "import nas-bench-201", ""]
    known = " ".join(nasbench(*command.split(), "--help").out for command in commands)
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README))
    assert named
    assert {option for option in named if option not in known} == set()
