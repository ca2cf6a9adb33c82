"""What somebody gets wrong at first: refused before anything is done, or done although the shell was unkind."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasbench.benchmarks import Evaluation
from nasbench.cli.engine.evaluations import attempt
from nasbench.results import Store
from tests.benchmarks.small_table import CSV, SPEC
from tests.conftest import Printed, at_most
from tests.nasbench_cli import toys

Command = Callable[..., Printed]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder with a table and a specification, in which every command of this process has five seconds."""
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(CSV)
    (tmp_path / "s.toml").write_text(SPEC)
    os.mkfifo(tmp_path / "pipe.csv")
    with at_most(5.0):
        yield


def shell(line: str) -> Printed:
    """A command line in a shell, and a process, of its own."""
    asked = f"'{sys.executable}' -m nasbench {line}"
    done = subprocess.run(["sh", "-c", asked], capture_output=True, text=True, env=os.environ | {}, check=False)
    return Printed(done.returncode, done.stdout, done.stderr)


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in a folder of their own find this checkout."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))


@pytest.mark.parametrize("name", ["digits", "medmnist-path", "synthetic-mlp", "hpolib-naval", "random"])
def test_a_table_under_the_name_of_another_benchmark_is_not_imported(
    name: str, nasbench: Command, tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text(SPEC.replace('"mine"', f'"{name}"'))
    (tmp_path / "t.csv").write_text(CSV if name == "random" else "no table: it has not been looked at")
    refused = nasbench("import", "table", "t.csv", "--spec", "s.toml")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    said = (
        "is the name of a method" if name == "random" else f"name = '{name}' in s.toml is the name of another benchmark"
    )
    assert said in refused.err
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
def test_a_table_that_has_the_name_of_another_benchmark_is_named_and_breaks_nothing(
    nasbench: Command, tmp_path: Path
) -> None:
    for name in ("mine", "taken"):
        (tmp_path / "s.toml").write_text(SPEC.replace('"mine"', f'"{name}"'))
        assert nasbench("import", "table", "t.csv", "--spec", "s.toml").code == 0
    folder = tmp_path / "data" / "tables" / "digits"
    (tmp_path / "data" / "tables" / "taken").rename(folder)  # as an earlier version would have accepted it
    shown = shell("show synthetic-mlp")
    assert shown.code == 0
    assert f"notice: the imported table in {folder} is left out: digits is another benchmark's name" in shown.err
    assert "\nmine " in shell("list benchmarks").out.replace("\n  ", "\n")
    assert shell("show digits").out.startswith("digits (live")
    assert shell("run --bench mine --method random --seeds 1 --evals 1 --store store").code in (0, 1)
    assert Store.open(tmp_path / "store").runs()


@pytest.mark.parametrize(
    "command",
    [
        "import table pipe.csv --spec s.toml",
        "import table t.csv --spec pipe.csv",
        "import table /dev/zero --spec s.toml",
        "import columns pipe.csv --onto nb201-cifar10 --key x",
        "import taskset pipe.csv",
        "import nas-bench-101 pipe.csv",
        "import nas-bench-201 pipe.csv",
        "import nats-bench-size pipe.csv",
        "run --bench mlp:pipe.csv:x --method random",
        "plan pipe.csv",
    ],
)
def test_what_is_no_regular_file_is_refused_and_not_waited_for(command: str, nasbench: Command, tmp_path: Path) -> None:
    refused = nasbench(*command.split())
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert " is not a regular file" in refused.err
    assert not (tmp_path / "data").exists()


def test_a_small_file_that_unpacks_to_many_rows_is_refused(nasbench: Command, tmp_path: Path) -> None:
    import gzip

    head, row = CSV.splitlines(keepends=True)[:2]
    with gzip.open(tmp_path / "rows.csv.gz", "wt", compresslevel=1) as file:
        file.write(head)
        for _ in range(25):
            file.write(row * 100_000)
    refused = nasbench("import", "table", "rows.csv.gz", "--spec", "s.toml")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "rows.csv.gz has more than 2,000,000 rows, which is the limit" in refused.err


def test_a_cost_beyond_all_measure_is_refused_without_a_warning(nasbench: Command, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV.replace(",5,", ",1e308,"))
    refused = nasbench("import", "table", "t.csv", "--spec", "s.toml")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "time is 1e+308 in row 3 of t.csv: a number is at most 1e+100 in size" in refused.err


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["2>&-", "0<&- 1>&- 2>&-"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_closed_stream_stops_no_run_and_gets_into_no_file(closed: str, jobs: int, tmp_path: Path) -> None:
    asked = "run --bench nb201-cifar10 --method random --method evolution --seeds 2 --evals 5"
    assert shell(f"{asked} --store open").code == 0
    done = shell(f"{asked} --jobs {jobs} --store closed {closed}")
    assert done.code == 0
    assert ("4 runs computed" in done.out) == ("1>&-" not in closed)
    assert shell("status closed").out.splitlines()[-1] == shell("status open").out.splitlines()[-1]


def test_a_report_whose_second_export_was_refused_can_be_repeated(
    small_store: Store, nasbench: Command, tmp_path: Path
) -> None:
    pytest.importorskip("optuna")
    asked = ["report", small_store.folder, "--format", "csv", "--optuna", "runs.log", "--ioh", "ioh"]
    (tmp_path / "ioh").write_text("a file")
    refused = nasbench(*asked)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert not (tmp_path / "runs.log").exists()
    assert not (tmp_path / "report").exists()
    (tmp_path / "ioh").unlink()
    for _ in range(2):
        assert nasbench(*asked).code == 0


@pytest.mark.parametrize(
    ("metrics", "cost", "reason"),
    [
        ((1e308, 1.0), 1.0, "a metric or the cost is 1e+308: a value is at most 1e+100 in size"),
        ((1.0, -1e101), 1.0, "a metric or the cost is -1e+101: a value is at most 1e+100 in size"),
        ((1.0, 1.0), 1e308, "a metric or the cost is 1e+308: a value is at most 1e+100 in size"),
    ],
)
def test_a_value_beyond_all_measure_is_a_failed_evaluation(
    metrics: tuple[float, ...], cost: float, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = dict(zip(("loss", "size"), metrics, strict=True))
    monkeypatch.setattr(toys.Toy, "evaluate", lambda *_: Evaluation(values, cost))
    found = attempt(toys.Toy(), (0, 0, 0, 0), 0)
    assert (found.status, found.reason) == ("failed", reason)
    assert found.cost <= 1


@pytest.mark.parametrize(
    ("loss", "cost", "reason"),
    [
        (np.array([1.5]), 1.0, "ValueError: its loss is array([1.5]), which is no number"),
        ("1.5", 1.0, "ValueError: its loss is '1.5', which is no number"),
        (None, 1.0, "ValueError: its loss is None, which is no number"),
        (1.5, "7 s", "ValueError: its cost is '7 s', which is no number"),
    ],
)
def test_what_is_no_number_is_named(loss: Any, cost: Any, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toys.Toy, "evaluate", lambda *_: Evaluation({"loss": loss, "size": 1.0}, cost))
    found = attempt(toys.Toy(), (0, 0, 0, 0), 0)
    assert (found.status, found.reason.partition(" (")[0], found.cost <= 1) == ("failed", reason, True)


@pytest.mark.parametrize("loss", [np.float32(1.5), np.array(1.5), Fraction(3, 2)])
def test_numbers_of_other_types_are_numbers(loss: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toys.Toy, "evaluate", lambda *_: Evaluation({"loss": loss, "size": True}, np.int64(2)))
    assert attempt(toys.Toy(), (0, 0, 0, 0), 0) == Evaluation({"loss": 1.5, "size": 1.0}, 2.0)


@pytest.mark.parametrize(("cost", "charged"), [(7.0, 7.0), (1e308, 0.0)])
def test_a_value_beyond_all_measure_costs_what_it_took(
    cost: float, charged: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toys.Toy, "evaluate", lambda *_: Evaluation({"loss": 1e308, "size": 1.0}, cost))
    assert attempt(toys.Toy(), (0, 0, 0, 0), 0).cost == charged


def test_an_infinite_metric_beside_the_objective_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toys.Toy, "evaluate", lambda *_: Evaluation({"loss": 1.0, "size": math.inf}, 1.0))
    found = attempt(toys.Toy(), (0, 0, 0, 0), 0)
    assert (found.status, found.metrics["size"]) == ("ok", math.inf)
