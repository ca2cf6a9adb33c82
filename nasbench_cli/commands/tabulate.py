"""`nasbench tabulate`: makes a table of a live benchmark."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path

import click

from nasbench.base.exits import DONE, SOME_FAILED
from nasbench.base.foreign import interrupts_noted
from nasbench.base.numbers import count
from nasbench.base.streams import say
from nasbench.benchmarks import UsageError
from nasbench.cli.commands._data_dir import takes_data_dir
from nasbench.cli.commands._once import Command
from nasbench.cli.commands._options import takes_shard
from nasbench.cli.commands.progress import Progress
from nasbench.cli.engine.suites import Shard
from nasbench.cli.engine.tabulate import Drawn, Evaluated, Event, Incomplete, TabulationBegun, Written
from nasbench.cli.engine.tabulate import tabulate as made


@click.command(cls=Command)
@click.argument("bench", metavar="BENCH")
@click.option("--sample", default="all", show_default=True, metavar="N|all", help="Number of configurations.")
@click.option(
    "--repetitions",
    type=click.IntRange(1, 255),
    default=1,
    show_default=True,
    metavar="K",
    help="Training seeds per configuration.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, metavar="TABLE", help="Write TABLE.csv and TABLE.toml."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Evaluations computed at the same time.",
)
@takes_shard
@takes_data_dir
def tabulate(
    bench: str,
    sample: str,
    repetitions: int,
    out: Path,
    jobs: int,
    shard: str | None,
) -> int:
    """Evaluate many configurations of a live benchmark into a table that `nasbench import table` understands.

    BENCH@E trains for E epochs.
    Of networks that are known to be equivalent, one is trained for all. Evaluations are kept in TABLE.jsonl: the same
    command continues, and so does a command for a larger sample. A shard is kept in TABLE.I-of-N.jsonl; once the files
    of all shards lie beside each other, the table is written.
    """
    if sample != "all" and not re.fullmatch("[0-9]{1,12}", sample):
        raise UsageError(f"sample must be a number of configurations, or all, not {sample[:30]!r}")
    wanted = None if shard is None else Shard.parse(shard)
    number = None if sample == "all" else int(sample)
    with interrupts_noted(), closing(made(bench, number, repetitions, out, jobs, wanted)) as events:
        return SOME_FAILED if _show(events, out) else DONE


def _show(events: Iterable[Event], out: Path) -> bool:
    """Prints what happens while a table is made; returns whether an evaluation failed, or none succeeded."""
    failed = False
    with ExitStack() as shown:
        progress = Progress(0, "evaluations")
        for event in events:
            match event:
                case Drawn(name, configurations, classes):
                    say(f"{name}: {count(configurations, 'configuration')}, of which {classes:,} differ")
                case TabulationBegun(evaluations, missing, shard):
                    whose = "" if shard is None else f" of shard {shard.number}/{shard.count}"
                    cached = f"{evaluations - missing:,} (cached), {missing:,} to run"
                    say(f"{count(evaluations, 'evaluation')}{whose}, {cached}")
                    progress = shown.enter_context(Progress(missing, "evaluations"))
                case Evaluated():
                    progress.advance(1)
                case Incomplete(lacking, failed):
                    shown.close()
                    say(
                        f"{count(lacking, 'evaluation')} of other shards {'is' if lacking == 1 else 'are'} missing: "
                        f"put their files ({out}.*-of-*.jsonl) beside this one, and give the command again"
                    )
                case Written():
                    shown.close()
                    failed = event.failed or not event.rows
                    _show_table(event, out)
    return failed


def _show_table(table: Written, out: Path) -> None:
    for status, reasons in table.left_out.items():
        again = "; the same command tries them again" if status == "failed" else ""
        number = count(len(reasons), "evaluation")
        say(f"{number} {status}, and left out; the first: {reasons[0]}{again}", err=True)
    if not table.rows:
        say(f"no evaluation succeeded: {out}.csv has no rows", err=True)
        return
    command = shlex.join(["nasbench", "import", "table", f"{out}.csv", "--spec", f"{out}.toml"])
    say(f"{count(table.rows, 'row')} in {out}.csv; `{command}` makes a benchmark of them")
