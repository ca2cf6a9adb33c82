"""Files on which guesses once went wrong: each answers as its `expected` says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasbench.benchmarks.spaces import configspace
from nasbench.benchmarks.tabular import open_table
from tests.conftest import Printed

ROOT = Path(__file__).parents[2]
CASES = ROOT.parent / "shared" / "cases"
pytestmark = pytest.mark.skipif(not CASES.exists(), reason="needs shared/cases, which is never committed")


@dataclass(frozen=True)
class Answer:
    """What a command line answers about a file."""

    text: str
    facts: dict[str, Any]

    @property
    def chosen(self) -> set[str]:
        return {h["name"] for h in self.facts["hyperparameter"]}

    @property
    def objective(self) -> dict[str, Any]:
        first: dict[str, Any] = self.facts["metric"][0]
        return first

    @property
    def left_out(self) -> dict[str, str]:
        lines = self.text.partition("# Left out:\n")[2].splitlines()
        return {name: why for name, _, why in (line[4:].partition(": ") for line in lines)}

    @property
    def doubts(self) -> list[str]:
        return [line.partition("# ? ")[2] for line in self.text.splitlines() if "# ? " in line]


Asked = Callable[[str, str], Answer]


@pytest.fixture
def asked(tmp_path: Path, nasbench: Callable[..., Printed], monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Guesses the specification of a case's file by the command line: `asked("ray-csv", "results")`."""
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))

    def answer(case: str, stem: str) -> Answer:
        shutil.copyfile(CASES / case / f"{stem}.csv", tmp_path / f"{stem}.csv")
        done = nasbench("import", "table", tmp_path / f"{stem}.csv", "--guess")
        assert done.code == 0, done.err
        text = (tmp_path / f"{stem}.toml").read_text()
        return Answer(text, tomllib.loads(text))

    return answer


@pytest.fixture
def imports(tmp_path: Path, nasbench: Callable[..., Printed]) -> Callable[[str], str]:
    def said(stem: str) -> str:
        done = nasbench("import", "table", tmp_path / f"{stem}.csv", "--spec", tmp_path / f"{stem}.toml")
        assert done.code == 0, done.err
        return done.out

    return said


Imports = Callable[[str], str]


def test_relations_of_configspace_0_7_are_read() -> None:
    space = configspace.read((CASES / "configspace-relations" / "space.json").read_text())
    pairs = {(values["lo"], values["hi"]) for values in map(space.values, space)}
    assert pairs == {(lo, hi) for lo in range(1, 6) for hi in range(1, 6) if not lo > hi}


def test_epochs_from_0_are_epochs_and_no_hyperparameter(asked: Asked, imports: Imports) -> None:
    answer = asked("epoch-zero", "curves")
    assert (answer.facts["epoch"], answer.facts["first_epoch"]) == ("epoch", 0)
    assert any("epochs are counted from 0 here" in doubt for doubt in answer.doubts)
    assert answer.chosen == {"lr", "units"}
    assert "6 of 6 configurations" in imports("curves")


def test_optunas_value_is_the_objective(asked: Asked, imports: Imports, tmp_path: Path) -> None:
    answer = asked("optuna-csv", "trials")
    assert answer.chosen == {"params_alpha", "params_max_depth", "params_n_trees"}
    assert (answer.objective["column"], answer.objective["direction"]) == ("value", "?")
    assert set(answer.left_out) == {"number", "datetime_start", "datetime_complete", "duration", "state"}
    (tmp_path / "trials.toml").write_text(answer.text.replace('direction = "?"', 'direction = "maximise"'))
    assert "18 of 18 configurations" in imports("trials")


def test_a_number_with_its_spread_is_no_category(asked: Asked) -> None:
    answer = asked("plus-minus", "results")
    assert "accuracy" not in answer.chosen
    assert answer.left_out["accuracy"].endswith("such as '91.2±0.3': write plain numbers")
    assert any("no column looks like a score, so the objective is a time" in doubt for doubt in answer.doubts)


def test_rays_configuration_is_all_that_is_chosen(asked: Asked, imports: Imports) -> None:
    answer = asked("ray-csv", "results")
    assert answer.chosen == {"config/depth", "config/share"}
    assert answer.objective["column"] == "test_accuracy"
    assert {"pid", "iterations_since_restore", "experiment_tag", "logdir", "training_iteration"} <= set(answer.left_out)
    assert "9 of 9 configurations" in imports("results")


@pytest.mark.parametrize(
    ("stem", "chosen"),
    [
        ("results", {"gamma", "lr"}),
        ("ray", {"config/depth", "config/share"}),
        ("all-real", {"alpha", "beta"}),
    ],
)
def test_hyperparameters_may_stand_behind_the_score(
    stem: str, chosen: set[str], asked: Asked, imports: Imports
) -> None:
    answer = asked("score-first", stem)
    assert answer.chosen == chosen
    doubtful = sum("it stands behind a measurement: or is it one?" in doubt for doubt in answer.doubts)
    assert doubtful == (0 if stem == "ray" else 2)  # a prefix leaves no doubt
    assert "configurations" in imports(stem)


@pytest.mark.parametrize(
    ("stem", "chosen"),
    [("numbers", {"param_alpha", "param_rounds"}), ("with-text", {"param_alpha", "param_kernel"})],
)
def test_scikit_learns_mean_is_the_objective(stem: str, chosen: set[str], asked: Asked, imports: Imports) -> None:
    answer = asked("sklearn-cv", stem)
    assert answer.chosen == chosen
    assert answer.objective["column"] == "mean_test_score"
    assert {"split0_test_score", "split1_test_score", "rank_test_score", "std_test_score"} <= set(answer.left_out)
    (time,) = (m for m in answer.facts["metric"] if m["name"] == "mean_score_time")
    assert (time["unit"], time.get("direction", "minimise")) == ("s", "minimise")
    assert "9 of 9 configurations" in imports(stem)


def test_a_negated_error_is_maximised(asked: Asked, imports: Imports) -> None:
    answer = asked("sklearn-neg", "ridge")
    assert answer.objective["direction"] == "maximise"
    assert "from 1 to 11" in imports("ridge")  # the negated values are minimised: 1 is the best
    table = open_table("ridge")
    best = np.nanargmin(table.values[:, 0, 0])
    assert table.oracle(()).best == 1
    assert table.space.values(table.space.configuration(int(best))) == {"C": 10, "gamma": 0.01}


def test_smacs_cost_is_the_score_and_its_time_the_cost(asked: Asked) -> None:
    answer = asked("smac-cost", "runhistory")
    assert (answer.objective["column"], answer.facts["cost"]) == ("cost", "time")
    assert answer.chosen == {"lr", "depth"}
    assert {"starttime", "endtime"} <= set(answer.left_out)


def test_a_script_from_standard_input_is_not_asked_for_a_guard(tmp_path: Path) -> None:
    script = (CASES / "stdin-script" / "script.py").read_bytes()
    here = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-"], input=script, cwd=tmp_path, env=here, capture_output=True, check=False)
    said = done.stderr.decode().splitlines()[-1]
    assert said.endswith("a script from standard input cannot start processes: save it as a file, or give jobs=1")
    assert "__main__" not in said
