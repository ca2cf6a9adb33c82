from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nasbench.benchmarks import BENCHMARKS
from nasbench.benchmarks.spaces.language.program import Program
from nasbench.cli import main
from nasbench.cli.main import cli
from nasbench.methods import About
from nasbench.results import Store
from research.language_figures import figure_18
from tests.conftest import SMALL, Lend, Printed
from tests.nasbench_cli.toys import Toy

Command = Callable[..., Printed]
RUN = ["run", "--method", "random", "--bench", "nb201-cifar10", "--evals", 10]


def test_the_main_job_from_run_to_report(nasbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = [
        *("run", "--method", "random", "--method", "evolution:population=9", "--bench", "nb201-cifar10"),
        *(
            "--bench",
            "hpolib-naval",
            "--constrain",
            "model_size@0.1",
            "--seeds",
            3,
            "--evals",
            40,
            "--workers",
            4,
            "--store",
            "runs/demo",
        ),
    ]
    first = nasbench(*asked)
    assert (first.code, first.err) == (0, "")
    assert "12 runs computed, 480 evaluations" in first.out
    again = nasbench(*asked)
    assert again.code == 0
    assert again.out.count("3 runs, (cached)") == 4
    assert "computed" not in again.out
    more = nasbench(*[5 if word == 3 else word for word in asked])
    assert "5 runs, 3 (cached), 2 to run" in more.out
    assert "8 runs computed" in more.out
    frame = pd.read_parquet(tmp_path / "runs" / "demo")
    assert len(frame) == 20 * 40
    assert set(frame["constraint"]) == {"model_size@0.1"}
    nb201 = frame[frame["bench"] == "nb201-cifar10"]
    assert nb201["feasible"].eq(nb201["metric.model_size"] <= 0.101306).all()
    assert (nb201["metric.x-valid-error@200"] == nb201["objective"]).all()
    assert set(json.loads(nb201["configuration"].iloc[0])) == {f"Op{i}" for i in range(6)}
    state = nasbench("status", "runs/demo")
    assert len(re.findall(r"5/5 +complete", state.out)) == 4
    report = nasbench("report", "runs/demo", "--checkpoints", "20,40", "--baseline", "evolution:population=9")
    assert report.code == 0
    assert "Probability that evolution:population=9 is better" in report.out
    assert all(len(line) <= 80 for line in report.out.splitlines() if not line.startswith(("20 runs", "13 files")))
    assert (tmp_path / "report" / "index.html").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["runn"],
            r"Did you mean 'run'\? Allowed: list, show, run, status, report, merge, archive, show-run, plan, check, ",
        ),
        ([], "give a command: list, show, run, status, report"),
        (["run"], "give a --method and a --bench"),
        (
            [*RUN, "--method", "methods/a.py"],
            "unknown method 'methods/a.py' .a file; the name of the method in it is exp",
        ),
        ([*RUN, "--method", "evolutoin"], "unknown method 'evolutoin' .did you mean evolution"),
        ([*RUN, "--method", "evolution:"], "no option follows the colon of 'evolution:'; write evolution, or"),
        ([*RUN, "--method", "evolution: ,"], "no option follows the colon"),
        ([*RUN, "--bench", "nb201-cifar"], "unknown benchmark 'nb201-cifar' .did you mean nb201-cifar10"),
        ([*RUN, "--constrain", "model_siz@0.1"], r"did you mean model_size\?\); allowed: latency, model_size"),
        ([*RUN, "--constrain", "model_size"], "malformed; allowed: METRIC<=VALUE"),
        (
            [*RUN, "--constrain", "none", "--constrain", "model_size@0.1"],
            "none cannot stand beside model_size@0.1: all",
        ),
        (
            [*RUN, "--constrain", "model_size@0.1", "--constrain", "model_size@0.2"],
            "model_size@0.1 and model_size@0.2 bound one metric on one side, and all",
        ),
        (
            ["run", "--method", "random, tpe", "--bench", "nb201-cifar10"],
            "'random, tpe' are several names where one method is expected: give the option once for each",
        ),
        ([*RUN, "--seeds", "2", "--seeds", "3"], "--seeds is given twice, and takes one value"),
        (["data", "fetch", "a", "--from", "b", "--from", "c"], "--from is given twice"),
        ([*RUN, "--constrain", "model_size@0"], r"must lie in \(0, 1\]"),
        ([*RUN, "--constrain", "model_size@1.5"], r"must lie in \(0, 1\]"),
        ([*RUN, "--constrain", "train_time<=1"], r"the smallest reachable value is 542.231 s"),
        ([*RUN, "--bench", "hpobench-car", "--constrain", "latency@0.5"], "unknown metric of hpobench-car 'latency'"),
        ([*RUN, "--seeds", "0"], "seeds '0' must be a count"),
        ([*RUN, "--seeds", "5:3"], "seeds '5:3' must be a count"),
        ([*RUN, "--seeds", "-1"], "seeds '-1' must be a count"),
        ([*RUN, "--seeds", "many"], "seeds 'many' must be a count"),
        ([*RUN[:-2], "--evals", "-5"], r"evals must lie in \[1, 200000\], not -5"),
        ([*RUN[:-2], "--evals", "0"], r"evals must lie in"),
        ([*RUN[:-2], "--evals", "1.5"], "'1.5' is not a valid int"),
        ([*RUN, "--budget-seconds", "-1"], "budget-seconds must be above 0 and at most 1e.12"),
        ([*RUN, "--budget-seconds", "0"], "budget-seconds must be above 0 and at most 1e.12"),
        ([*RUN, "--budget-seconds", "nan"], "budget-seconds must be above 0 and at most 1e.12"),
        ([*RUN, "--budget-seconds", "1e308"], "budget-seconds must be above 0 and at most 1e.12"),
        ([*RUN, "--workers", "0"], r"workers must lie in \[1, 10000\]"),
        ([*RUN, "--jobs", "0"], "jobs must be at least 1"),
        ([*RUN, "--sedes", "3"], "No such option '--sedes'"),
        ([*RUN, "--method", "evolution:population=0"], r"population must lie in \[1, 1000000\]"),
        ([*RUN, "--method", "evolution:pop=3"], "did you mean population"),
        ([*RUN, "--suite", "x.toml"], "leave out --evals, or the suite"),
        (["run", "--suite", "absent.toml"], "there is no file absent.toml: unknown suite 'absent'.*; allowed: .*quick"),
        (
            ["run", "--suite", "qiuck"],
            r"there is no file qiuck.toml: unknown suite 'qiuck' \(did you mean quick\?\)",
        ),
        (["plan", "qiuck"], r"did you mean quick\?"),
        (["plan", "quick.old"], "there is no file quick.old.toml: unknown suite 'quick.old'"),
        (["run", "--suite", "smoke", "--evals", "0"], "leave out --evals, or"),
        (["run", "--suite", "smoke", "--workers", "1"], "leave out --workers, or"),
        (["run", "--suite", "smoke", "--budget-seconds", "0"], "leave out --budget-seconds, or"),
        (["run", "--suite", "smoke", "--charge-thinking"], "leave out --charge-thinking, or"),
        (["plan", "smoke", "--seeds", "10"], "--seeds 10 is more than this suite has"),
        (["plan"], "give a --method and a --bench"),
        ([*RUN, "--without", "random"], "name only the methods you want"),
        ([*RUN, "--store", ""], "--store is empty: is a variable of the shell not set"),
        ([*RUN, "--store="], "--store is empty"),
        (["report", ""], "an argument is empty"),
        (["import", "csv"], "No such command 'csv'. Allowed: columns, nas-bench-101"),
        (["show", "nb201"], "unknown benchmark, method or executor 'nb201'"),
        (["list", "everything"], "'everything' is not one of 'methods', 'benchmarks', 'suites', 'executors', 'parts'"),
        (["list", "suites", "--matrix"], "leave out suites, or --matrix"),
        (["status", "absent", "--watch", "--json"], "leave out --json, or --watch"),
        (["archive", "check", "quick", "--seed", "-1"], "-1 is not in the range x>=0"),
        (["status", "absent"], "absent is not a trajectory store; there is no such folder; `nasbench run --store"),
        (["report", "absent"], "absent is not a trajectory store; there is no such folder"),
        (["data", "list", "--data-dir", "absent"], "'absent' does not exist"),
        (["run", "--method", "random", "--bench", "nb201-cifar10", "--data-dir", "absent"], "'absent' does not exist"),
        (["report", "absent", "--checkpoints", "a,b"], "checkpoints 'a,b' must be evaluation counts"),
        (["report", "absent", "--checkpoints", "0,5"], "a checkpoint must be at least 1"),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_2(
    nasbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[object], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = nasbench(*arguments)
    assert printed.code == 2
    assert re.search(said, printed.err)
    assert printed.err.startswith("nasbench: ")
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_without_ray_is_refused_before_anything_else(
    nasbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    printed = nasbench(*RUN, "--constrain", "no_such_metric@0.1", "--executor", "ray", "--store", tmp_path / "s")
    assert printed.code == 2
    assert "--executor ray needs Ray: `make setup EXTRAS=ray`" in printed.err
    assert not (tmp_path / "s").exists()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no folder in which nothing can be made")
def test_a_store_that_cannot_be_made_is_bad_usage(nasbench: Command) -> None:
    printed = nasbench(*RUN, "--store", "/proc/x")
    assert (printed.code, printed.out) == (2, "")
    assert printed.err == "nasbench: cannot use the store /proc/x: No such file or directory; give another --store\n"


def test_c_tpe_without_a_constraint_says_so_once(nasbench: Command, tmp_path: Path) -> None:
    asked = ["run", "--method", "c-tpe", "--bench", "nb201-cifar10", "--evals", 12, "--seeds", 3]
    printed = nasbench(*asked, "--store", tmp_path / "s")
    assert printed.code == 0
    assert printed.err.count("notice: c-tpe without a constraint is tpe") == 1
    constrained = nasbench(*asked, "--constrain", "model_size@0.5", "--store", tmp_path / "c")
    assert constrained.code == 0
    assert "without a constraint" not in constrained.err


def test_damaged_rows_are_missing_at_once(nasbench: Command, tmp_path: Path) -> None:
    nasbench(*RUN, "--seeds", 4, "--store", tmp_path / "s")
    (path,) = (tmp_path / "s").glob("random*.parquet")
    content = bytearray(path.read_bytes())
    content[100] ^= 255
    path.write_bytes(content)
    assert re.search("0/4 +missing", nasbench("status", tmp_path / "s").out)


def test_interrupted_then_asked_for_less_the_first_command_finishes_it(nasbench: Command, tmp_path: Path) -> None:
    store = tmp_path / "s"
    nasbench(*RUN, "--seeds", 8, "--store", store)
    (path,) = store.glob("random*.parquet")
    path.unlink()
    nasbench(*RUN, "--seeds", 3, "--store", store)
    out = nasbench("status", store).out
    assert f"--seeds 8 --evals 10 --store {store}" in out
    assert "--seeds 3" not in out


words = st.one_of(
    st.sampled_from(["run", "list", "show", "status", "report", "--help", "--json", "--matrix", "--debug", "-h", "--"]),
    st.sampled_from(["--method", "--bench", "--constrain", "--seeds", "--evals", "--workers", "--jobs", "--suite"]),
    st.sampled_from(
        ["random", "evolution", "evolution:population=2", "nb201-cifar10", "model_size@0.1", "1", "0", "-1"]
    ),
    st.text(max_size=12).filter(lambda text: "\0" not in text),
    st.text(alphabet="abm_size@<>=+:,.0123456789-e", max_size=16),
)


@pytest.mark.slow
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=st.lists(words, max_size=9).filter(lambda line: "--debug" not in line))
def test_no_command_line_gets_a_traceback(
    line: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))
    monkeypatch.setattr("sys.argv", ["nasbench", *line])
    code = main.run_command(line)
    captured = capsys.readouterr()
    assert code in (0, 2)
    assert "Traceback" not in captured.err
    assert "defect" not in captured.err
    if code == 2:
        assert captured.err.startswith("nasbench: ")
        assert captured.err.count("\n") == 1


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from(["random", "evolution", "evolution:population=3,tournament=2", "evolution:population=-1"]),
    bench=st.sampled_from(["nb201-cifar10", "hpobench-car", "nb201-cifar"]),
    constraint=st.sampled_from(["none", "train_time@0.2", "train_time<=0", "model_size>=0.1", "x@2", "train_time@1"]),
    seeds=st.sampled_from(["1", "2", "0", "1:3", "3:1", "x"]),
    evals=st.integers(-1, 12),
    workers=st.integers(-1, 5),
    seconds=st.one_of(st.none(), st.floats(-10, 5000)),
)
def test_a_command_line_either_runs_whole_or_is_refused_whole(
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    method: str,
    bench: str,
    constraint: str,
    seeds: str,
    evals: int,
    workers: int,
    seconds: float | None,
) -> None:
    store = tmp_path_factory.mktemp("here") / "store"
    line = ["run", "--method", method, "--bench", bench, "--constrain", constraint, "--seeds", seeds]
    line += ["--evals", str(evals), "--workers", str(workers), "--store", str(store)]
    line += [] if seconds is None else ["--budget-seconds", str(seconds)]
    code = main.run_command(line)
    captured = capsys.readouterr()
    if code == 2:
        assert captured.err.startswith("nasbench: ")
        assert captured.err.count("\n") == 1
        assert not store.exists()
    else:
        assert code == 0, captured.err
        (fragment,) = Store.open(store).fragments()
        rows = [run.rows for run in fragment.runs]
        assert len(rows) == {"1": 1, "2": 2, "1:3": 2}[seeds]
        assert all(r == evals if seconds is None else r <= evals for r in rows)


