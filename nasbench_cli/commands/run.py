"""`nasbench run`: computes the runs that a store lacks."""

from __future__ import annotations

import json
import sys
from contextlib import closing, nullcontext, redirect_stdout
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from nasbench.base.exits import DONE, SOME_FAILED
from nasbench.base.layout import span
from nasbench.base.numbers import count
from nasbench.base.streams import say
from nasbench.cli.commands import _completion
from nasbench.cli.commands._data_dir import takes_data_dir
from nasbench.cli.commands._once import Command
from nasbench.cli.commands._options import (
    asked_suite,
    command_line,
    default_store,
    takes_force,
    takes_grid,
    takes_shard,
)
from nasbench.cli.commands.forewarnings import (
    say_cautions,
    say_device,
    warn_of_crowd,
    warn_of_small_budgets,
    warn_of_void_constraints,
)
from nasbench.cli.commands.messages import MOST_LINES, say_failures, say_left_out, say_notices
from nasbench.cli.commands.progress import Progress
from nasbench.cli.engine.costs import Costs
from nasbench.cli.engine.executors import Executor, chosen
from nasbench.cli.engine.forecast import Forecast
from nasbench.cli.engine.plan import PlannedSetup
from nasbench.cli.engine.session import Session, begin
from nasbench.cli.engine.suites import Shard, method_label
from nasbench.cli.engine.under_way import look

_WORTH_SAYING = 30.0  # seconds


@click.command(cls=Command)
@takes_grid
@click.option(
    "--suite",
    type=click.Path(path_type=Path),
    metavar="FILE",
    shell_complete=_completion.suites,
    help="Take the grid from a TOML file, or suites/FILE.toml; --bench and --seeds choose a part of it, "
    "--method replaces its methods.",
)
@click.option(
    "--store",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for trajectories.  [default: runs/default, or runs/SUITE]",
)
@click.option("--jobs", type=int, default=1, show_default=True, metavar="N", help="Runs computed at the same time.")
@takes_shard
@click.option(
    "--executor",
    metavar="NAME[:OPTION=VALUE,…]",
    shell_complete=_completion.executors,
    help="Where runs are computed (`nasbench list executors`).  [default: serial; processes with --jobs above 1]",
)
@click.option("--sealed", is_flag=True, help="Also run on sealed search spaces, on which no default may be chosen.")
@takes_force
@click.option(
    "--retry-failed", is_flag=True, help="Compute failed runs, and failed evaluations of interrupted runs, again."
)
@click.option(
    "--anew",
    multiple=True,
    metavar="METHOD",
    help="Compute the runs of this method again, such as after a change of its code; repeatable. The stored ones are "
    "moved to STORE/_aside.",
)
@click.option(
    "--keep-going", is_flag=True, help="Go on with a method that has failed in its first ten runs in the same way."
)
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON; all else goes to standard error.")
@takes_data_dir
@click.pass_context
def run(
    context: click.Context,
    /,
    suite: Path | None,
    folder: Path | None,
    jobs: int,
    shard: str | None,
    executor: str | None,
    sealed: bool,
    force: bool,
    retry_failed: bool,
    anew: tuple[str, ...],
    keep_going: bool,
    as_json: bool,
    **_: Any,
) -> int:
    """Run methods on benchmarks and store the trajectory of every seed.

    Stored runs are not computed again; an interrupted command continues when it is given again.
    """
    where = chosen(executor, jobs)
    wanted = asked_suite(context, suite)
    folder = folder or default_store(suite)
    part = None if shard is None else Shard.parse(shard)
    command = command_line(context, "folder", "anew")  # what finishes the store begins nothing anew
    methods = [method_label(name) for name in anew]
    session = begin(
        wanted, folder, command, retry_failed=retry_failed, anew=methods, shard=part, unseal=sealed, force=force
    )
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        is_incomplete = compute(session, where, folder, suite is not None, keep_going)
    if as_json:
        say(json.dumps(_facts(session, folder) | {"shard": shard}, indent=1))
    return SOME_FAILED if is_incomplete else DONE


def _facts(session: Session, folder: Path) -> dict[str, Any]:
    """What a command has done, for JSON."""
    failures, absent = session.outcome()
    wanted = sum(len(p.seeds) for p, _ in session.requested)
    todo = sum(len(seeds) for _, seeds in session.requested)
    return {
        "store": str(folder),
        "runs": wanted,
        "cached": wanted - todo,
        "missing": absent,
        "failures": [
            {"method": p.setup.method, "bench": p.setup.bench, "constraint": p.setup.constraint, "seed": record.seed}
            | {"failure": record.failure, "failed_evaluations": record.failed_evaluations}
            for p, record in failures
        ],
        "left_out": list(session.left_out),
        "notices": session.store.notices,
    }


