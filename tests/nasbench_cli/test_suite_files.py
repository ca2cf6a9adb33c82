"""Suites: what a file says is run, what is wrong in it is named by line and key, parts of it can be left out."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import click
import pandas as pd
import pytest

from nasbench.benchmarks import BENCHMARKS, UsageError
from nasbench.benchmarks.images import ImageBenchmark
from nasbench.benchmarks.spaces import Float, Integer, ParameterSpace
from nasbench.benchmarks.spaces.trainable.cells import CellSpace
from nasbench.benchmarks.surrogate.scenarios import LCBENCH
from nasbench.benchmarks.surrogate.yahpo import SurrogateBenchmark
from nasbench.cli.commands.plan import plan
from nasbench.cli.commands.run import run
from nasbench.cli.engine import suites as suites_module
from nasbench.cli.engine.keys import KEYS, asked_grid
from nasbench.cli.engine.plan import expand
from nasbench.cli.engine.suite_files import lasting
from nasbench.cli.engine.suites import load_suite
from nasbench.methods import About
from nasbench.results import Store
from tests.conftest import Lend, Printed
from tests.methods.libraries import LIBRARIES

Command = Callable[..., Printed]


def test_a_suite_runs_every_grid(nasbench: Command, tmp_path: Path) -> None:
    suite = tmp_path / "mine.toml"
    suite.write_text(
        'title = "Mine"\nmethods = ["random"]\nseeds = "2:4"\nevals = 5\ncheckpoints = [2, 5]\nbaseline = "random"\n'
        '[[grid]]\nbenchmarks = ["nb201-cifar10"]\nconstraints = ["none", "model_size@0.1+latency@0.50"]\n'
        '[[grid]]\nbenchmarks = ["hpobench-car"]\nmethods = ["evolution:population=2,tournament=1"]\nworkers = 2\n'
    )
    assert nasbench("run", "--suite", suite, "--store", tmp_path / "s").code == 0
    frame = pd.read_parquet(tmp_path / "s")
    setups = set(zip(frame["method"], frame["bench"], frame["constraint"], strict=True))
    assert setups == {
        ("random", "nb201-cifar10", "none"),
        ("random", "nb201-cifar10", "latency@0.5+model_size@0.1"),
        ("evolution:population=2,tournament=1", "hpobench-car", "none"),
    }
    assert set(frame["seed"]) == {2, 3}


WHOLE = 'methods = ["random"]\nbenchmarks = ["nb201-cifar10"]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("methods = [\nrandom]", r"is not TOML: .*line 2"),
        ('methods = ["random"]\nbenchs = ["nb201-cifar10"]', r"line 2: benchs: unknown key .*did you mean benchmarks"),
        ('methods = ["random"]', "lacks the key benchmarks: a list with at least one item, each text in .quotes."),
        (
            'methods = "random"\nbenchmarks = ["nb201-cifar10"]',
            r"line 1: methods: must be a list with at least one item, each text",
        ),
        ('benchmarks = ["nb201-cifar10"]\nmethods = ["rnadom"]', r"line 2: methods: unknown method 'rnadom'"),
        ('methods = ["random"]\nbenchmarks = ["x"]', r"line 2: benchmarks: unknown benchmark 'x'"),
        (WHOLE + "\nseeds = 0", r"line 4: seeds: seeds 0 must be a count"),
        (WHOLE + 'evals = "5"', r"line 3: evals: must be a whole number, not "),
        (WHOLE + "evals = true", r"line 3: evals: must be a whole number, not "),
        (WHOLE + "evals = -1", r"line 3: evals: evals must lie in"),
        (WHOLE + 'constraints = ["a"]', r"line 3: constraints: .*malformed"),
        (WHOLE + "checkpoints = [0]", r"line 3: checkpoints: .*at least 1"),
        (WHOLE + 'baseline = "x"', r"line 3: baseline: unknown method 'x'"),
        ("grid = 3", "line 1: grid: must be tables"),
        ("grid = []", "line 1: grid: must be tables"),
        (WHOLE + "baseline = 3", r"line 3: baseline: must be text in .quotes., not 3"),
        (WHOLE + 'baseline = "evolution"', r"line 3: baseline: unknown method of this suite .*allowed: random"),
        (
            WHOLE + "\nconstraints = ['modelsize@0.1']",
            r"line 4: constraints: unknown metric of nb201-cifar10 'modelsize'",
        ),
        (
            WHOLE + "constraints = ['model_size<=0']",
            r"line 3: constraints: no configuration of nb201-cifar10 satisfies",
        ),
        (
            WHOLE + "\n[[grid]]\nseeds = 1\nmethods = ['darts']",
            r"nasbench: darts does not run on nb201-cifar10: it trains a supernet",
        ),
        (
            WHOLE + "constraints = [['none', 'model_size@0.1']]",
            r"line 3: constraints: must be a list with at least one item, each text",
        ),
        (WHOLE + "constraints = ['none+model_size@0.1']", r"line 3: constraints: .*malformed"),
        (
            'benchmarks = ["nb201-cifar10"]\nmethods = ["random", "local"]\nlabels = { local = "random" }',
            "line 3: labels: would call two methods 'random'",
        ),
        (WHOLE + 'labels = { random = " " }', "line 3: labels: a method cannot be labelled ' '"),
        (WHOLE + 'labels = { random = "\\u001bx" }', r"line 3: labels: a method cannot be labelled '\\x1bx'"),
        (
            WHOLE + 'title = "\\u001bx"',
            r"line 3: title: must be one line of printable text, but its character U\+001B \(a control character\)",
        ),
        (WHOLE + 'title = "a\\u200fb"', r"but its character U\+200F \(right-to-left mark\) cannot be printed"),
        (WHOLE + 'title = "a\\nb"', "must be one line of printable text, but it has several lines"),
        (WHOLE + 'title = "a\\n"', "must be one line of printable text, but it has several lines"),
        (WHOLE + 'score = "share"', "line 3: score: must be another one where there is one objective"),
        (WHOLE + "workers = 0", r"line 3: workers: workers must lie in"),
        (WHOLE + "budget_seconds = -1", r"line 3: budget_seconds: budget-seconds must be above 0"),
        (WHOLE + "evals = 5\ncheckpoints = [9]", r"line 4: checkpoints: must lie within the evals \(5\), not \[9\]"),
        (WHOLE + "evals = 5\ncheckpoints = [4, 5, 6]", r"line 4: checkpoints: .* the evals \(5\), not \[6\]"),
        (WHOLE + "[[grid]]\nseeds = 2\n\n[[grid]]\nevals = 3\nseeds = 0", r"line 8: seeds: seeds 0 must be a count"),
        ('[[grid]]\ntitle = "x"', "line 2: title: unknown key of a grid"),
    ],
)
def test_a_wrong_suite_is_named_with_line_and_key(nasbench: Command, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "suite.toml"
    path.write_text(text)
    printed = nasbench("run", "--suite", path, "--store", tmp_path / "s")
    assert printed.code == 2
    assert re.search(said, printed.err), printed.err
    assert printed.err.count("\n") == 1
    assert not (tmp_path / "s").exists()


def test_all_data_that_a_suite_lacks_are_named_at_once(
    nasbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lend: Lend
) -> None:
    monkeypatch.setattr(
        BENCHMARKS, "advice", {"far-": ("it is far", "fetch far"), "away-": ("it is away", "fetch away")}
    )
    path = tmp_path / "suite.toml"
    names = 'benchmarks = ["nb201-cifar10", "far-1"]\n[[grid]]\nbenchmarks = ["far-2", "away-1", "x"]\n[[grid]]\n'
    path.write_text('methods = ["random"]\n' + names)
    printed = nasbench("plan", path)
    assert printed.code == 2
    assert "line 4: benchmarks: benchmark 'far-2' is not here: it is far, fetch far; the suite" in printed.err
    assert printed.err.endswith("; the suite needs more that is not here: fetch away\n")
    path.write_text('methods = ["random"]\nbenchmarks = ["far-1", "far-2"]')
    assert nasbench("plan", path).err.endswith("is not here: it is far, fetch far\n")


def test_methods_of_a_suite_can_be_left_out_and_its_cost_is_said(
    nasbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nasbench.methods.random_search import RandomSearch

    path = tmp_path / "suite.toml"
    path.write_text(WHOLE.replace('["random"]', '["random", "evolution:population=5"]') + "evals = 10\nseeds = 3")
    monkeypatch.setattr(RandomSearch, "about", About(seconds=60.0))
    printed = nasbench("run", "--suite", path, "--store", tmp_path / "a")
    estimate = "estimated: 30.0 min with --jobs 1 on an otherwise idle machine (random 30.0 min)"
    assert f"{estimate}; --without NAME leaves a method out" in printed.out
    for name in ("random", "evolution"):
        printed = nasbench("run", "--suite", path, "--store", tmp_path / name, "--without", name)
        assert printed.code == 0
        assert name not in set(pd.read_parquet(tmp_path / name)["method"].str.partition(":")[0])
    printed = nasbench("run", "--suite", path, "--without", "ax")
    assert (printed.code, printed.err.count("\n")) == (2, 1)
    assert "unknown method of this suite 'ax'" in printed.err
    one = ["run", "--method", "random", "--bench", "nb201-cifar10", "--evals", 10]
    assert nasbench(*one, "--without", "random").code == 2
    everything = nasbench("run", "--suite", path, "--without", "random", "--without", "evolution")
    assert (everything.code, "leaves no method" in everything.err) == (2, True)


def test_a_suite_goes_by_its_name_too(nasbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "mine.toml").write_text(WHOLE + "evals = 5")
    (tmp_path / "suites" / "._mine.toml").write_bytes(b"\x00\xff")  # as macOS leaves it on a share
    monkeypatch.chdir(tmp_path)
    assert "._mine" not in nasbench("list", "suites").out
    assert nasbench("run", "--suite", "mine").code == 0
    assert (tmp_path / "runs" / "mine").is_dir()
    moved = (tmp_path / "runs" / "mine").rename(tmp_path / "moved")
    next(moved.glob("random*.parquet")).unlink()
    assert f"nasbench run --suite {tmp_path}/suites/mine.toml --store moved\n" in nasbench("status", "moved").out


def test_a_folder_with_the_name_of_a_suite_does_not_hide_it(
    nasbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("smoke").mkdir()  # as `--store smoke` makes
    assert nasbench("plan", "smoke").code == 0


def test_a_binary_suite_is_refused(nasbench: Command, tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    path.write_bytes(b"\xff\xfe\x00")
    assert "is not a text file" in nasbench("run", "--suite", path).err


class Absent(SurrogateBenchmark):
    """A surrogate whose files are not here: to plan it takes no answer of it."""

    space = ParameterSpace([Float("learning_rate", 1e-4, 0.1, log=True), Integer("num_layers", 1, 5)])


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[2] / "suites").glob("*.toml")), ids=lambda p: p.stem)
def test_every_suite_of_ours_is_readable_and_fits(path: Path, monkeypatch: pytest.MonkeyPatch, lend: Lend) -> None:
    monkeypatch.setattr(ImageBenchmark, "make_ready", lambda benchmark: None)  # the images may be absent
    monkeypatch.setattr(CellSpace, "pool", 30)  # size classes are drawn from 900 networks for each data set
    for task in LCBENCH.families:
        lend(BENCHMARKS, f"lcbench-{task}", partial(Absent, LCBENCH, task))
    try:
        suite = load_suite(path)
    except UsageError as error:
        assert "is a published table, nasbench data fetch " in str(error) or "nasbench data fetch yahpo-" in str(error)
        pytest.skip(str(error))
    assert suite.title
    # Peers whose library is not installed cannot be built here; everything else must fit.
    peers = [name for name, library in LIBRARIES.items() if importlib.util.find_spec(library) is None]
    named = {spec.name for grid in suite.grids for spec in grid.methods}
    if not named - {*peers}:
        pytest.skip(f"needs {', '.join(named)}")
    assert expand(suite.without([name for name in peers if name in named]).grids)


def test_a_suite_of_ours_is_found_by_its_name_and_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("smoke", "smoke.toml", "suites/smoke", "suites/smoke.toml"):
        assert load_suite(Path(name)).title.startswith("Smoke"), name
    (tmp_path / "smoke.toml").write_text('title = "own"\nmethods = ["random"]\nbenchmarks = ["nb201-cifar10"]\n')
    assert load_suite(Path("smoke.toml")).title == "own"
    assert load_suite(Path("smoke")).title.startswith("Smoke")


def test_every_key_of_a_grid_is_an_option_of_run_and_plan() -> None:
    options = {
        command.name: {p.name: (p.opts, p.multiple) for p in command.params if isinstance(p, click.Option)}
        for command in (run, plan)
    }
    for key in KEYS:
        assert options["run"][key.name] == options["plan"][key.name] == ([key.option], key.several)


def test_options_and_a_file_with_the_same_values_are_the_same_setups(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        'methods = ["random", "evolution:population=5"]\nbenchmarks = ["hpolib-naval"]\nseeds = "2:4"\n'
        'constraints = ["train_time@0.5+valid-mse<=1"]\nbudget_seconds = 60\nworkers = 3\ncharge_thinking = true\n'
    )
    values = {"methods": ["random", "evolution:population=5"], "benchmarks": ["hpolib-naval"], "seeds": "2:4"}
    together = ["valid-mse<=1", "train_time@0.5"]
    grid = asked_grid(**values, constraints=[together], budget_seconds=60, workers=3, charge_thinking=True)
    assert grid == load_suite(tmp_path / "s.toml").grids[0]


def test_a_plan_of_options_is_that_of_the_suite_with_them(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('methods = ["random"]\nbenchmarks = ["hpolib-naval"]\nseeds = 3\nevals = 5\n')
    asked = ["--method", "random", "--bench", "hpolib-naval", "--seeds", 3, "--evals", 5]
    store = ["--store", tmp_path / "s"]
    plans = [nasbench("plan", *words, *store) for words in ([tmp_path / "s.toml"], asked)]
    assert plans[0].out == plans[1].out
    assert "3 runs, 0 of them in" in plans[0].out


def test_the_recorded_command_has_what_was_given_and_works_from_any_folder(
    nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NASBENCH_DATA", "elsewhere")
    Path("data").mkdir()
    Path("own.toml").write_text('methods = ["random", "local"]\nbenchmarks = ["hpolib-naval"]\nevals = 5\n')
    grid = ["--method", "random", "--method", "local", "--bench=hpolib-naval", "--budget-seconds", "60", "--workers", 1]
    assert nasbench("run", *grid, "--charge-thinking", "--store", "one", "--data-dir", "data").code == 0
    assert nasbench("run", "--suite", "own.toml", "--store=two", "--without", "local", "--shard", "1/1").code == 0
    commands = [plan["command"] for name in ("one", "two") for plan in Store.open(Path(name)).plans()]
    assert commands == [
        "nasbench run --method random --method local --bench hpolib-naval --budget-seconds 60 --workers 1 "
        f"--charge-thinking --data-dir {tmp_path}/data",
        f"nasbench run --without local --suite {tmp_path}/own.toml --shard 1/1",
    ]


def test_a_suite_is_recorded_under_a_name_that_means_it_from_any_folder(
    nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (lasting(Path("quick")), lasting(Path("suites/quick.toml")), lasting(Path("absent"))) == (
        "quick",
        "quick",
        "absent",
    )
    Path("suites").mkdir()
    Path("suites/quick.toml").write_text('methods = ["random"]\nbenchmarks = ["hpolib-naval"]\nevals = 5\nseeds = 1\n')
    assert nasbench("run", "--suite", "quick", "--store", "own").code == 0
    assert Store.open(Path("own")).plans()[0]["command"] == f"nasbench run --suite {tmp_path}/suites/quick.toml"


def test_suites_of_your_own_stand_beside_those_of_nasbench(
    nasbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "v1.2.toml").write_text(WHOLE + "evals = 3\nseeds = 1\n")
    (tmp_path / "suites" / "quick.toml").write_text('title = "My own quick"\n' + WHOLE)
    listed = nasbench("list", "suites").out
    assert "v1.2" in listed
    assert "My own quick" in listed
    assert "wide                needs tables that are not here: nasbench plan wide names" in listed
    assert "allowed: " in (said := nasbench("run", "--suite", "quik").err)
    assert "wide" in said
    assert nasbench("run", "--suite", "v1.2").code == 0
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["v1.2"]


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[2] / "suites").glob("*.toml")), ids=lambda p: p.stem)
def test_every_suite_of_ours_is_read_whole_also_where_its_tables_are_not_here(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = tuple(replace(key, parse=str) if key.name == "benchmarks" else key for key in suites_module.KEYS)
    monkeypatch.setattr(suites_module, "KEYS", keys)
    assert load_suite(path).grids
