"""What `nasbench.run` says of arguments that the command line could not have: values of Python's other types."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nasbench as front
from nasbench.benchmarks import UsageError
from nasbench.cli.engine.session import Session
from nasbench.methods.random_search import RandomSearch
from nasbench.results import StoreError
from tests.conftest import Printed

ASKED: dict[str, Any] = {"methods": "random", "benchmarks": "nb201-cifar10", "seeds": 1, "evals": 3}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"methods": 5}, "a name, or a list of names, is expected, not 5"),
        ({"methods": ["random", 3]}, "methods must be text, not 3"),
        ({"benchmarks": [None]}, "benchmarks must be text, not None"),
        ({"constraints": [5]}, "constraints must be text, not 5"),
        ({"objectives": ["train_time", 1]}, "objectives must be text, not 1"),
        ({"seeds": 2.5}, "seeds must be a whole number or text, not 2.5"),
        ({"evals": 1.5}, "evals must be a whole number, not 1.5"),
        ({"evals": "5"}, "evals must be a whole number, not '5'"),
        ({"seconds": "3"}, "budget-seconds must be a number, not '3'"),
        ({"workers": True}, "workers must be a whole number, not True"),
        ({"jobs": "2"}, "jobs must be at least 1, and a whole number, not '2'"),
        ({"jobs": 1.5}, "jobs must be at least 1, and a whole number, not 1.5"),
        ({"executor": 3}, "executor must be text, not 3"),
    ],
)
def test_a_value_of_another_type_is_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as told:
        front.run(**ASKED | changes)
    assert str(told.value) == sentence


def test_numbers_of_numpy_are_numbers() -> None:
    plain = front.run(**ASKED, seconds=60)
    by_numpy = front.run(
        np.array(["random"]),
        "nb201-cifar10",
        seeds=np.int64(1),
        evals=np.int64(3),
        seconds=np.float32(60),
        workers=np.int8(1),
        jobs=np.int64(1),
    )
    columns = ["run", "seed", "evaluation", "configuration", "objective", "finished"]
    assert by_numpy[columns].equals(plain[columns])


def test_a_damaged_file_whose_runs_are_computed_again_is_a_warning(tmp_path: Path) -> None:
    front.run(**ASKED, store=tmp_path / "s")
    path = next((tmp_path / "s").glob("random*.parquet"))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.warns(UserWarning, match="is set aside"):
        front.run(**ASKED, store=tmp_path / "s")


def test_runs_that_fail_are_a_warning_for_each_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: RandomSearch) -> None:
        raise RuntimeError("no idea")

    monkeypatch.setattr(RandomSearch, "ask", fails)
    with pytest.warns(UserWarning, match=r"^failed: 3 runs, random .*, seed 0 first: stopped: .*no idea") as told:
        frame = front.run(**ASKED | {"seeds": 3})
    assert (len(told), len(frame)) == (1, 3)


def test_runs_that_are_missing_at_the_end_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Session, "compute", lambda *_, **__: iter(()))
    with pytest.raises(StoreError, match=r"1 run missing: .* call it again"):
        front.run(**ASKED)


@pytest.mark.parametrize("guarded", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_script_that_forgets_that_processes_import_it_is_refused_and_stores_nothing(
    guarded: bool, tmp_path: Path
) -> None:
    call = "print(len(nasbench.run('random', 'nb201-cifar10', seeds=2, evals=5, jobs=2, store='store')))"
    script = tmp_path / "script.py"
    script.write_text("import nasbench\n" + ('if __name__ == "__main__":\n    ' if guarded else "") + call + "\n")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == ((0, "10\n") if guarded else (1, ""))
    assert ('such a call belongs below `if __name__ == "__main__":`' in done.stderr) == (not guarded)
    assert any((tmp_path / "store").glob("random.*.parquet")) == guarded


def test_a_script_from_standard_input_is_told_that_it_cannot_start_processes(tmp_path: Path) -> None:
    script = (
        "import nasbench\nif __name__ == '__main__':\n"
        "    nasbench.run('random', 'nb201-cifar10', seeds=2, evals=5, jobs=2, store='store')\n"
    )
    here = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-"], input=script, cwd=tmp_path, env=here, capture_output=True, text=True, check=False
    )
    assert "a script from standard input cannot start processes: save it as a file, or give jobs=1" in done.stderr
    assert "such a call belongs below" not in done.stderr


def test_what_is_no_path_of_a_store_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"a store is the path of a folder, not \['a', 'b'\]; several stores are several"
    ):
        front.report(["a", "b"])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a store is the path of a folder, not 3"):
        front.run(**ASKED, store=3)


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"out": None}, "out is the path of a folder, not None"),
        ({"paper": 3}, "paper must be a path, not 3"),
        ({"score": 3}, "score must be text, not 3"),
        ({"bench": ["nb201-cifar10", 3]}, "bench must be text, not 3"),
        ({"label": [("random", "r")]}, r"label must be text, not \('random', 'r'\)"),
        ({"label": {"random": 3}}, "a label maps a method to its short name, both texts, not {'random': 3}"),
    ],
)
def test_a_value_of_another_type_is_one_sentence_of_a_report(
    option: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=f"^{sentence}$"):
        front.report(tmp_path, **option)


def test_the_last_row_of_a_run_has_its_best_configuration_and_so_has_show_run(
    tmp_path: Path, nasbench: Callable[..., Printed]
) -> None:
    asked = {"benchmarks": "nb201-cifar10", "constraints": "latency@0.5", "seeds": 2, "evals": 25}
    rows = front.run("evolution", store=tmp_path / "store", **asked)  # type: ignore[arg-type]
    assert rows["best_configuration"].isna().equals(rows["incumbent"].isna())
    for seed, run in rows.groupby("seed"):
        kept = run[run["feasible"]]
        best = kept.loc[kept["objective"].idxmin()]
        assert run["best_configuration"].iloc[-1] == best["configuration"]
        printed = nasbench("show-run", tmp_path / "store", "evolution", "nb201-cifar10", seed, "--json")
        (facts,) = json.loads(printed.out)
        assert facts["best"]["configuration"] == json.loads(best["configuration"])
        assert (facts["best"]["observed"], facts["best"]["evaluation"]) == (best["objective"], best["evaluation"])
        last = run.iloc[-1]
        assert facts["best"]["hidden"] == (last["hidden"] if last["hidden_feasible"] else None)
        assert (facts["evaluations"], facts["feasible"]) == (25, int(run["feasible"].sum()))


def test_show_run_says_that_nothing_feasible_was_found(tmp_path: Path, nasbench: Callable[..., Printed]) -> None:
    front.run("random", "nb201-cifar10", constraints="latency@0.001", seeds=1, evals=3, store=tmp_path / "store")
    printed = nasbench("show-run", tmp_path / "store", "random", "nb201-cifar10", 0, "--json")
    (facts,) = json.loads(printed.out)
    assert (facts["best"], facts["feasible"], facts["evaluations"]) == (None, 0, 3)
