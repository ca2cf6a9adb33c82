"""`nasbench report`: turns stores into tables and plots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nasbench.cli.commands.messages import say_notices
from nasbench.cli.commands.options import takes_data_dir
from nasbench.cli.engine.plan import is_current
from nasbench.cli.engine.reporting import asked_report
from nasbench.results import Store, StoreError
from nasbench.results.display.numbers import count
from nasbench.results.store.trajectory import SCORES


@click.command()
@click.argument("stores", metavar="STORE…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--baseline", metavar="METHOD", help="The method the others are held against.  [default: the suite's]")
@click.option(
    "--checkpoints",
    metavar="N,N,…",
    help="Evaluations (seconds, where the budget is in seconds) at which to compare; the end of the budget is always "
    "one.  [default: the suite's]",
)
@click.option("--method", multiple=True, metavar="NAME", help="Compare these methods alone. Repeatable.")
@click.option("--without", multiple=True, metavar="NAME", help="Leave out a method. Repeatable.")
@click.option("--bench", multiple=True, metavar="NAME", help="On these benchmarks alone. Repeatable.")
@click.option("--family", multiple=True, metavar="NAME", help="On these families alone. Repeatable.")
@click.option("--constrain", multiple=True, metavar="LABEL", help="Under these alone. Repeatable.")
@click.option("--label", multiple=True, metavar="METHOD=SHORT", help="A short name. Repeatable.")
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
    default="html,csv,latex,svg",
    show_default=True,
    metavar="F,F,…",
    help="Of html, md, csv, tidy (steps of each run), latex, longtable (breaks between pages), png, svg, pdf.",
)
@click.option(
    "--part",
    multiple=True,
    metavar="PART",
    help="Add importance (of hyper-parameters), pareto:METRIC,METRIC (two metrics at once), or thinking (rank against "
    "methods' own time). Repeatable.",
)
@click.option("--paper", type=click.Path(path_type=Path), metavar="DIR", help="Write figures and tables for a paper.")
@click.option(
    "--figure-width",
    default="3.3in",
    show_default=True,
    metavar="WIDTH",
    help="Of the paper's figures, in in, cm, mm or pt: a column.",
)
@click.option("--ioh", type=click.Path(path_type=Path), metavar="DIR", help="Write the runs for IOHanalyzer.")
@click.option(
    "--optuna",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write each run as a study of Optuna, for optuna-dashboard: a file of its journal storage.",
)
@click.option(
    "--partial", is_flag=True, help="Take runs that are under way in, and compare all where the shortest of them is."
)
@takes_data_dir
def report(stores: tuple[Path, ...], out: Path, **wishes: Any) -> None:
    """Turn stores, taken together, into tables and plots: on the terminal, and as files in DIR."""
    from nasbench.results.report.report import write  # draws plots: heavy

    request = asked_report(out, **wishes)
    opened = [Store.open(folder) for folder in stores]
    try:
        written = write(opened, request, is_current)
    except StoreError:
        for store in opened:
            say_notices(store)  # of what was set aside, which may be all of it
        raise
    click.echo(written.styled)
    for store in opened:
        say_notices(store)
    page = f"; open {out / 'index.html'}" if "html" in request.formats else ""
    click.echo(f"{count(len(written.files), 'file')} in {out}{page}")
    if request.paper is not None:
        click.echo(f"for a paper: {request.paper / 'paper.md'} says what is there")
    if request.ioh is not None:
        click.echo(f"for IOHanalyzer: {request.ioh}")
    if request.optuna is not None:
        click.echo(f"for Optuna: {request.optuna}; `optuna-dashboard {request.optuna}` shows it")
