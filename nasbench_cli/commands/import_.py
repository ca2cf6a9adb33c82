"""`nasbench import`: turns tables of the user into benchmarks."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from nasbench.base.layout import one_line
from nasbench.base.numbers import count
from nasbench.base.streams import say
from nasbench.benchmarks import BenchmarkSpec, UsageError
from nasbench.benchmarks.tabular import (
    TabularBenchmark,
    columns,
    nasbench101,
    nasbench201,
    nats_size,
    taskset,
    user_table,
)
from nasbench.benchmarks.tabular.embedded import NAS_BENCH_201
from nasbench.benchmarks.tabular.frames import stem_of
from nasbench.benchmarks.tabular.guess import guess
from nasbench.cli.commands._data_dir import makes_data_dir
from nasbench.cli.commands._once import Group
from nasbench.cli.commands._options import command_line
from nasbench.cli.commands._saving import save_columns, save_table
from nasbench.cli.commands.progress import Progress
from nasbench.cli.outside import Asked, import_runs
from nasbench.cli.outside.rows import SENSES, SHAPES


@click.group("import", cls=Group)
def import_() -> None:
    """Turn a table that you have into a benchmark, kept in $NASBENCH_DATA or your data directory."""


@import_.command("table", short_help="Your own CSV or Parquet file.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--spec", type=click.Path(path_type=Path), metavar="TOML", help="Specification of the columns.")
@click.option(
    "--guess",
    "is_guess",
    is_flag=True,
    help="Write a specification that is guessed from the header and the values, with doubts as comments: beside FILE, "
    "or to --spec.",
)
@makes_data_dir
def import_table(file: Path, spec: Path | None, is_guess: bool) -> None:
    """Turn a CSV file (also compressed) or a Parquet file into a benchmark.

    The specification names its hyper-parameters, metrics, repetitions and cost: see examples/digits_mlp.toml.
    """
    if is_guess:
        _write_guess(file, spec)
    elif spec is None:
        raise UsageError(
            f"a specification must describe the columns of {file}: --guess writes one to check and correct, --spec "
            "names one"
        )
    else:
        save_table(user_table.read_table(file, spec))


@import_.command("runs", short_help="Runs that were made elsewhere: tables of results, files of other tools.")
@click.argument("sources", metavar="FILE…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--store", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Store for the runs.")
@click.option(
    "--direction",
    "sense",
    type=click.Choice(SENSES),
    help="Whether less or more of the value is better.",
)
@click.option(
    "--shape",
    type=click.Choice(SHAPES),
    help="What a row is: an evaluation (trajectory), the best so far (best), or the end of a run (final).  [default: "
    "by the columns]",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="ROLE=NAME",
    help="Column of a table for a role, such as value=acc; of another tool's files, what they do not say, such as "
    "method=bohb; repeatable.",
)
@click.option("--budget", type=click.IntRange(1), metavar="N", help="Evaluations at which longer runs are cut.")
@click.option(
    "--budget-seconds", "seconds", type=float, metavar="S", help="Seconds at which runs are cut and compared."
)
@click.option("--reader", default="", metavar="NAME", help="Reader of the files.  [default: the one that knows them]")
@click.pass_context
def import_the_runs(
    context: click.Context,
    /,
    sources: tuple[Path, ...],
    store: Path,
    columns: tuple[str, ...],
    reader: str,
    **options: Any,
) -> None:
    """Put runs that were made elsewhere into a store, from which `nasbench report` compares them.

    FILE is a table (CSV, Parquet or JSON lines) with the columns method, benchmark, seed, evaluation and value, a table
    of final results, or what another tool has written.
    """
    roles = {role: name for role, _, name in (text.partition("=") for text in columns)}
    for note in import_runs(sources, store, Asked(columns=roles, **options), reader, command_line(context)):
        say(note)
    say(f"next: nasbench report {shlex.quote(str(store))}")


@import_.command("columns", short_help="More metrics for an existing table, such as latencies.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--onto", "name", required=True, metavar="TABLE", help="Table to extend, such as nb201-cifar10.")
@click.option("--key", required=True, metavar="COLUMN", help="Column that identifies the configuration of a row.")
@click.option(
    "--column", "wanted", multiple=True, metavar="COLUMN", help="Column to add; repeatable.  [default: all numbers]"
)
@click.option("--prefix", default="", metavar="TEXT", help="Prefix of the metrics' names, such as latency-.")
@click.option("--unit", default="", metavar="TEXT", help="Unit of all added metrics, such as ms.")
@makes_data_dir
def import_columns(file: Path, name: str, key: str, wanted: tuple[str, ...], prefix: str, unit: str) -> None:
    """Add columns of a CSV file (also compressed) or a Parquet file to a table, as metrics that can be constrained.

    The text in the key column identifies the configuration: for NAS-Bench-201 it is the official string of a cell.
    """
    table = BenchmarkSpec.parse(name).open()
    if not isinstance(table, TabularBenchmark) or table.name != name or "@" in name or ":" in name:
        raise UsageError(f"{name} is not a table: name one to add columns to, such as nb201-cifar10")
    save_columns(name, columns.read(table, file, key, wanted, prefix, unit))


@import_.command("nas-bench-201", short_help="The official NAS-Bench-201 or NATS-Bench file.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--trust", is_flag=True, help="Open a file that is not an official release: a pickle can run any code.")
@makes_data_dir
def import_nasbench201(file: Path, trust: bool) -> None:
    """Extend nb201-cifar10, -cifar100 and -imagenet16 with test errors, FLOPs and all epochs.

    FILE is NAS-Bench-201-v1_1-096897.pth, or NATS-tss-v1_0-3ffb9.pickle.pbz2.
    """
    if file.is_file():
        say(
            f"reading {file} ({file.stat().st_size / 2**30:.2f} GiB) takes about "
            f"{nasbench201.peak_memory(file) / 2**30:.1f} GiB of memory; this is needed only once"
        )
    with Progress(NAS_BENCH_201.space.size, "architectures") as progress:
        tables = nasbench201.convert(file, trust, progress.advance)
    for table in tables:
        save_table(table)


@import_.command("nas-bench-101", short_help="The official NAS-Bench-101 file, or a CSV of its runs.")
@click.argument("file", type=click.Path(path_type=Path))
@makes_data_dir
def import_nasbench101(file: Path) -> None:
    """Make the benchmark nb101.

    FILE is nasbench_only108.tfrecord, nasbench_full.tfrecord (with trainings of 4, 12 and 36 epochs; TensorFlow is not
    needed), or a CSV with the columns adjacency, operations, repetition, parameters, valid@108, test@108, time@108.
    """
    with Progress(file.stat().st_size if file.is_file() else 0, "bytes") as progress:
        table = nasbench101.convert(file, progress.advance)
    save_table(table)


@import_.command("nats-bench-size", short_help="The official file of NATS-Bench's size space.")
@click.argument("file", type=click.Path(path_type=Path))
@makes_data_dir
def import_nats_size(file: Path) -> None:
    """Make the benchmarks nats-size-cifar10, -cifar100 and -imagenet16, with all epochs.

    FILE is NATS-sss-v1_0-50262.pickle.pbz2; only plain data is read from it.
    """
    with Progress(nats_size.SPACE.size, "networks") as progress:
        tables = nats_size.convert(file, progress.advance)
    for table in tables:
        save_table(table)


@import_.command("taskset", short_help="Tasks of TaskSet's Adam with eight parameters.")
@click.argument("files", metavar="FILE…", nargs=-1, required=True, type=click.Path(path_type=Path))
@makes_data_dir
def import_taskset(files: tuple[Path, ...]) -> None:
    """Turn each FILE into a benchmark: 1,000 settings of Adam with the losses at 50 points of a training.

    A FILE is JSON (also .gz) as in DyHPO's repository: records with hp, train, valid and test.
    """
    for table in [taskset.read_task(file) for file in files]:
        save_table(table)


def _write_guess(data: Path, spec: Path | None) -> None:
    """Writes a guessed specification to a new file, and prints why an import would refuse it unchanged."""
    guessed = guess(data)
    spec = spec or data.with_name(f"{stem_of(data)}.toml")
    made = False
    try:
        with spec.open("x", encoding="utf-8") as file:
            made = True
            file.write(guessed.text)
    except FileExistsError:
        raise UsageError(f"{spec} already exists and is not changed: --spec names another file to write") from None
    except OSError as error:
        if made:
            spec.unlink()  # it would stand in the way of the next attempt
        raise UsageError(f"cannot write {spec}: {error.strerror}; --spec names another file to write") from None
    say(f"{spec}: what the columns of {data} were taken for, by their names and values")
    for role, names in guessed.roles.items():
        say(f"  {role + ':':<18}{names}")
    say(f"{count(len(guessed.doubts), 'doubt')}{':' if guessed.doubts else ''}")
    for doubt in guessed.doubts:
        say(f"  {doubt}")
    try:
        user_table.read_table(data, spec)
    except UsageError as error:
        say(one_line(f"an import refuses it until it is corrected: {error}", 2_000))
    command = shlex.join(["nasbench", "import", "table", str(data), "--spec", str(spec)])
    say(f"Correct in it what is wrong, then: {command}")