@pytest.mark.slow
def test_json_listings_are_json(nasbench: Command) -> None:
    assert {"methods", "benchmarks", "suites", "executors"} == set(json.loads(nasbench("list", "--json").out))
    assert {row["name"] for row in json.loads(nasbench("list", "methods", "--json").out)} >= {"random", "evolution"}
    matrix = json.loads(nasbench("list", "--matrix", "--json").out)
    assert matrix["random"]["nb201-cifar10"] == "fits"


def test_a_space_that_cannot_give_a_view_fits_no_method_that_needs_it(nasbench: Command, lend: Lend) -> None:
    class Endless(Toy):
        name = "endless"
        space = Program(figure_18)

    lend(BENCHMARKS, "endless", Endless)
    matrix = json.loads(nasbench("list", "--matrix", "--json").out)
    assert matrix["tpe"]["endless"].startswith("this space is infinite")
    assert matrix["random"]["endless"] == "fits"
    refused = nasbench("run", "--method", "tpe", "--bench", "endless", "--store", "s")
    assert "tpe does not run on endless: this space is infinite" in refused.err


def test_show_tells_all_of_a_benchmark(nasbench: Command) -> None:
    out = " ".join(nasbench("show", "nb201-cifar10").out.split())
    for fact in (
        "nor_conv_3x3",
        "x-valid-error@200",
        "minimise",
        "objective",
        "cheap",
        "15,625 configurations, 2 to 3 repetitions",
        "8.393333 % (mean over repetitions)",
        "0.101306",
        "MIT",
        "sha256:2f6f8dcb4c6c",
    ):
        assert fact in out
    for name in ("hpolib-slice", "hpobench-kc1", "evolution", "random"):
        assert nasbench("show", name).code == 0
    assert "population  int   100" in nasbench("show", "evolution").out
    shown = " ".join(nasbench("show", "c-tpe").out.split())
    assert "knowledge int 0 random configurations whose cheap constraints are looked up" in shown
    assert "Source: S. Watanabe and F. Hutter. c-TPE: Tree-structured Parzen Estimator" in shown


