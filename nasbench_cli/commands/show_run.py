"""`nasbench show-run`: describes one run of a store."""

from __future__ import annotations

import json
from operator import methodcaller
from pathlib import Path

import click

from nasbench.base.streams import say
from nasbench.benchmarks import UsageError, label, parse_constraints
from nasbench.cli.commands._data_dir import takes_data_dir
from nasbench.cli.commands._once import Command
from nasbench.cli.commands.messages import say_notices
from nasbench.cli.engine.suites import method_label
from nasbench.results import Store


@click.command("show-run", cls=Command)
@click.argument("store", type=click.Path(path_type=Path))
@click.argument("method")
@click.argument("bench")
@click.argument("seed", type=click.IntRange(min=0))
@click.option("--constrain", metavar="CONSTRAINT", help="Constraint of the run, if the store has several.")
@click.option("--svg", type=click.Path(path_type=Path), metavar="FILE", help="Also draw the network of the incumbent.")
@click.option(
    "--page",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write a page: a chart of the evaluations (as many as fit in 20 MB), a table of the first 1,000.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the run's facts, its best configuration whole, as JSON.")
@takes_data_dir
def show_run(
    store: Path,
    method: str,
    bench: str,
    seed: int,
    constrain: str | None,
    svg: Path | None,
    page: Path | None,
    as_json: bool,
) -> None:
    """Show one run of a store: the steps of its incumbent, its share of feasible evaluations, and its time."""
    from nasbench.results.report.files import refuse_inside, refuse_other, write_single
    from nasbench.results.report.single_run import describe, find_runs, incumbent, summaries

    wanted = constrain if constrain in (None, "none") else label(parse_constraints([constrain]))
    if svg is not None and page is not None and svg.absolute() == page.absolute():
        raise UsageError(f"--svg and --page both name {svg}: give them two files")
    opened = Store.open(store)
    for path, beginning in ((svg, b"<?xml"), (page, b"<!DOCTYPE html>")):
        if path is not None:
            refuse_inside(path, opened)
            refuse_other(path, methodcaller("startswith", beginning))
    try:
        runs = find_runs(opened, method_label(method), bench, wanted, seed)
        if svg is not None:
            from nasbench.results.display.plots import render

            write_single(svg, render(incumbent(runs[0]), "svg"))
        if page is not None:
            from nasbench.results.report.page import single

            write_single(page, single.write(opened, runs).encode())
        say(json.dumps(summaries(runs), indent=1, ensure_ascii=False) if as_json else describe(opened, runs))
    finally:
        say_notices(opened)  # such as of a damaged file that was set aside, perhaps with this run
    for path in filter(None, (svg, page)):
        say(f"written: {path}", err=as_json)
