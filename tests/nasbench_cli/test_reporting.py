"""`nasbench.report` and `nasbench report` make the same request of the same options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import nasbench as front
from nasbench.benchmarks import UsageError
from nasbench.cli.commands.report import report as command
from nasbench.cli.engine.reporting import asked_report
from nasbench.results import Store
from nasbench.results.report.request import Request
from nasbench.results.selection import Selection
from tests.conftest import Printed
from tests.results.conftest import LITERATURE

EVOLUTION = "evolution:population=5,tournament=2"


def test_python_takes_the_options_of_the_command_under_their_names() -> None:
    options = {option.name for option in command.params if option.expose_value} - {"stores", "as_json"}
    # Of the verdict of a result Python makes JSON itself.
    assert {option.opts[0].removeprefix("--").replace("-", "_") for option in command.params} >= options
    assert set(inspect.signature(front.report).parameters) - {"stores"} == options
    no_part = {"against", "direction"}  # of the request
    assert set(inspect.signature(asked_report).parameters) == options - no_part


@pytest.mark.slow
def test_the_command_and_python_write_the_same_files(
    nasbench: Callable[..., Printed], small_store: Store, tmp_path: Path
) -> None:
    words = ["--method", "evolution", "--method", "random", "--bench", "nb201-cifar10", "--family", "nas-bench-201"]
    words += ["--constrain", "model_size@0.5", "--label", f"{EVOLUTION}=EA", "--baseline", EVOLUTION]
    words += ["--checkpoints", "5,10", "--score", "observed", "--format", "csv,md", "--figure-width", "84mm"]
    folders = ["--out", tmp_path / "command", "--paper", tmp_path / "command-paper"]
    printed = nasbench("report", small_store.folder, *folders, *words)
    assert printed.code == 0, printed.err
    result = front.report(
        small_store.folder,
        out=tmp_path / "python",
        paper=tmp_path / "python-paper",
        method=["evolution", "random"],
        bench="nb201-cifar10",
        family="nas-bench-201",
        constrain=["model_size@0.5"],
        label={"evolution:tournament=2,population=5": "EA"},
        baseline=EVOLUTION,
        checkpoints=[5, 10],
        score="observed",
        format=["csv", "md"],
        figure_width="84mm",
    )
    for folder in ("", "-paper"):
        first, second = (
            {path.name: path.read_bytes() for path in (tmp_path / f"{way}{folder}").iterdir()}
            for way in ("command", "python")
        )
        if folder:
            overviews = [files.pop("README.md").decode().splitlines() for files in (first, second)]
            differing = [pair for pair in zip(*overviews, strict=True) if pair[0] != pair[1]]
            [(by_command, by_python)] = differing  # who made it
            assert by_command.startswith("Made by `nasbench report ")
            assert by_python == "Made by `nasbench.report(…)`, of the runs of:"
        assert first == second
    assert "EA" in result.text
    assert result.text in printed.out
    assert result.folder == tmp_path / "python"


def test_every_option_reaches_the_request(tmp_path: Path) -> None:
    found = asked_report(
        tmp_path / "out",
        baseline="tpe",
        checkpoints="100,50",
        method="random",
        without=["mcts", "evolution:tournament=5,population=50"],
        bench="digits",
        family=["hpolib"],
        constrain="none",
        label=["tpe=T"],
        protocol="9 evaluations",
        score="observed",
        metric="latency",
        format="svg,csv",
        part="thinking",
        paper="paper",
        figure_width="5.08cm",
        ioh="ioh",
        optuna=tmp_path / "studies.log",
        partial=True,
        wilcoxon=True,
        full=True,
    )
    chosen = Selection(
        ("random",), ("mcts", "evolution:population=50,tournament=5"), ("digits",), ("hpolib",), ("none",)
    )
    assert found == Request(
        tmp_path / "out",
        "tpe",
        (50, 100),
        "9 evaluations",
        ("csv", "svg"),
        "observed",
        "latency",
        chosen,
        {"tpe": "T"},
        ("thinking",),
        Path("paper"),
        2.0,
        Path("ioh"),
        tmp_path / "studies.log",
        True,
        True,
        True,
        LITERATURE,
    )


def test_the_tables_are_those_of_the_csv_files(small_store: Store, tmp_path: Path) -> None:
    result = front.report(small_store.folder, out=tmp_path / "r", format="csv")
    assert set(result.tables) == {path.stem for path in (tmp_path / "r").glob("*.csv")}
    ranks = pd.read_csv(tmp_path / "r" / "ranks.csv")
    assert result.tables["ranks"]["20"].tolist() == pytest.approx(ranks["20"].tolist(), abs=0, rel=1e-15)
    without = front.report(small_store.folder, out=tmp_path / "s", format="csv", without="random")
    assert "ranks" not in without.tables
    assert EVOLUTION in without.tables["medians"]
    assert "Medians at the end of the budget" in without.text


def test_the_text_has_no_escape_codes(small_store: Store, tmp_path: Path) -> None:
    result = front.report(small_store.folder, out=tmp_path / "r", format="csv", label={"random": "red"})
    assert "\x1b[" in result.styled
    assert "red" in result.text
    assert "\x1b" not in result.text
    assert str(result) == result.text
    assert "\n" not in repr(result)
    small_store.save_plan("c", [], {"title": "\x1b]0;t\x07a title"})  # as an earlier version stored it
    assert "\x1b" not in front.report(small_store.folder, out=tmp_path / "r", format="csv").text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"format": "docx"}, "unknown format 'docx'"),
        ({"label": "random"}, "must be METHOD=SHORT"),
        ({"checkpoints": "x"}, "must be evaluation counts"),
        ({"checkpoints": [0]}, "at least 1"),
        ({"figure_width": "3", "paper": "paper"}, "must be a length"),
        ({"figure_width": "84mm"}, "give --paper too"),
        ({"bench": 5}, "a name, or a list of names, is expected, not 5"),
    ],
)
def test_a_wrong_option_is_a_sentence(small_store: Store, tmp_path: Path, options: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        front.report(small_store.folder, out=tmp_path / "r", **options)  # type: ignore[arg-type]
    assert not (tmp_path / "r").exists()


def test_a_report_that_is_stopped_promises_nothing(
    small_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nasbench: Callable[..., Printed]
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nasbench.cli.commands.report.with_own_baseline", interrupted)
    done = nasbench("report", small_store.folder, "--out", tmp_path / "r")
    assert (done.code, done.err.lstrip()) == (130, "nasbench: stopped\n")


def test_a_folder_that_would_hold_anothers_is_refused_before_anything_is_written(
    small_store: Store, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="which holds that of --out: give each a folder of its own"):
        front.report(small_store.folder, out=tmp_path / "p" / "html", paper=tmp_path / "p")
    assert not (tmp_path / "p").exists()
    front.report(small_store.folder, out=tmp_path / "p", paper=tmp_path / "p" / "paper")