@pytest.mark.slow
def test_one_of_something_is_in_the_singular(nasbench: Command, tmp_path: Path) -> None:
    asked = ["run", "--method", "random", "--bench", "hpolib-naval", "--seeds", 1, "--evals", 1]
    store, out = tmp_path / "s", tmp_path / "report"
    said = nasbench(*asked, "--store", store).out
    assert "random on hpolib-naval, none: 1 run, to run" in said
    assert "1 run in 1 setup: 0 (cached), 1 to run" in said
    assert "1 run computed, 1 evaluation in" in said
    nasbench(*asked, "--method", "local", "--store", store)
    texts = [nasbench("status", store).out, nasbench("show-run", store, "local", "hpolib-naval", 0).out]
    texts += [nasbench("report", store, "--out", out, "--format", "md,html").out]
    texts += [path.read_text() for path in out.iterdir()]
    several = r"(?<![\d.,])1 (?:failed )?(?:run|pair|setting|evaluation|setup|seed|benchmark|file|row|method|epoch)s\b"
    assert [re.findall(f".*{several}.*", text) for text in texts] == [[] for _ in texts]


def test_status_says_how_to_finish(nasbench: Command, tmp_path: Path) -> None:
    store = tmp_path / "s"
    nasbench(*RUN, "--seeds", 4, "--store", store)
    (path,) = store.glob("random*.parquet")
    path.write_bytes(path.read_bytes()[:-9])
    printed = nasbench("status", store)
    assert printed.code == 0
    assert "0/4   missing" in printed.out
    assert f"  nasbench run --method random --bench nb201-cifar10 --seeds 4 --evals 10 --store {store}\n" in printed.out
    assert "set aside" in printed.err
    assert nasbench(*RUN, "--seeds", 4, "--store", store).code == 0
    assert "4/4   complete" in nasbench("status", store).out


