"""The commands. Each parses, calls the room that knows, and prints; what is heavy is imported inside."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from nasbench.cli.commands import completion

# Before numpy is loaded: small matrices gain nothing from threads, runs computed side by side (--jobs) would fight for
# the cores, and sums in another order would be other bits.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_DONE, _SOME_FAILED, _BAD_USAGE, _INTERRUPTED, _READER_GONE = 0, 1, 2, 130, 141


def _takes_data_dir(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --data-dir, which stands in for $NASBENCH_DATA, also for the processes that the command starts."""

    def use(context: click.Context, option: click.Parameter, folder: Path | None) -> None:
        if folder is not None:
            os.environ["NASBENCH_DATA"] = str(folder.resolve())

    return click.option(
        "--data-dir",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        expose_value=False,
        is_eager=True,
        callback=use,
        help="Where data sets and imported tables are, in place of $NASBENCH_DATA.",
    )(command)


def _takes_shard(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --shard."""
    return click.option("--shard", metavar="I/N", help="Only the I-th of N parts, which together are everything.")(
        command
    )


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="nasbench")
@click.option("--debug", is_flag=True, help="Show a traceback where something goes wrong.")
def cli(debug: bool) -> None:
    """Compare NAS and HPO methods fairly: one space, one budget, one clock, honest statistics.

    \b
    nasbench run --method random --method evolution --bench nb201-cifar10 --seeds 20
    nasbench report runs/default
    """
    from nasbench.cli.engine.progress import echo_notices

    echo_notices()


@cli.command("list")
@click.argument("kind", required=False, type=click.Choice(["methods", "benchmarks", "suites"]))
@click.option("--matrix", is_flag=True, help="Which method runs on which benchmark, and why not.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_takes_data_dir
def list_(kind: str | None, matrix: bool, as_json: bool) -> None:
    """List methods, benchmarks and suites."""
    from nasbench.cli.commands import catalogue

    click.echo(catalogue.matrix(as_json) if matrix else catalogue.listing(kind, as_json))


@cli.command(short_help="Show a benchmark, a method, or a stored run.")
@click.argument(
    "what",
    nargs=-1,
    required=True,
    metavar="NAME | STORE METHOD BENCH SEED",
    shell_complete=completion.either,
)
@click.option("--constrain", metavar="CONSTRAINT", help="Which run, where the store has several constraints.")
@click.option("--svg", type=click.Path(path_type=Path), metavar="FILE", help="Draw the network that a run found, too.")
@_takes_data_dir
def show(what: tuple[str, ...], constrain: str | None, svg: Path | None) -> None:
    """Show a benchmark (space, metrics, extremes, quantiles, source), a method (options), or one run of a store.

    A run's page has its incumbent's steps, its feasible share, and where the time went.
    """
    from nasbench.benchmarks import UsageError
    from nasbench.cli.commands import catalogue, session

    if len(what) == 4:
        click.echo(session.run_page(*what, constrain, svg))
    elif len(what) == 1 and constrain is None and svg is None:
        click.echo(catalogue.show(what[0]))
    else:
        raise UsageError(
            "show takes the NAME of a benchmark or method, or STORE METHOD BENCH SEED [--constrain C] [--svg FILE]"
        )


@cli.command(short_help="How far two networks are apart (OTMANN).")
@click.argument("one", type=click.Path(path_type=Path))
@click.argument("other", type=click.Path(path_type=Path))
@click.option("--nu", type=float, default=0.5, show_default=True, help="Weight of the structural penalty.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def distance(one: Path, other: Path, nu: float, as_json: bool) -> None:
    """Print OTMANN's distance between two networks (NASBOT, section 3): its penalties, and which layers are matched.

    A network is a JSON file with nn_class (cnn, mlp-reg or mlp-class), labels, units, edges and, of a cnn, strides.
    """
    from nasbench.cli.commands.distance import compare

    click.echo(compare(one, other, nu, as_json))


@cli.command()
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME[:OPTION=VALUE,…]",
    shell_complete=completion.methods,
    help="A method; repeatable.",
)
@click.option(
    "--bench",
    "benchmarks",
    multiple=True,
    metavar="NAME",
    shell_complete=completion.benchmarks,
    help="A benchmark; repeatable.",
)
@click.option("--target", metavar="COLUMN", help="Of benchmarks mlp:FILE.csv: the column to predict.")
@click.option(
    "--constrain",
    "constraints",
    multiple=True,
    metavar="CONSTRAINT",
    help="metric<=value, metric>=value, metric@q (the q-quantile), or metric@S, @M, @L (size classes: quantiles 0 to "
    "0.2, 0.4 to 0.6, 0.8 to 0.95); repeated ones hold together.",
)
@click.option("--seeds", metavar="N|A:B", help="Seeds 0 … N-1, or A … B-1.  [default: 10]")
@click.option(
    "--evals", type=int, metavar="N", help="Budget: evaluations a run.  [default: 200 unless --budget-seconds]"
)
@click.option("--budget-seconds", type=float, metavar="S", help="Budget: seconds on the run's clock.")
@click.option("--workers", type=int, metavar="W", help="Asynchronous workers of a run.  [default: 1]")
@click.option("--charge-thinking", is_flag=True, help="Add the method's measured thinking time to the clock.")
@click.option(
    "--suite",
    type=click.Path(path_type=Path),
    metavar="FILE",
    shell_complete=completion.suites,
    help="Take the grid from a TOML file, or suites/FILE.toml.",
)
@click.option(
    "--store",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where trajectories go.  [default: runs/default, or runs/SUITE]",
)
@click.option("--jobs", type=int, default=1, show_default=True, metavar="N", help="Runs computed at the same time.")
@click.option("--without", multiple=True, metavar="NAME", help="Leave a method of the suite out; repeatable.")
@_takes_shard
@click.option(
    "--executor", type=click.Choice(["local", "ray"]), default="local", show_default=True, help="Who computes."
)
@click.option("--address", metavar="ADDRESS", help="Of a Ray cluster: auto, or HOST:PORT.  [default: one begun here]")
@click.option("--cpus", type=float, metavar="N", help="Of the cluster, a run.  [default: 1, live: one a worker]")
@click.option(
    "--gpus", type=float, metavar="N", help="Of the cluster, a run; may be a fraction.  [default: the benchmark's]"
)
@click.option("--retry-failed", is_flag=True, help="Compute failed runs anew.")
@_takes_data_dir
def run(
    methods: tuple[str, ...],
    benchmarks: tuple[str, ...],
    target: str | None,
    constraints: tuple[str, ...],
    seeds: str | None,
    evals: int | None,
    budget_seconds: float | None,
    workers: int | None,
    charge_thinking: bool,
    suite: Path | None,
    folder: Path | None,
    jobs: int,
    without: tuple[str, ...],
    shard: str | None,
    executor: str,
    address: str | None,
    cpus: float | None,
    gpus: float | None,
    retry_failed: bool,
) -> int:
    """Run methods on benchmarks and store every seed's trajectory.

    What is stored already is not computed again, and an interrupted command continues when it is given again.
    """
    from nasbench.benchmarks import UsageError, parse_constraints
    from nasbench.cli.commands import session
    from nasbench.cli.engine import suites
    from nasbench.cli.engine.on_ray import Cluster
    from nasbench.cli.engine.plan import Grid, Protocol
    from nasbench.methods import MethodSpec

    flags = [methods, benchmarks, target, constraints, seeds, evals, budget_seconds, workers, charge_thinking]
    if jobs < 1:
        raise UsageError(f"jobs must be at least 1, not {jobs}")
    if suite is not None:
        if any(flag for flag in flags if flag is not None):
            raise UsageError(
                "--suite describes the whole grid: give it alone, or with how to compute it (--store, --jobs, "
                "--without, --shard, --executor and what belongs to it, --retry-failed)"
            )
        wanted = suites.load_suite(suite).without(without)
    else:
        if without:
            raise UsageError("--without leaves methods of a --suite out: here, name only the methods you want")
        if not methods or not benchmarks:
            raise UsageError("give a --method and a --bench (see `nasbench list`), or a --suite")
        if target is not None:
            benchmarks = suites.with_target(benchmarks, target)
        grid = Grid(
            methods=tuple(map(MethodSpec.parse, methods)),
            benchmarks=tuple(map(suites.check_benchmark, benchmarks)),
            constraints=(parse_constraints(constraints),),
            seeds=suites.parse_seeds(10 if seeds is None else seeds),
            protocol=Protocol(
                evals=200 if evals is None and budget_seconds is None else evals,
                seconds=budget_seconds,
                workers=1 if workers is None else workers,
                charge_thinking=charge_thinking,
            ),
        )
        wanted = suites.Suite(grids=(grid,))
    folder = folder or Path("runs") / (suite.stem if suite else "default")
    part = None if shard is None else suites.Shard.parse(shard)
    if executor != "ray" and any(option is not None for option in (address, cpus, gpus)):
        raise UsageError("--address, --cpus and --gpus are for --executor ray")
    cluster = Cluster(address, cpus, gpus) if executor == "ray" else None
    return _SOME_FAILED if session.run(wanted, folder, jobs, retry_failed, part, cluster) else _DONE


@cli.command(short_help="Say what a suite takes: runs, hours, storage.")
@click.argument("suite", type=click.Path(path_type=Path), shell_complete=completion.suites)
@click.option(
    "--store",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="What is there already, and measured costs.  [default: runs/SUITE]",
)
@click.option("--without", multiple=True, metavar="NAME", help="Leave a method of the suite out; repeatable.")
@_takes_shard
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_takes_data_dir
def plan(suite: Path, folder: Path | None, without: tuple[str, ...], shard: str | None, as_json: bool) -> None:
    """Say how many runs a suite has, what they take on one core, how much they store, and what is there already.

    Times are the medians of the runs that the store has; for the others what methods and benchmarks state.
    """
    from nasbench.cli.commands import plan as planning
    from nasbench.cli.engine import suites

    wanted = suites.load_suite(suite).without(without)
    part = None if shard is None else suites.Shard.parse(shard)
    planning.plan(wanted, folder or Path("runs") / suite.stem, part, as_json)


@cli.command(short_help="Try whether a method or a benchmark keeps its promises.")
@click.argument(
    "name",
    metavar="METHOD[:OPTION=VALUE,…]|BENCHMARK",
    shell_complete=completion.either,
)
@click.option("--bench", metavar="NAME", help="What to try a method on.  [default: one that it fits]")
@_takes_data_dir
def check(name: str, bench: str | None) -> int:
    """Try whether a method or a benchmark, a plug-in of yours above all, keeps the promises that the harness relies on.

    Same seed, same result; exact resume; workers that finish in any order; failed evaluations; constraints; foreign
    configurations; JSON and back; no global random state. `nasbench.cli.checks` has the same for your own tests.
    """
    from nasbench.cli.commands.check import check as tried

    return _DONE if tried(name, bench) else _SOME_FAILED


@cli.command(short_help="Say what a store holds, and how to finish it.")
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_takes_data_dir
def status(store: Path, as_json: bool) -> None:
    """Say what a store holds, what is missing, torn, stale or failed, and how to finish it.

    Reads and verifies every row; what is torn or foreign is moved to STORE/_aside.
    """
    from nasbench.cli.commands import session

    session.status(store, as_json)


@cli.command(short_help="Turn stores into tables and plots.")
@click.argument("stores", metavar="STORE…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--baseline", metavar="METHOD", help="The method the others are held against.  [default: the suite's]")
@click.option("--checkpoints", metavar="N,N,…", help="Evaluations at which to compare.  [default: the suite's]")
@click.option("--protocol", metavar="TEXT", help="Which runs, where budgets or workers are mixed.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("report"),
    show_default=True,
    metavar="DIR",
    help="Where the files go.",
)
@click.option(
    "--format",
    "formats",
    default="html,csv,latex,svg",
    show_default=True,
    metavar="F,F,…",
    help="Of html, md, csv, latex, png, svg, pdf.",
)
@_takes_data_dir
def report(
    stores: tuple[Path, ...],
    baseline: str | None,
    checkpoints: str | None,
    protocol: str | None,
    out: Path,
    formats: str,
) -> None:
    """Turn stores, taken together, into tables and plots: on the terminal, and as files in DIR."""
    from nasbench.cli.commands import session
    from nasbench.cli.engine.suites import parse_checkpoints

    points = None if checkpoints is None else parse_checkpoints(checkpoints)
    session.report(stores, out, baseline, points, protocol, formats)


@cli.group("import", short_help="Make a benchmark of a table you have.")
def import_() -> None:
    """Make a benchmark of a table you have; it is kept in $NASBENCH_DATA, or your data directory."""


@import_.command("table", short_help="A CSV or Parquet file of your own.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--spec", type=click.Path(path_type=Path), required=True, metavar="TOML", help="What its columns are.")
def import_table(file: Path, spec: Path) -> None:
    """Make a benchmark of a CSV (also compressed) or Parquet file.

    The specification names its hyper-parameters, metrics, repetitions and cost: see examples/nb201-devices.toml.
    """
    from nasbench.cli.commands import import_ as importing

    importing.import_table(file, spec)


@import_.command("nas-bench-201", short_help="The official NAS-Bench-201 or NATS-Bench file.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--trust", is_flag=True, help="Open a file that is not a released one: a pickle can run any code.")
def import_nasbench201(file: Path, trust: bool) -> None:
    """Give nb201-cifar10, -cifar100 and -imagenet16 test errors, FLOPs and every epoch.

    FILE is NAS-Bench-201-v1_1-096897.pth, or NATS-tss-v1_0-3ffb9.pickle.pbz2.
    """
    from nasbench.cli.commands import import_ as importing

    importing.import_nasbench201(file, trust)


@cli.command(short_help="Make a table of a live benchmark.")
@click.argument("bench", metavar="BENCH")
@click.option("--epochs", type=click.IntRange(min=1), metavar="E", help="Train each so long.  [default: BENCH's own]")
@click.option("--sample", default="all", show_default=True, metavar="N|all", help="How many configurations.")
@click.option(
    "--repetitions",
    type=click.IntRange(1, 255),
    default=1,
    show_default=True,
    metavar="K",
    help="Training seeds of each configuration.",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="TABLE", help="Write TABLE.csv, .toml.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Evaluations at a time.",
)
@_takes_data_dir
def tabulate(bench: str, epochs: int | None, sample: str, repetitions: int, out: Path, jobs: int) -> int:
    """Evaluate many configurations of a live benchmark into a table that `nasbench import table` understands.

    What is evaluated is kept in TABLE.jsonl: the same command continues, and so does one for a larger sample.
    """
    from nasbench.benchmarks import UsageError
    from nasbench.cli.engine import tabulate as tables

    if sample != "all" and not sample.isdecimal():
        raise UsageError(f"sample must be a number of configurations, or all, not {sample!r}")
    count = None if sample == "all" else int(sample)
    return _SOME_FAILED if tables.tabulate(bench, epochs, count, repetitions, out, jobs) else _DONE


@cli.group(short_help="Fetch and check the images of live benchmarks.")
def data() -> None:
    """Fetch and check the images that live benchmarks train on; nothing else here uses the network."""


@data.command("list")
@_takes_data_dir
def data_list() -> None:
    """List the data sets, and where their files are."""
    from nasbench.cli.commands import data as files

    files.listing()


@data.command("fetch")
@click.argument("names", nargs=-1, metavar="NAME…")
@click.option("--all", "everything", is_flag=True, help="All of MedMNIST.")
@_takes_data_dir
def data_fetch(names: tuple[str, ...], everything: bool) -> None:
    """Download MedMNIST's official files into $NASBENCH_DATA, or your data directory, and check them.

    An interrupted download is continued by the same command.
    """
    from nasbench.benchmarks import UsageError
    from nasbench.benchmarks.images import medmnist
    from nasbench.cli.commands import data as files

    if bool(names) == everything:
        raise UsageError(f"name what to fetch, or give --all; allowed: {', '.join(medmnist.files())}")
    files.fetch(names or list(medmnist.files()))


@data.command("verify")
@click.argument("names", nargs=-1, metavar="[NAME…]")
@_takes_data_dir
def data_verify(names: tuple[str, ...]) -> int:
    """Compare the files that are here, or those named, with the official MD5s."""
    from nasbench.cli.commands import data as files

    return _DONE if files.verify(names) else _SOME_FAILED


@cli.command()
def bench() -> None:
    """Measure our speed beside a peer's, in one process."""
    from nasbench.cli.speed import tables as speed

    speed.main()


def main() -> None:
    """The entry point: one sentence and an exit code for everything that can go wrong."""
    code = run_command(sys.argv[1:])
    if threading.active_count() > 1:
        # Evaluations that nobody waits for any more: Python's own end would tear PyTorch away beneath them.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def run_command(arguments: list[str]) -> int:
    """Runs one command line; returns its exit code."""
    try:
        return cli.main(arguments, prog_name="nasbench", standalone_mode=False) or _DONE
    except BrokenPipeError:
        # The reader of our output (head, less) has gone; nor must Python's last flush complain of it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _READER_GONE
    except (Exception, KeyboardInterrupt) as error:
        if "--debug" in arguments:
            traceback.print_exc()
        sentence, code = _explain(error)
        click.echo(f"nasbench: {' '.join(sentence.split())}", err=True)
        return code


def _explain(error: BaseException) -> tuple[str, int]:
    """What to say of an error, and the exit code."""
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "stopped; what is stored is kept: give the same command again to continue", _INTERRUPTED
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        group = error.ctx.command if error.ctx is not None and isinstance(error.ctx.command, click.Group) else cli
        path = error.ctx.command_path if error.ctx is not None else "nasbench"
        return f"give a command: {', '.join(group.commands)} ({path} --help says more)", _BAD_USAGE
    if isinstance(error, click.UsageError) and error.ctx is not None and error.ctx.command is cli:
        return f"{error.format_message()} Allowed: {', '.join(cli.commands)}", _BAD_USAGE
    if isinstance(error, click.ClickException):
        return error.format_message(), _BAD_USAGE
    from nasbench.benchmarks import UsageError
    from nasbench.results import Interrupted, StoreError

    if isinstance(error, UsageError | StoreError):
        return str(error), _SOME_FAILED if isinstance(error, Interrupted) else _BAD_USAGE
    if isinstance(error, OSError):
        return f"the system refused: {error}", _SOME_FAILED
    return f"{type(error).__name__}: {error} (this is a defect; --debug shows where)", _SOME_FAILED
