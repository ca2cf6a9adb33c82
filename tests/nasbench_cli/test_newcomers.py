"""What a newcomer does, and what is said about it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

import nasbench as front
from nasbench.cli.engine.session import Session
from nasbench.results import Store
from tests.conftest import Printed

Command = Callable[..., Printed]
RUN = ("run", "--method", "random", "--bench", "nb201-cifar10", "--evals", 3)


def test_a_limit_in_another_unit_that_excludes_nothing_is_noticed(nasbench: Command, tmp_path: Path) -> None:
    def said(constraint: str) -> str:
        return nasbench(*RUN, "--seeds", 1, "--constrain", constraint, "--store", tmp_path / constraint).err

    notice = (
        "notice: every configuration of nb201-cifar10 satisfies model_size <= 500000 M parameters: is its unit meant?"
    )
    assert notice in said("model_size<=500000")
    assert "is its unit meant" not in said("model_size<=0.5") + said("model_size@1")
    asked = (*RUN[1:], "--constrain", "model_size<=500000")
    assert notice in nasbench("plan", *asked).err


def test_a_comparison_that_the_shell_took_is_explained(nasbench: Command) -> None:
    assert "in quotes: < and > mean files to a shell" in nasbench(*RUN, "--constrain", "latency").err


def test_a_suite_is_no_benchmark_to_show(nasbench: Command) -> None:
    printed = nasbench("show", "quick")
    assert (printed.code, printed.err) == (
        2,
        "nasbench: quick is a suite: `nasbench plan quick` shows its runs and what they cost\n",
    )


def test_a_table_that_is_not_here_is_not_unknown(nasbench: Command) -> None:
    assert "is a published table, nasbench data fetch ec-nas --from FOLDER" in nasbench("show", "ec-nas-2").err
    assert "is a published table, nasbench data fetch nas-bench-macro\n" in nasbench("show", "nas-bench-macro-2").err


def test_one_method_is_compared_with_nothing(nasbench: Command, tmp_path: Path) -> None:
    nasbench(*RUN, "--seeds", 5, "--store", tmp_path / "s")
    assert nasbench("report", tmp_path / "s", "--out", tmp_path / "r").out.startswith(
        "There is one method: nothing is compared.\n"
    )


def test_a_verdict_on_an_unfinished_store_is_marked(nasbench: Command, small_store: Store, tmp_path: Path) -> None:
    def shown() -> str:
        return nasbench("report", small_store.folder, "--out", tmp_path / "r").out

    assert not shown().startswith("(partial)")
    store = Store.open(small_store.folder)
    setup = store.fragments()[0].setup
    store.save_plan("more", [(setup, [0, 1, 2, 3])], {})
    assert shown().startswith("(partial) ")


def test_what_another_command_has_computed_meanwhile_is_said(
    nasbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute = Session.compute

    def by_another(self: Session, where: object, keep_going: bool) -> object:
        list(compute(self, where))  # type: ignore[arg-type]
        return (records for records in ())

    monkeypatch.setattr(Session, "compute", by_another)
    out = nasbench(*RUN, "--seeds", 2, "--store", tmp_path / "s").out
    assert "these runs are stored already: by another command, or by a process of this one that died after it" in out
    assert "0 runs computed" not in out


def test_the_version_is_known_to_python() -> None:
    assert front.__version__ == version("nasbench-cli")


def test_a_folder_for_data_that_cannot_be_made_is_one_sentence(
    nasbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "file" / "data"))
    (tmp_path / "t.csv").write_text("lr,val_loss\n1,0.5\n2,0.6\n")
    nasbench("import", "table", tmp_path / "t.csv", "--guess", "--spec", tmp_path / "t.toml")
    printed = nasbench("import", "table", tmp_path / "t.csv", "--spec", tmp_path / "t.toml")
    assert printed.code == 2
    assert "Not a directory; --data-dir or $NASBENCH_DATA names another folder\n" in printed.err


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("import", "table", "é.csv", "--guess"), (*map(str, RUN), "--seeds", "1", "--store", "é")]
)
def test_a_path_that_the_locale_cannot_read_is_not_said_to_be_no_utf_8(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "é.csv").write_text("lr,val_loss\n1,0.5\n2,0.6\n")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-m", "nasbench", *arguments],
        cwd=tmp_path,
        env=os.environ | plain,
        capture_output=True,
        check=False,
    )
    said = done.stderr.decode(errors="replace")
    assert (done.returncode, said.count("\n")) == (2, 1), said
    assert "as ascii: set PYTHONUTF8=1, or a locale of UTF-8 (LC_ALL=C.UTF-8)" in said
    assert "not UTF-8" not in said


def test_a_budget_of_parts_is_said_to_count_whole_trainings(nasbench: Command, tmp_path: Path) -> None:
    for method in ("hyperband", "random"):
        nasbench(
            "run", "--method", method, "--bench", "sk-boosting-digits", "--seeds", 1, "--evals", 5, "--store", tmp_path
        )
    shown = {m: nasbench("show-run", tmp_path, m, "sk-boosting-digits", 0).out for m in ("hyperband", "random")}
    assert "Budget: 5 evaluations on 1 worker, counted in whole trainings." in shown["hyperband"]
    assert "Budget: 5 evaluations on 1 worker. Method" in shown["random"]