def test_show_run_says_that_the_file_of_its_run_is_damaged(nasbench: Command, tmp_path: Path) -> None:
    nasbench(*RUN, "--seeds", 1, "--store", tmp_path / "s")
    (path,) = (tmp_path / "s").glob("random*.parquet")
    path.write_bytes(path.read_bytes()[:-9])
    shown = nasbench("show-run", tmp_path / "s", "random", "nb201-cifar10", 0)
    assert (shown.code, f"{path} is set aside" in shown.err) == (2, True)


def test_the_json_of_a_report_stands_alone_and_what_is_missing_is_still_said(nasbench: Command, tmp_path: Path) -> None:
    store, out = tmp_path / "s", tmp_path / "report"
    for method in ("random", "evolution"):
        nasbench("run", "--method", method, *RUN[3:], "--seeds", 6, "--store", store)
    (path,) = store.glob("random*.parquet")
    path.write_bytes(path.read_bytes()[:-9])
    printed = nasbench("report", store, "--json", "--out", out)
    assert printed.code == 0
    assert json.loads(printed.out) == json.loads((out / "verdict.json").read_text())
    assert f"{path} is set aside" in printed.err
    assert f"files in {out}" in printed.err


def test_a_stale_store_is_told_and_superseded(
    nasbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nasbench.methods.random_search import RandomSearch

    nasbench(*RUN, "--seeds", 1, "--store", tmp_path / "s")
    monkeypatch.setattr(RandomSearch, "about", About(version=2))
    assert "stale" in nasbench("status", tmp_path / "s").out
    again = nasbench(*RUN, "--seeds", 1, "--store", tmp_path / "s")
    assert "1 run computed" in again.out
    assert "set aside" in again.err
    assert "1/1   complete" in nasbench("status", tmp_path / "s").out


def test_debug_shows_the_traceback(nasbench: Command) -> None:
    printed = nasbench("--debug", "show", "nothing")
    assert printed.code == 2
    assert "Traceback" in printed.err


def commands_of(group: click.Group, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    context = click.Context(group)
    found = [words]
    for name in group.list_commands(context):
        inner = group.get_command(context, name)
        found += commands_of(inner, (*words, name)) if isinstance(inner, click.Group) else [(*words, name)]
    return found


@pytest.mark.parametrize("words", commands_of(cli), ids=" ".join)
def test_every_help_text_fits_80_columns(nasbench: Callable[..., Printed], words: tuple[str, ...]) -> None:
    printed = nasbench(*words, "--help")
    assert printed.code == 0
    assert [line for line in printed.out.splitlines() if len(line) > 80] == []


# Reports of several stores, one run's page, fidelities


def test_report_takes_several_stores_and_formats(
    nasbench: Callable[..., Printed], small_store: Store, tmp_path: Path
) -> None:
    asked = [*SMALL, "--constrain", "model_size@0.5", "--seeds", "3:5", "--evals", 20, "--workers", 2]
    assert nasbench("run", *asked, "--store", tmp_path / "more").code == 0
    done = nasbench("report", small_store.folder, tmp_path / "more", "--out", tmp_path / "out", "--format", "csv,md")
    assert done.code == 0, done.err
    assert "10 runs of 20 evaluations on 2 workers" in " ".join(done.out.split())
    assert "\x1b" not in done.out
    assert "index.html" not in done.out.splitlines()[-1]
    assert (tmp_path / "out" / "report.md").exists()
    assert not (tmp_path / "out" / "ranks.svg").exists()
    refused = nasbench("report", small_store.folder, "--format", "docx")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "unknown format 'docx'" in refused.err
    assert "allowed: csv, html, json, latex, longtable, md, svg, tidy" in refused.err


def test_show_prints_one_run(nasbench: Callable[..., Printed], small_store: Store, tmp_path: Path) -> None:
    frame = pd.read_parquet(small_store.folder)
    method, bench = frame["method"].iloc[0], frame["bench"].iloc[0]
    done = nasbench("show-run", small_store.folder, method, bench, 1)
    assert done.code == 0, done.err
    assert f"{method} on {bench}, model_size@0.5, seed 1" in done.out
    assert nasbench("show-run", small_store.folder, method, bench, 1, "--constrain", "model_size@0.50").out == done.out
    assert nasbench("show-run", small_store.folder, method, bench, "x").code == 2
    one = tmp_path / "one"
    both = nasbench("show-run", small_store.folder, method, bench, 1, "--svg", one, "--page", one)
    assert (both.code, both.err) == (2, f"nasbench: --svg and --page both name {one}: give them two files\n")
    assert not one.exists()
    other = nasbench("show-run", small_store.folder, method, bench, 1, "--constrain", "none")
    assert "allowed: model_size@0.5" in other.err
    assert "METHOD BENCH SEED` shows a run" in nasbench("show", small_store.folder).err


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--svg", "--page"])
def test_files_of_a_run_are_written_beside_no_store_and_over_nothing_else(
    nasbench: Callable[..., Printed], tmp_path: Path, option: str
) -> None:
    store = tmp_path / "store"
    run = ("--method", "random", "--bench", "synthetic-cnn", "--seeds", 1, "--evals", 3, "--store", store)
    assert nasbench("run", *run).code == 0

    def asked(path: Path) -> Printed:
        return nasbench("show-run", store, "random", "synthetic-cnn", 0, option, path)

    inside = asked(store / "run.file")
    assert (inside.code, "lies inside the store" in inside.err) == (2, True)
    assert not (store / "run.file").exists()
    notes = tmp_path / "notes"
    notes.write_text("mine")
    over = asked(notes)
    assert (over.code, "is there already, with other contents" in over.err) == (2, True)
    assert notes.read_text() == "mine"
    below = asked(notes / "run.file")
    assert (below.code, f"cannot write {notes / 'run.file'}: " in below.err) == (2, True), below.err
    folder = asked(tmp_path)
    assert (folder.code, "choose another name" in folder.err) == (2, True)
    made = tmp_path / "made" / "run.file"
    assert asked(made).code == asked(made).code == 0  # what it has written it writes again
    assert made.read_bytes().startswith((b"<?xml", b"<!DOCTYPE html>"))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nb201-cifar10@12", "there is no nb201-cifar10@12; it has one fidelity only"),
        ("nb201-cifar10@x", "a number of epochs follows @, as in nb201-cifar10@12"),
        ("nb201-cifar1@12", "did you mean nb201-cifar10"),
    ],
)
def test_a_fidelity_that_is_not_there_is_said(nasbench: Callable[..., Printed], name: str, sentence: str) -> None:
    for words in (["show", name], ["run", "--method", "random", "--bench", name]):
        refused = nasbench(*words)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert sentence in refused.err