def compute(session: Session, executor: Executor, folder: Path, of_suite: bool, keep_going: bool) -> bool:
    """Computes the runs that a store lacks, and prints what is done.

    Args:
        folder: the store, as the user named it.
        of_suite: whether the runs are those of a suite.
        keep_going: whether a method that fails in its first runs in the same way goes on.

    Returns whether any run of the session failed or is missing.
    """
    say_left_out(session.left_out)
    todo, jobs = session.to_do, executor.jobs
    incomplete = [p for p, _ in todo]
    if executor.local:
        say_device(incomplete, jobs)
    _say_plan(session.requested)
    say_cautions(incomplete)
    warn_of_void_constraints(incomplete)
    warn_of_small_budgets(incomplete)
    if executor.local:
        _say_cost(session.requested, jobs, Costs(session.store), of_suite)
        warn_of_crowd(incomplete, jobs)
    started, evaluations, computed = perf_counter(), 0, 0
    runs = session.compute(executor, keep_going)
    live = tuple((p.setup, seed) for p, seeds in todo if p.live for seed in seeds)
    under_way = partial(look, session.store, live) if live else None
    left = Forecast(session.store, session.requested, jobs).left if executor.local else None
    with Progress(sum(len(seeds) for _, seeds in todo), under_way=under_way, left=left) as progress, closing(runs):
        for records in runs:
            evaluations += sum(record.evaluations for record in records)
            computed += len(records)
            progress.advance(len(records))
    seconds = perf_counter() - started
    if computed:
        fast = evaluations > 10 * seconds
        rate = f"{evaluations / seconds:,.0f}/s" if fast else f"{seconds / max(evaluations, 1):.1f} s each"
        say(
            f"{count(computed, 'run')} computed, {count(evaluations, 'evaluation')} in {seconds:.1f} s ({rate}), "
            f"stored in {folder}"
        )
    if computed and not evaluations:
        why = "the budget is too small for one, or every run failed"
        say(f"notice: none of these runs has an evaluation: {why}", err=True)
    say_notices(session.store)
    failures, absent = session.outcome()
    say_failures([(p.setup, record) for p, record in failures])
    if todo and not computed and not absent:
        say("these runs are stored already: by another command, or by a process of this one that died after it")
    if absent:
        are, without = "is" if absent == 1 else "are", ", without --anew" if session.anew else ""
        say(f"{count(absent, 'run')} {are} still missing: give the same command again{without}", err=True)
    say_left_out(session.left_out)
    return bool(failures or absent)


def _say_plan(requested: list[tuple[PlannedSetup, list[int]]]) -> None:
    wanted = sum(len(p.seeds) for p, _ in requested)
    todo = sum(len(seeds) for _, seeds in requested)
    if len(requested) <= MOST_LINES:
        for p, seeds in requested:
            cached = len(p.seeds) - len(seeds)
            state = "(cached)" if not seeds else f"{cached} (cached), {len(seeds)} to run" if cached else "to run"
            say(f"{p.setup.title}: {count(len(p.seeds), 'run')}, {state}")
    state = f"{wanted - todo:,} (cached), {todo:,} to run" if todo else "all (cached)"
    say(f"{count(wanted, 'run')} in {count(len(requested), 'setup')}: {state}")


def _say_cost(missing: list[tuple[PlannedSetup, list[int]]], jobs: int, costs: Costs, of_suite: bool) -> None:
    """Prints the estimated time of methods and evaluations if it is more than `_WORTH_SAYING` seconds."""
    seconds: dict[str, float] = {}
    for p, seeds in missing:
        if not seeds:
            continue
        cost = len(seeds) * costs.of(p).seconds / jobs
        seconds[p.spec.name] = seconds.get(p.spec.name, 0.0) + cost
    total = sum(seconds.values())
    if total > _WORTH_SAYING:
        longest_first = sorted(seconds.items(), key=lambda item: -item[1])
        methods = ", ".join(f"{name} {span(cost)}" for name, cost in longest_first if cost > 1)
        trained = any(p.live for p, seeds in missing if seeds)
        cores = f"--jobs {jobs}, a CPU core each" if trained else f"--jobs {jobs}"
        hint = "; --without NAME leaves a method out" if of_suite and len(seconds) > 1 else ""
        say(f"estimated: {span(total)} with {cores} on an otherwise idle machine ({methods}){hint}")
