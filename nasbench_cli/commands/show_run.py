"""`nasbench show-run`: describes one run of a store."""

from __future__ import annotations

import re
from operator import methodcaller
from pathlib import Path

import click

from nasbench.benchmarks import UsageError, label, parse_constraints
from nasbench.cli.commands.messages import say_notices
from nasbench.cli.commands.once import Command
from nasbench.cli.commands.options import takes_data_dir
from nasbench.cli.engine.suites import method_label
from nasbench.results import Store


@click.command("show-run", cls=Command)
@click.argument("store", type=click.Path())
@click.argument("method")
@click.argument("bench")
@click.argument("seed")
@click.option("--constrain", metavar="CONSTRAINT", help="Constraint of the run, if the store has several.")
@click.option("--svg", type=click.Path(path_type=Path), metavar="FILE", help="Also draw the network of the incumbent.")
@click.option(
    "--page",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write a page: a chart of all evaluations, a table of the first 1,000.",
)
@takes_data_dir
def show_run(
    store: str, method: str, bench: str, seed: str, constrain: str | None, svg: Path | None, page: Path | None
) -> None:
    """Show one run of a store: the steps of its incumbent, its share of feasible evaluations, and its time."""
    from nasbench.results.report.files import refuse_inside, refuse_other, write_single
    from nasbench.results.report.single_run import describe, incumbent

    if not re.fullmatch("[0-9]{1,18}", seed):
        raise UsageError(f"a seed is an integer, 0 or more, not {seed[:30]!r}")
    wanted = constrain if constrain in (None, "none") else label(parse_constraints([constrain]))
    if svg is not None and page is not None and svg.absolute() == page.absolute():
        raise UsageError(f"--svg and --page both name {svg}: give them two files")
    run = Store.open(Path(store)), method_label(method), bench, wanted, int(seed)
    for path, beginning in ((svg, b"<?xml"), (page, b"<!DOCTYPE html>")):
        if path is not None:
            refuse_inside(path, run[0])
            refuse_other(path, methodcaller("startswith", beginning))
    if svg is not None:
        from nasbench.results.display.plots import render

        write_single(svg, render(incumbent(*run), "svg"))
    if page is not None:
        from nasbench.results.report.page import single

        write_single(page, single.write(*run).encode())
    try:
        click.echo(describe(*run))
    finally:
        say_notices(run[0])  # such as of a damaged file that was set aside, perhaps with this run
    for path in filter(None, (svg, page)):
        click.echo(f"written: {path}")