def test_a_budget_that_a_method_spends_at_random_is_warned_of(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    asked = ["run", "--bench", "hpolib-naval", "--seeds", 1, "--store", tmp_path / "s"]
    said = nasbench(*asked, "--method", "evolution:population=20", "--method", "random", "--evals", 20).err
    assert "the first 20 configurations of evolution:population=20 are random" in said
    assert "of random" not in said
    assert "are random" not in nasbench(*asked, "--method", "evolution:population=20", "--evals", 21).err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("closed", "arguments", "code"),
    [
        ("out", RUN, 141),
        ("both", RUN, 141),  # nasbench run … 2>&1 | head
        ("err", RUN, 0),
        ("both", ["nosuch"], 2),
    ],
)
def test_a_reader_that_goes_fails_no_run(closed: str, arguments: list[object], code: int, tmp_path: Path) -> None:
    """`nasbench run … | head` ends with a code of its own; standard error is written as long as somebody reads it."""
    told = subprocess.STDOUT if closed == "both" else subprocess.PIPE
    store = ["--seeds", "2", "--store", str(tmp_path / "store")] if arguments is RUN else []
    command = [sys.executable, "-m", "nasbench", *map(str, arguments), *store]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told) as process:
        assert process.stdout is not None
        (process.stderr if closed == "err" and process.stderr else process.stdout).close()
        assert process.wait() == code


def test_a_budget_too_small_for_one_evaluation_is_said_by_run_and_report(nasbench: Command, tmp_path: Path) -> None:
    store = tmp_path / "store"
    asked = ["--method", "random", "--method", "local", "--bench", "nb201-cifar10", "--budget-seconds", 60]
    done = nasbench("run", *asked, "--seeds", 5, "--store", store)
    assert done.code == 0
    assert "10 runs computed, 0 evaluations" in done.out
    assert (
        "notice: none of these runs has an evaluation: the budget is too small for one, or every run failed" in done.err
    )
    told = nasbench("report", store, "--out", tmp_path / "report")
    assert (told.code, told.err) == (0, "")
    assert "No run has an evaluation: the budget is too small for one, or every run failed" in told.out


@pytest.mark.slow
def test_an_output_that_lacks_a_letter_gets_its_number(tmp_path: Path) -> None:
    """Files are in place by then: the letter must not make an error of the command."""
    environment = os.environ | {"PYTHONIOENCODING": "latin-1", "COLUMNS": "80"}
    command = [sys.executable, "-m", "nasbench", "show", "hyperband"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u03b7" in done.stdout  # eta
