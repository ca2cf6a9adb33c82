"""`nasbench run`: computes the runs that a store lacks."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import closing
from pathlib import Path
from time import perf_counter

import click

from nasbench.benchmarks import UsageError, open_benchmark
from nasbench.cli.commands import completion
from nasbench.cli.commands.forewarnings import say_what_budgets_hide
from nasbench.cli.commands.messages import MOST_LINES, say_failures, say_notices
from nasbench.cli.commands.options import takes_data_dir, takes_shard
from nasbench.cli.engine import suites
from nasbench.cli.engine.costs import Costs
from nasbench.cli.engine.devices import devices
from nasbench.cli.engine.executors import local
from nasbench.cli.engine.forecast import Forecast
from nasbench.cli.engine.on_ray import Cluster, OnRay
from nasbench.cli.engine.plan import PlannedCell, Protocol
from nasbench.cli.engine.progress import Progress
from nasbench.cli.engine.session import begin, is_live
from nasbench.cli.engine.suites import Shard, Suite
from nasbench.cli.engine.under_way import Missing
from nasbench.cli.engine.watch import NO_LIMITS, Limits
from nasbench.cli.exits import DONE, SOME_FAILED
from nasbench.cli.layout import span
from nasbench.methods import METHODS
from nasbench.results.display.numbers import count

_WORTH_SAYING = 30.0  # seconds


@click.command()
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
@click.option("--target", metavar="COLUMN", help="The column to predict, for benchmarks mlp:FILE.csv.")
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
    "--evals", type=int, metavar="N", help="Budget: evaluations per run.  [default: 200 unless --budget-seconds]"
)
@click.option("--budget-seconds", type=float, metavar="S", help="Budget: seconds on the run's clock.")
@click.option("--workers", type=int, metavar="W", help="Asynchronous workers per run.  [default: 1]")
@click.option("--charge-thinking", is_flag=True, help="Add the method's measured thinking time to the clock.")
@click.option(
    "--train-infeasible",
    is_flag=True,
    help="Train live networks that are known to violate a constraint (their size), too.  [default: they are refused]",
)
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
@click.option(
    "--stack",
    type=int,
    default=1,
    show_default=True,
    metavar="N",
    help="Seeds whose one-shot searches are computed as one, for a GPU: on a CPU it helps narrow networks alone.",
)
@click.option("--without", multiple=True, metavar="NAME", help="Leave a method of the suite out; repeatable.")
@takes_shard
@click.option(
    "--executor", type=click.Choice(["local", "ray"]), default="local", show_default=True, help="Who computes."
)
@click.option("--address", metavar="ADDRESS", help="A Ray cluster: auto, or HOST:PORT.  [default: one begun here]")
@click.option("--cpus", type=float, metavar="N", help="CPUs of the cluster per run.  [default: 1; live: 1 per worker]")
@click.option(
    "--gpus",
    type=float,
    metavar="N",
    help="GPUs of the cluster per run; fractions are fine.  [default: the benchmark's]",
)
@click.option("--ask-seconds", type=float, metavar="S", help="Stop a run whose method thinks longer about one ask.")
@click.option("--evaluation-seconds", type=float, metavar="S", help="Stop a run of which one evaluation takes longer.")
@click.option("--retry-failed", is_flag=True, help="Compute failed runs anew.")
@takes_data_dir
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
    train_infeasible: bool,
    suite: Path | None,
    folder: Path | None,
    jobs: int,
    stack: int,
    without: tuple[str, ...],
    shard: str | None,
    executor: str,
    address: str | None,
    cpus: float | None,
    gpus: float | None,
    ask_seconds: float | None,
    evaluation_seconds: float | None,
    retry_failed: bool,
) -> int:
    """Run methods on benchmarks and store every seed's trajectory.

    What is stored already is not computed again, and an interrupted command continues when it is given again.
    """
    flags = [methods, benchmarks, target, constraints, seeds, evals, budget_seconds, workers, charge_thinking]
    flags.append(train_infeasible)
    if jobs < 1:
        raise UsageError(f"jobs must be at least 1, not {jobs}")
    if stack < 1:
        raise UsageError(f"stack must be at least 1, not {stack}")
    if suite is not None:
        if any(flag is not None and flag is not False and flag != () for flag in flags):  # a zero is given, too
            raise UsageError(
                "--suite describes the whole grid: give it alone, or with how to compute it (--store, --jobs, --stack, "
                "--without, --shard, --executor and what belongs to it, --ask-seconds, --evaluation-seconds, "
                "--retry-failed)"
            )
        wanted = suites.load_suite(suite).without(without)
    else:
        if without:
            raise UsageError("--without leaves methods of a --suite out: here, name only the methods you want")
        if not methods or not benchmarks:
            raise UsageError("give a --method and a --bench (see `nasbench list`), or a --suite")
        if target is not None:
            benchmarks = suites.with_target(benchmarks, target)
        protocol = Protocol(
            evals=200 if evals is None and budget_seconds is None else evals,
            seconds=budget_seconds,
            workers=1 if workers is None else workers,
            charge_thinking=charge_thinking,
            train_infeasible=train_infeasible,
        )
        grid = suites.asked_grid(methods, benchmarks, constraints, 10 if seeds is None else seeds, protocol)
        wanted = suites.Suite(grids=(grid,))
    folder = folder or Path("runs") / (suite.stem if suite else "default")
    part = None if shard is None else suites.Shard.parse(shard)
    if executor != "ray" and any(option is not None for option in (address, cpus, gpus)):
        raise UsageError("--address, --cpus and --gpus are for --executor ray")
    limits = Limits(ask_seconds, evaluation_seconds)
    if executor == "ray" and limits:
        raise UsageError("--ask-seconds and --evaluation-seconds are for the local executor")
    if stack > 1:
        _check_stack(wanted, executor)
    cluster = Cluster(address, cpus, gpus) if executor == "ray" else None
    return SOME_FAILED if compute(wanted, folder, jobs, retry_failed, part, cluster, limits, stack) else DONE


def compute(
    suite: Suite,
    folder: Path,
    jobs: int,
    retry_failed: bool,
    shard: Shard | None = None,
    cluster: Cluster | None = None,
    limits: Limits = NO_LIMITS,
    stack: int = 1,
) -> bool:
    """Computes the runs of a suite that the store lacks, and prints what is done.

    Args:
        suite: the runs that are asked for.
        folder: the store.
        jobs: number of runs computed at the same time.
        retry_failed: whether to compute failed runs again.
        shard: the part of the suite to compute; by default all of it.
        cluster: where to compute; by default in processes of this machine.
        limits: time limits of single asks and evaluations, on this machine.
        stack: number of seeds whose searches are computed as one, on this machine.

    Returns whether any run of the suite failed or is missing.
    """
    session = begin(suite, folder, _command(), retry_failed=retry_failed, shard=shard)
    todo = session.to_do
    if cluster is None:
        _say_device([p for p, _ in todo], jobs)
    _say_plan(session.missing)
    say_what_budgets_hide([p for p, _ in todo])
    if cluster is None:
        _say_cost(session.missing, jobs, Costs(session.store))
        _say_crowd([p for p, _ in todo], jobs)
    started, evaluations, computed = perf_counter(), 0, 0
    runs = session.compute(local(jobs, limits, stack) if cluster is None else OnRay(cluster, jobs))
    live = tuple((p.cell, seed) for p, seeds in todo if is_live(p) for seed in seeds)
    look = Missing(session.store, live).look if live else None
    left = Forecast(session.store, session.missing, jobs).left if cluster is None else None
    with Progress(sum(len(seeds) for _, seeds in todo), under_way=look, left=left) as progress, closing(runs):
        for records in runs:
            evaluations += sum(record.rows for record in records)
            computed += len(records)
            progress.advance(len(records))
    seconds = perf_counter() - started
    if todo:
        fast = evaluations > 10 * seconds
        rate = f"{evaluations / seconds:,.0f}/s" if fast else f"{seconds / max(evaluations, 1):.1f} s each"
        click.echo(
            f"{count(computed, 'run')} computed, {count(evaluations, 'evaluation')} in {seconds:.1f} s ({rate}), "
            f"stored in {folder}"
        )
    say_notices(session.store)
    failures, absent = session.outcome()
    say_failures([(p.cell.method, p.cell.bench, p.cell.constraint, record) for p, record in failures])
    if absent:
        are = "is" if absent == 1 else "are"
        click.echo(f"{count(absent, 'run')} {are} still missing: give the same command again", err=True)
    return bool(failures or absent)


def _check_stack(suite: Suite, executor: str) -> None:
    """Raises UsageError where no searches could be computed as one."""
    if executor == "ray":
        raise UsageError("--stack is for the local executor")
    if all(len(grid.seeds) < 2 for grid in suite.grids):
        raise UsageError("--stack computes the searches of several seeds as one: here is one seed")
    if not any(spec.method.stacks for grid in suite.grids for spec in grid.methods):
        names = ", ".join(name for name in METHODS.names() if METHODS.get(name).stacks)
        raise UsageError(f"--stack computes the searches of several seeds as one, of {names}: none is asked for")


def _say_device(planned: list[PlannedCell], jobs: int) -> None:
    """What computes live evaluations, as PyTorch says in this process, which has loaded what they need."""
    names = dict.fromkeys(open_benchmark(p.cell.bench).device for p in planned if is_live(p))
    if names:
        several = len(devices()) if jobs > 1 and any(names) else 1
        turns = f" (--jobs take {several} devices in turn)" if several > 1 else ""
        click.echo(f"device: {', '.join(name or 'cpu' for name in names)}{turns}")


def _say_plan(missing: list[tuple[PlannedCell, list[int]]]) -> None:
    wanted = sum(len(p.seeds) for p, _ in missing)
    todo = sum(len(seeds) for _, seeds in missing)
    if len(missing) <= MOST_LINES:
        for p, seeds in missing:
            cached = len(p.seeds) - len(seeds)
            state = "(cached)" if not seeds else f"{cached} (cached), {len(seeds)} to run" if cached else "to run"
            click.echo(f"{p.cell.method} on {p.cell.bench}, {p.cell.constraint}: {count(len(p.seeds), 'run')}, {state}")
    state = f"{wanted - todo} (cached), {todo} to run" if todo else "all (cached)"
    click.echo(f"{count(wanted, 'run')} in {count(len(missing), 'cell')}: {state}")


def _say_cost(missing: list[tuple[PlannedCell, list[int]]], jobs: int, costs: Costs) -> None:
    """An estimate of the time, where it is worth a coffee: a method's own, and that of its evaluations."""
    seconds: dict[str, float] = {}
    for p, seeds in missing:
        if not seeds:
            continue
        own = len(seeds) * costs.of(p).seconds / jobs
        seconds[p.spec.name] = seconds.get(p.spec.name, 0.0) + own
    total = sum(seconds.values())
    if total > _WORTH_SAYING:
        longest_first = sorted(seconds.items(), key=lambda item: -item[1])
        parts = ", ".join(f"{name} {span(own)}" for name, own in longest_first if own > 1)
        trained = any(is_live(p) for p, seeds in missing if seeds)
        cores = f"--jobs {jobs}, a CPU core each" if trained else f"--jobs {jobs}"
        click.echo(
            f"estimated: {span(total)} with {cores} on an otherwise idle machine ({parts}); --without NAME leaves a "
            "method out"
        )


def _say_crowd(planned: list[PlannedCell], jobs: int) -> None:
    """Warns if more evaluations run at a time than there are cores: each then takes longer on the wall clock."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    at_a_time = jobs * max((p.cell.workers for p in planned if is_live(p)), default=0)
    if at_a_time > cores:
        click.echo(
            f"notice: {at_a_time} evaluations at a time (--jobs x --workers) on {cores} cores: on a CPU each takes "
            "longer, and their clock is the wall's",
            err=True,
        )


def _command() -> str:
    """This command line without its --store option, with absolute paths, so that it works from any folder."""
    words = ["nasbench", *sys.argv[1:]]
    kept = []
    for before, word in zip(["", *words], words, strict=False):
        if before == "--store" or word == "--store" or word.startswith("--store="):
            continue
        option, equals, value = word.partition("=")
        if option == "--data-dir" and equals:
            kept.append(f"--data-dir={Path(value).resolve()}")
        elif before == "--data-dir" or (before == "--suite" and Path(word).exists()):
            kept.append(str(Path(word).resolve()))
        else:
            kept.append(word)
    return shlex.join(kept)
