"""`nasbench report`: turns stores into tables and plots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from nasbench.benchmarks.spaces.errors import unknown
from nasbench.cli.commands.messages import say_notices
from nasbench.cli.commands.options import takes_data_dir
from nasbench.cli.engine.plan import is_current
from nasbench.cli.engine.suites import method_label, parse_checkpoints
from nasbench.results import Store
from nasbench.results.store.trajectory import SCORES


@click.command()
@click.argument("stores", metavar="STORE…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--baseline", metavar="METHOD", help="The method the others are held against.  [default: the suite's]")
@click.option("--checkpoints", metavar="N,N,…", help="Evaluations at which to compare.  [default: the suite's]")
@click.option("--protocol", metavar="TEXT", help="Which runs, where budgets or workers are mixed.")
@click.option(
    "--score",
    type=click.Choice(SCORES),
    help="What is compared on tables: the incumbent's mean over repetitions, or its observed value.  [default: the "
    "suite's, or mean]",
)
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
@takes_data_dir
def report(
    stores: tuple[Path, ...],
    baseline: str | None,
    checkpoints: str | None,
    protocol: str | None,
    score: str | None,
    out: Path,
    formats: str,
) -> None:
    """Turn stores, taken together, into tables and plots: on the terminal, and as files in DIR."""
    points = None if checkpoints is None else parse_checkpoints(checkpoints)
    print_report(stores, out, baseline, points, protocol, score, formats)


def print_report(
    folders: Sequence[Path],
    out: Path,
    baseline: str | None,
    checkpoints: tuple[int, ...] | None,
    protocol: str | None,
    score: str | None,
    formats: str,
) -> None:
    """Writes the report of some stores, taken together, and prints its tables."""
    from nasbench.results.report.report import FORMATS, write  # draws plots: heavy

    wanted = [f for f in FORMATS if f in formats.split(",")]
    strange = [f for f in formats.split(",") if f not in FORMATS]
    if strange:
        raise unknown("format", strange[0], FORMATS)
    stores = [Store.open(folder) for folder in folders]
    held_against = None if baseline is None else method_label(baseline)
    written = write(stores, out, held_against, checkpoints, protocol, wanted, is_current, score)
    click.echo(written.text)
    for store in stores:
        say_notices(store)
    page = f"; open {out / 'index.html'}" if "html" in wanted else ""
    click.echo(f"{len(written.files)} files in {out}{page}")
