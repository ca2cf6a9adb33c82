"""`nasbench import`: makes benchmarks of tables that the user has."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import numpy as np

from nasbench.benchmarks import BENCHMARKS, BenchmarkSpec, UsageError
from nasbench.benchmarks.surrogate import lcbench
from nasbench.benchmarks.tabular import (
    EMBEDDED,
    TabularBenchmark,
    added,
    columns,
    imported,
    nasbench101,
    nasbench201,
    nats_size,
    own,
    taskset,
)
from nasbench.benchmarks.tabular.embedded import NAS_BENCH_201
from nasbench.benchmarks.tabular.frames import stem_of
from nasbench.benchmarks.tabular.guess import guess
from nasbench.cli.commands.options import takes_data_dir
from nasbench.cli.engine.progress import Progress
from nasbench.methods import METHODS
from nasbench.results.display.numbers import count


@click.group("import")
def import_() -> None:
    """Make a benchmark of a table you have; it is kept in $NASBENCH_DATA, or your data directory."""


@import_.command("table", short_help="A CSV or Parquet file of your own.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--spec", type=click.Path(path_type=Path), metavar="TOML", help="What its columns are.")
@click.option(
    "--guess",
    "is_guess",
    is_flag=True,
    help="Write that TOML, guessed from the header and the values, with doubts as comments; beside FILE unless --spec "
    "says where.",
)
@takes_data_dir
def import_table(file: Path, spec: Path | None, is_guess: bool) -> None:
    """Make a benchmark of a CSV (also compressed) or Parquet file.

    The specification names its hyper-parameters, metrics, repetitions and cost: see examples/nb201-devices.toml.
    """
    if is_guess:
        _write_guess(file, spec)
    elif spec is None:
        raise UsageError(
            f"what are the columns of {file}? --guess writes a specification (TOML) to read and mend, --spec names one"
        )
    else:
        convert_table(file, spec)


@import_.command("columns", short_help="More metrics for a table that is there, such as latencies.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--onto", "name", required=True, metavar="TABLE", help="The table that gets them, such as nb201-cifar10.")
@click.option("--key", required=True, metavar="COLUMN", help="The column that says which configuration a row is about.")
@click.option("--column", "wanted", multiple=True, metavar="COLUMN", help="A column to take.  [default: all numbers]")
@click.option("--prefix", default="", metavar="TEXT", help="What the metrics' names begin with, such as latency-.")
@click.option("--unit", default="", metavar="TEXT", help="The unit of all of them, such as ms.")
@takes_data_dir
def import_columns(file: Path, name: str, key: str, wanted: tuple[str, ...], prefix: str, unit: str) -> None:
    """Add columns of a CSV (also compressed) or Parquet file to a table as metrics that can be constrained.

    A row is matched by the text in the key's column: for NAS-Bench-201 the official string of a cell.
    """
    table = BenchmarkSpec.parse(name).open()
    if not isinstance(table, TabularBenchmark) or table.name != name or "@" in name:
        raise UsageError(f"{name} is no table: columns are added to one, such as nb201-cifar10")
    found = columns.read(table, file, key, wanted, prefix, unit)
    folder = added.save(name, found)
    known = int(np.isfinite(found.values).any(axis=1).sum())
    click.echo(
        f"{name}: {count(len(found.metrics), 'metric')} of {known:,} of {count(table.space.size, 'configuration')}, "
        f"{found.metrics[0].name} to {found.metrics[-1].name}; kept in {folder} until you delete it"
    )
    click.echo(f"notice: runs on {name} without these metrics are stale now", err=True)


@import_.command("nas-bench-201", short_help="The official NAS-Bench-201 or NATS-Bench file.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--trust", is_flag=True, help="Open a file that is not a released one: a pickle can run any code.")
@takes_data_dir
def import_nasbench201(file: Path, trust: bool) -> None:
    """Give nb201-cifar10, -cifar100 and -imagenet16 test errors, FLOPs and every epoch.

    FILE is NAS-Bench-201-v1_1-096897.pth, or NATS-tss-v1_0-3ffb9.pickle.pbz2.
    """
    convert_nasbench201(file, trust)


@import_.command("nas-bench-101", short_help="The official NAS-Bench-101 file, or a CSV of its runs.")
@click.argument("file", type=click.Path(path_type=Path))
@takes_data_dir
def import_nasbench101(file: Path) -> None:
    """Make the benchmark nb101.

    FILE is nasbench_only108.tfrecord, nasbench_full.tfrecord (with trainings of 4, 12 and 36 epochs; TensorFlow is not
    needed), or a CSV with the columns adjacency, operations, repetition, parameters, valid@108, test@108, time@108.
    """
    with Progress(file.stat().st_size if file.is_file() else 0, "bytes") as progress:
        found = nasbench101.convert(file, progress.advance)
    _save(found)


@import_.command("nats-bench-size", short_help="The official file of NATS-Bench's size space.")
@click.argument("file", type=click.Path(path_type=Path))
@takes_data_dir
def import_nats_size(file: Path) -> None:
    """Make the benchmarks nats-size-cifar10, -cifar100 and -imagenet16, with every epoch.

    FILE is NATS-sss-v1_0-50262.pickle.pbz2; nothing but plain data is read from it.
    """
    with Progress(nats_size.SPACE.size, "networks") as progress:
        found = nats_size.convert(file, progress.advance)
    for table in found:
        _save(table)


@import_.command("taskset", short_help="Tasks of TaskSet's Adam with eight parameters.")
@click.argument("files", metavar="FILE…", nargs=-1, required=True, type=click.Path(path_type=Path))
@takes_data_dir
def import_taskset(files: tuple[Path, ...]) -> None:
    """Make a benchmark of each FILE: 1,000 settings of Adam with the losses of 50 points of a training.

    A FILE is JSON (also .gz), as DyHPO's repository keeps TaskSet: records with hp, train, valid and test.
    """
    for table in [taskset.read_task(file) for file in files]:
        _save(table)


@import_.command("lcbench", short_help="The surrogate of LCBench (YAHPO Gym).")
@click.argument("folder", type=click.Path(path_type=Path))
@takes_data_dir
def import_lcbench(folder: Path) -> None:
    """Make the 34 benchmarks lcbench-3945 … lcbench-189909: seven hyper-parameters of perceptrons, 52 epochs.

    FOLDER holds model.onnx, encoding.json and config_space.json of YAHPO Gym's data (lcbench).
    """
    place = lcbench.import_surrogate(folder)
    click.echo(
        f"{len(lcbench.TASKS)} benchmarks, lcbench-{lcbench.TASKS[0]} to lcbench-{lcbench.TASKS[-1]}; a surrogate "
        f"answers; kept in {place} until you delete it; `nasbench show lcbench-{lcbench.TASKS[0]}` says more"
    )


def convert_table(data: Path, spec: Path) -> None:
    """Makes a benchmark of the user's own table.

    Args:
        data: the CSV or Parquet file.
        spec: the TOML file that says what its columns are.

    Raises UsageError that names what is wrong with either.
    """
    _save(own.read_table(data, spec))


def _write_guess(data: Path, spec: Path | None) -> None:
    """Writes a guessed specification to a new file, and says what the import would say to it as it stands."""
    found = guess(data)
    spec = spec or data.with_name(f"{stem_of(data)}.toml")
    try:
        with spec.open("x", encoding="utf-8") as file:
            file.write(found.text)
    except FileExistsError:
        raise UsageError(f"{spec} is there already, and stays as it is: --spec names another file to write") from None
    except OSError as error:
        raise UsageError(f"cannot write {spec}: {error.strerror}; --spec names another file to write") from None
    click.echo(
        f"{spec}: {count(found.hyperparameters, 'hyper-parameter')}, {count(found.metrics, 'metric')}, the objective "
        f"from the column {found.objective}; {count(found.doubts, 'doubt')} (comments that begin with a question mark)"
    )
    try:
        own.read_table(data, spec)
    except UsageError as error:
        click.echo(f"as it stands, it will be refused: {error}")
    click.echo(f"read it, then: nasbench import table {shlex.quote(str(data))} --spec {shlex.quote(str(spec))}")


def convert_nasbench201(path: Path, trust: bool) -> None:
    """Makes benchmarks of an official NAS-Bench-201 or NATS-Bench file.

    Args:
        path: the official file.
        trust: whether to open a file that is not a released one.

    Raises UsageError if the file is not a released one, or cannot be read.
    """
    if path.is_file():
        click.echo(
            f"reading {path} ({path.stat().st_size / 2**30:.2f} GiB) takes about "
            f"{nasbench201.peak_memory(path) / 2**30:.1f} GiB of memory, once"
        )
    with Progress(NAS_BENCH_201.space.size, "architectures") as progress:
        found = nasbench201.convert(path, trust, progress.advance)
    for table in found:
        _save(table)


def _save(table: imported.Table) -> None:
    if table.name in METHODS.names():
        raise UsageError(f"{table.name} is the name of a method: give the table another")
    if BENCHMARKS.is_taken(table.name) and table.name not in EMBEDDED:
        raise UsageError(f"{table.name} is the name of another benchmark: rename the file, or remove that benchmark")
    before = _checksum_before(table.name)
    folder = imported.save(table)
    objective, known = table.values[:, :, 0], np.isfinite(table.values[:, :, 0])
    click.echo(
        f"{table.name}: {int(known.any(axis=1).sum()):,} of {count(table.space.size, 'configuration')}, up to "
        f"{count(int(known.sum(axis=1).max()), 'repetition')}; minimises {table.metrics[0].name}, from "
        f"{np.nanmin(objective):.6g} to {np.nanmax(objective):.6g}; kept in {folder} until you delete it; `nasbench "
        f"show {table.name}` says more"
    )
    if before not in ("", imported.open_imported(table.name).checksum):
        click.echo(f"notice: it replaces another {table.name}: runs on that one are stale now", err=True)


def _checksum_before(name: str) -> str:
    """The checksum of the imported table of a name; empty without one, and for one that is damaged: it is replaced."""
    try:
        return imported.open_imported(name).checksum if name in imported.names() else ""
    except UsageError:
        return ""
