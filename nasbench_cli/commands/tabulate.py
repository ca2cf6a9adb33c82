"""`nasbench tabulate`: a table of a live benchmark."""

from __future__ import annotations

import re
from pathlib import Path

import click

from nasbench.benchmarks import UsageError
from nasbench.cli.commands.options import takes_data_dir, takes_shard
from nasbench.cli.engine import tabulate as tables
from nasbench.cli.engine.suites import Shard
from nasbench.cli.exits import DONE, SOME_FAILED


@click.command()
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
@click.option(
    "--stack",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="S",
    help="Repetitions of a network trained as one, for a GPU: on a CPU it helps narrow networks alone.",
)
@takes_shard
@takes_data_dir
def tabulate(
    bench: str,
    epochs: int | None,
    sample: str,
    repetitions: int,
    out: Path,
    jobs: int,
    stack: int,
    shard: str | None,
) -> int:
    """Evaluate many configurations of a live benchmark into a table that `nasbench import table` understands.

    Where networks are known to be alike, one of them is trained for all. What is evaluated is kept in TABLE.jsonl: the
    same command continues, and so does one for a larger sample. A shard is kept in TABLE.I-of-N.jsonl; shards that lie
    beside each other are one table.
    """
    if sample != "all" and not re.fullmatch("[0-9]{1,12}", sample):
        raise UsageError(f"sample must be a number of configurations, or all, not {sample[:30]!r}")
    part = None if shard is None else Shard.parse(shard)
    count = None if sample == "all" else int(sample)
    return SOME_FAILED if tables.tabulate(bench, epochs, count, repetitions, out, jobs, part, stack) else DONE
