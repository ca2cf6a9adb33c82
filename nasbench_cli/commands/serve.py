"""`nasbench serve`: offers a benchmark to a program in any language."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from nasbench.base.exits import DONE, SOME_FAILED
from nasbench.base.streams import say
from nasbench.benchmarks import UsageError
from nasbench.cli.commands import _completion
from nasbench.cli.commands._data_dir import takes_data_dir
from nasbench.cli.commands._once import Command


@click.command(cls=Command)
@click.argument("bench", metavar="BENCHMARK", shell_complete=_completion.anything)
@click.option("--constrain", multiple=True, metavar="CONSTRAINT", help="A constraint; repeated ones hold together.")
@click.option("--store", type=click.Path(path_type=Path), metavar="DIR", help="Record the evaluations as a run here.")
@click.option("--name", metavar="NAME", help="With --store: what reports call the program.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Seed of the run, or of evaluations.  [default: 0]",
)
@click.option("--evals", type=int, metavar="N", help="With --store: budget in evaluations.  [default: 200]")
@click.option("--budget-seconds", "seconds", type=float, metavar="S", help="With --store: budget in seconds.")
@takes_data_dir
def serve(
    bench: str,
    constrain: tuple[str, ...],
    store: Path | None,
    name: str | None,
    seed: int,
    evals: int | None,
    seconds: float | None,
) -> int:
    """Offer BENCHMARK to a program: each line of standard input proposes, each line of standard output answers.

    The first line of output describes the problem. Then {"configuration": {…}} is answered by {"tell": {…}}.
    """
    from nasbench.cli.outside.serve import serve as served
    from nasbench.cli.outside.task import OutsideTask

    if (store is None) != (name is None):
        raise UsageError("a recorded run needs both --store DIR and --name NAME")
    if store is None and (evals is not None or seconds is not None):
        raise UsageError("a budget is that of a recorded run: --store DIR and --name NAME record one")
    task = OutsideTask(bench, constrain or "none")
    run = task.record(name, seed=seed, store=store, evals=evals, seconds=seconds) if store and name else None
    if served(task, sys.stdin, lambda message: say(json.dumps(message, allow_nan=False)), seed, run):
        return DONE
    say(f"nasbench: the program ended before its budget: the run of {name} is stored as one that failed", err=True)
    return SOME_FAILED
