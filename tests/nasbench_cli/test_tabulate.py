"""Tables of live benchmarks: made, continued, made in parts, and imported."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nasbench.base.faults import DeviceLost
from nasbench.benchmarks import BENCHMARKS, Evaluation, Level, Metric, open_benchmark
from nasbench.benchmarks.images.curves import TrainingCurves
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.commands import progress
from nasbench.cli.engine import tabulate as tabulate_module
from nasbench.cli.engine.tabulate import Written, tabulate
from tests.conftest import Lend, Printed
from tests.nasbench_cli import toys
from tests.nasbench_cli.digit_tables import BENCH, records

pytest.importorskip("torch")
pytest.importorskip("sklearn")


CELL = [f"Op{k}" for k in range(6)]


@pytest.mark.usefixtures("forking")
def test_a_table_is_made_continued_and_imported(
    nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "made" / "digits"
    command = ["tabulate", "digits/nasbench201/table@2", "--out", out]
    first = nasbench(*command, "--sample", 1, "--repetitions", 2)
    assert first.code == 0, first.err
    assert "2 evaluations, 0 (cached), 2 to run" in first.out
    done = nasbench(*command, "--sample", 3, "--jobs", 2)
    assert "3 evaluations, 1 (cached), 2 to run" in done.out
    assert f"nasbench import table {out}.csv --spec {out}.toml" in done.out
    table = pd.read_csv(out.with_suffix(".csv"))
    assert len(table) == 3
    part = out.with_suffix(".jsonl")
    with part.open("a") as file:
        file.write('{"check":"00000000","configura')  # killed in mid-write
    again = nasbench(*command, "--sample", 3)
    assert "3 evaluations, 3 (cached), 0 to run" in again.out
    assert pd.read_csv(out.with_suffix(".csv")).equals(table)
    lines = part.read_text().splitlines(keepends=True)
    damaged = next(i for i, line in enumerate(lines) if '"repetition":0' in line)
    lines[damaged] = lines[damaged].replace('"metrics":[', '"metrics":[1')  # another number
    part.write_text("".join(lines))
    mended = nasbench(*command, "--sample", 3)
    assert "3 evaluations, 2 (cached), 1 to run" in mended.out
    remade = pd.read_csv(out.with_suffix(".csv"))
    assert remade.drop(columns=["train_time", "evaluation_time"]).equals(
        table.drop(columns=["train_time", "evaluation_time"])
    )
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))
    script = (
        "from nasbench.cli.main import main\nimport sys\n"
        f"sys.argv = ['nasbench', 'import', 'table', '{out}.csv', '--spec', '{out}.toml']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "from nasbench.benchmarks import open_benchmark\n"
        "whole, early = (open_benchmark(f'digits-nasbench201-table-2{at}') for at in ('', '@1'))\n"
        "print([sorted(b.values[:, 0, 0].tolist()) for b in (whole, early)])\n"
        "print([m.name for m in early.metrics], whole.fidelities)\n"
    )
    imported = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert imported.returncode == 0, imported.stderr
    said, values, rest = imported.stdout.splitlines()[0], *imported.stdout.splitlines()[-2:]
    assert "digits-nasbench201-table-2: 3" in said
    assert json.loads(values) == [sorted(remade["val-error@2"]), sorted(remade["val-error@1"])]
    assert "val-auc" not in rest  # it is measured at the end only
    assert rest.endswith("(1, 2)")


def test_one_of_each_class_is_trained_and_its_scores_are_those_of_all(
    nasbench: Callable[..., Printed], tmp_path: Path, asked: list[tuple[Configuration, int]]
) -> None:
    out = tmp_path / "digits"
    done = nasbench("tabulate", BENCH, "--sample", 400, "--repetitions", 2, "--out", out)
    assert done.code == 0, done.err
    table = pd.read_csv(out.with_suffix(".csv"))
    benchmark = open_benchmark(BENCH)
    first = [
        benchmark.canonical(benchmark.space.from_values(dict(zip(CELL, values, strict=True))))  # type: ignore[attr-defined]
        for values in table[CELL].itertuples(index=False)
    ]
    table["first"] = [benchmark.space.to_json(cell) for cell in first]
    alike = table.groupby(["class", "repetition"])
    assert (alike[["first", "val-error@2", "test-error@1"]].nunique() == 1).all(axis=None)
    assert table.groupby("first")["class"].nunique().max() == 1
    assert table["class"].nunique() < len(table) / 2  # some cells share theirs
    trained = [configuration for configuration, _ in asked]
    assert set(trained) == set(first)
    assert len(trained) == 2 * len(set(first))
    assert len({seed for _, seed in asked}) == len(asked)
    assert f"{table['class'].nunique() + 1} differ" in done.out  # the dead ones are one class
    assert "infeasible, and left out" in done.err
    assert 'space = "nasbench201"' in out.with_suffix(".toml").read_text()


def test_a_longer_training_has_other_seeds(
    nasbench: Callable[..., Printed], tmp_path: Path, asked: list[tuple[Configuration, int]]
) -> None:
    """Else two tables would agree for the sake of the same first parameters."""
    for epochs in (2, 4):
        nasbench("tabulate", f"digits/nasbench201/table@{epochs}", "--sample", 3, "--out", tmp_path / str(epochs))
    short, long = asked[: len(asked) // 2], asked[len(asked) // 2 :]
    assert [cell for cell, _ in short] == [cell for cell, _ in long]
    assert not {seed for _, seed in short} & {seed for _, seed in long}


def test_shards_that_lie_together_are_one_table(
    nasbench: Callable[..., Printed], tmp_path: Path, asked: list[tuple[Configuration, int]]
) -> None:
    command = ["tabulate", BENCH, "--sample", 60, "--repetitions", 2]
    nasbench(*command, "--out", tmp_path / "whole")
    evaluations = len(asked)
    here, there = tmp_path / "here", tmp_path / "there"
    first = nasbench(*command, "--out", here / "t", "--shard", "1/2")
    assert first.code == 0
    assert "evaluations of other shards are missing" in first.out
    assert not (here / "t.csv").exists()
    nasbench(*command, "--out", there / "t", "--shard", "2/2")
    assert len(asked) == 2 * evaluations
    (there / "t.2-of-2.jsonl").rename(here / "t.2-of-2.jsonl")
    joined = nasbench(*command, "--out", here / "t", "--shard", "1/2")
    assert joined.code == 0
    assert len(asked) == 2 * evaluations  # nothing is made twice
    assert (here / "t.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    parts = [here / "t.1-of-2.jsonl", here / "t.2-of-2.jsonl"]
    (tmp_path / "one.jsonl").write_bytes(b"".join(part.read_bytes() for part in parts))  # or one after the other
    nasbench(*command, "--out", tmp_path / "one")
    assert len(asked) == 2 * evaluations
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_the_first_seed_of_all_comes_before_the_second(
    nasbench: Callable[..., Printed], tmp_path: Path, asked: list[tuple[Configuration, int]]
) -> None:
    nasbench("tabulate", BENCH, "--sample", 20, "--repetitions", 3, "--out", tmp_path / "t")
    numbers = [record["repetition"] for record in records(tmp_path / "t.jsonl")]
    assert numbers == sorted(numbers)
    assert set(numbers) == {0, 1, 2}


def test_parts_of_another_benchmark_are_left_alone(
    nasbench: Callable[..., Printed], tmp_path: Path, asked: list[tuple[Configuration, int]]
) -> None:
    nasbench("tabulate", BENCH, "--sample", 3, "--out", tmp_path / "t")
    before = (tmp_path / "t.jsonl").read_bytes()
    other = nasbench("tabulate", "digits/nasbench201/table@4", "--sample", 3, "--out", tmp_path / "t")
    assert other.code == 2
    assert f"holds evaluations of {BENCH}" in other.err
    assert (tmp_path / "t.jsonl").read_bytes() == before
    (tmp_path / "u.jsonl").write_text("a note of mine\n")
    foreign = nasbench("tabulate", BENCH, "--sample", 3, "--out", tmp_path / "u")
    assert foreign.code == 2
    assert "is no journal of a table" in foreign.err
    assert (tmp_path / "u.jsonl").read_text() == "a note of mine\n"
    nasbench("tabulate", BENCH, "--sample", 4, "--shard", "1/2", "--out", tmp_path / "v.2")
    (tmp_path / "v.csv").write_text("numbers of mine\n")
    beside = nasbench("tabulate", BENCH, "--sample", 3, "--out", tmp_path / "v")  # v.2.1-of-2.jsonl is no shard of v
    assert (beside.code, "v.csv is there, and no evaluations of its own" in beside.err) == (2, True)
    assert (tmp_path / "v.csv").read_text() == "numbers of mine\n"


def test_progress_says_how_long_it_will_take(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    shown = progress.Progress(4, "evaluations")
    now[0] = 40.0
    shown.advance(1)
    assert capsys.readouterr().err == "1 of 4 evaluations, about 2.0 min left\n"


def test_after_a_failed_device_another_process_computes_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole = TrainingCurves.evaluate
    begun: list[int] = []
    handed: list[int] = []

    def evaluate(self: TrainingCurves, configuration: Configuration, seed: int, *others: Any) -> Evaluation:
        begun.append(seed)
        if len(begun) == 2:
            raise DeviceLost("the device has failed")
        return whole(self, configuration, seed, *others)

    def elsewhere(evaluate: Any, tasks: list[Any], jobs: int) -> Any:
        handed.append(len(tasks))
        yield from ((task, evaluate(task)) for task in tasks)

    monkeypatch.setattr(TrainingCurves, "evaluate", evaluate)
    monkeypatch.setattr(tabulate_module, "in_processes", elsewhere)
    *_, written = tabulate(BENCH, 3, 1, tmp_path / "x", 1, None)
    assert isinstance(written, Written)
    assert written.rows == 3
    assert (len(begun), handed) == (4, [2])
    assert "the device has failed; another process repeats it" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["digits"], "a table needs a grid, and the space of digits is none"),
        (["nb201-cifar10"], "trains nothing (table)"),
        (["digits/nasbench201", "--sample", "20000"], "sample must lie in [1, 15,625]"),
        (["digits/nasbench201", "--sample", "0"], "sample must lie in [1, 15,625]"),
        (["digits/nasbench201", "--shard", "3/2"], "must be i/n with 1 <= i <= n"),
        (["digits/resnet18"], "nothing to choose"),
        (["digits/genetic"], "has 524,288 configurations"),
        (["digits/nasbench201", "--sample", "some"], "must be a number of configurations, or all"),
        (["digits/nasbench201@0"], "@0"),
    ],
)
def test_tables_that_cannot_be_made_are_one_sentence(
    arguments: list[str], sentence: str, nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    done = nasbench("tabulate", *arguments, "--out", tmp_path / "x")
    assert done.code == 2
    assert sentence in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".csv", ".toml"])
def test_a_table_that_was_not_made_here_is_not_written_over(
    suffix: str, nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    mine = tmp_path / f"mine{suffix}"
    mine.write_text("my own")
    done = nasbench("tabulate", "digits/nasbench201", "--sample", "1", "--out", tmp_path / "mine")
    assert (done.code, f"{mine} is there" in done.err, mine.read_text()) == (2, True, "my own")
    assert list(tmp_path.iterdir()) == [mine]


@pytest.mark.parametrize("out", [".", "/"])
def test_a_table_without_a_name_is_refused(
    out: str, nasbench: Callable[..., Printed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = nasbench("tabulate", "digits/nasbench201", "--sample", "1", "--out", out)
    assert (done.code, f"names the table without its suffix, such as runs/table, not {out}" in done.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_shards_that_run_at_the_same_time_are_one_table(
    nasbench: Callable[..., Printed],
    tmp_path: Path,
    asked: list[tuple[Configuration, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second shard begins and ends while the first makes its first evaluation."""
    command = ["tabulate", BENCH, "--sample", 12, "--out", tmp_path / "a table"]
    whole, evaluate = TrainingCurves.evaluate, []

    def slow(*arguments: object) -> Evaluation:
        if not evaluate:
            evaluate.append(True)
            other = nasbench(*command, "--shard", "2/2")
            assert "evaluations of other shards are missing" in other.out
        return whole(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(TrainingCurves, "evaluate", slow)
    last = nasbench(*command, "--shard", "1/2")
    assert last.code == 0
    assert f"nasbench import table '{tmp_path}/a table.csv' --spec '{tmp_path}/a table.toml'" in last.out
    content = (tmp_path / "a table.csv").read_bytes()
    assert b"\r" not in content
    assert content.count(b"\n") == 13


class Split(toys.Live):
    """A live benchmark of one's own, whose objective says its split."""

    name = "toy-split"  # opened benchmarks are kept by name
    metrics = (Metric("valid-loss", "", split="valid"), Metric("size", "", cheap=True))

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        evaluation = super().measure(configuration, seed, upto, state)
        return evaluation._replace(
            metrics={"valid-loss": evaluation.metrics["loss"], "size": evaluation.metrics["size"]}
        )


def test_a_table_of_a_benchmark_of_ones_own_can_be_imported(
    nasbench: Callable[..., Printed], lend: Lend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lend(BENCHMARKS, "toy-split", Split)
    monkeypatch.setattr(BENCHMARKS, "_taken", BENCHMARKS._taken | {"toy-split"})  # as a plug-in's name is
    done = nasbench("tabulate", "toy-split", "--sample", 2, "--out", tmp_path / "t")
    assert done.code == 0, done.err
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))
    imported = nasbench("import", "table", tmp_path / "t.csv", "--spec", tmp_path / "t.toml")
    assert imported.code == 0, imported.err
    assert "toy-split-table: 2 of 2 configurations" in imported.out


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ((Metric("loss", ""),), "the objective loss of toy-split needs a split"),
        ((Metric("valid-loss", "", split="valid", cheap=True),), "is not known before training"),
        ((Metric("error", "", split="valid"),), "its name must begin with valid-"),
        ((Metric("valid-loss", "", split="valid"), Metric("digit1", "")), "would be called digit1: rename one"),
    ],
)
def test_what_could_not_be_imported_is_refused_before_anything_is_trained(
    metrics: tuple[Metric, ...],
    said: str,
    nasbench: Callable[..., Printed],
    lend: Lend,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lend(BENCHMARKS, "toy-split", Split)
    monkeypatch.setattr(Split, "metrics", metrics)
    refused = nasbench("tabulate", "toy-split", "--sample", 2, "--out", tmp_path / "t")
    assert (refused.code, list(tmp_path.iterdir())) == (2, [])
    assert said in refused.err
