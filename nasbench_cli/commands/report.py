"""`nasbench report`: turns stores into tables and plots."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from nasbench.base.numbers import count
from nasbench.base.streams import say
from nasbench.benchmarks.tabular.direction import Sense
from nasbench.cli.commands._data_dir import takes_data_dir
from nasbench.cli.commands._once import Command
from nasbench.cli.commands._options import command_line
from nasbench.cli.commands.messages import say_notices
from nasbench.cli.engine.archives import embedded, opened_stores, with_own_baseline
from nasbench.cli.engine.plan import is_current
from nasbench.cli.engine.reporting import asked_report
from nasbench.cli.engine.sources import current_sources
from nasbench.cli.outside import Asked, as_stores
from nasbench.cli.outside.rows import SENSES
from nasbench.results.scores import names as scores


@click.command(cls=Command)
@click.argument("stores", metavar="[STORE]…", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--baseline",
    metavar="METHOD",
    help="Method to compare the others with.  [default: the suite's, or the first; with --against a single method of "
    "the store]",
)
@click.option(
    "--checkpoints",
    metavar="N,N,…",
    help="Evaluations (or seconds of a budget in seconds) at which to compare, besides the end.  [default: the "
    "suite's, or 50,100,150,200; quarters of the seconds]",
)
@click.option("--method", multiple=True, metavar="NAME", help="Compare only this method; repeatable.")
@click.option("--without", multiple=True, metavar="NAME", help="Leave out a method; repeatable.")
@click.option("--bench", multiple=True, metavar="NAME", help="Use only this benchmark; repeatable.")
@click.option("--family", multiple=True, metavar="NAME", help="Use only this family of benchmarks; repeatable.")
@click.option("--constrain", multiple=True, metavar="LABEL", help="Use only this constraint; repeatable.")
@click.option("--label", multiple=True, metavar="METHOD=SHORT", help="Short name of a method; repeatable.")
@click.option("--protocol", metavar="TEXT", help="Protocol of the runs, if stores mix budgets or workers.")
@click.option(
    "--score",
    type=click.Choice(scores()),
    help="The value of an incumbent: in a repetition hidden from its run, its mean, as observed; the share of a "
    "hypervolume; the average of all draws.  [default: the suite's, or hidden; share for several objectives]",
)
@click.option(
    "--metric",
    metavar="NAME",
    help="Compare this stored metric of the incumbent instead, such as test-error or latency.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("report"),
    show_default=True,
    metavar="DIR",
    help="Folder for the files.",
)
@click.option(
    "--format",
    default="html,csv,json,svg",
    show_default=True,
    metavar="F,F,…",
    help="Formats of the files: html, md, csv, json (the verdict), tidy (steps of each run), latex, longtable (breaks "
    "between pages), svg.",
)
@click.option(
    "--part",
    multiple=True,
    metavar="NAME[:WORD,…]",
    help="Add a part, such as targets or pareto:METRIC,METRIC (`nasbench list parts` has all); repeatable.",
)
@click.option(
    "--paper", type=click.Path(path_type=Path), metavar="DIR", help="Also write figures and tables for a paper."
)
@click.option(
    "--figure-width",
    metavar="WIDTH",
    help="Width of the paper's figures, such as 84mm or 240pt.  [default: 3.3in, a column]",
)
@click.option("--ioh", type=click.Path(path_type=Path), metavar="DIR", help="Also write the runs for IOHanalyzer.")
@click.option(
    "--optuna",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write each run as a study of Optuna, for optuna-dashboard: a file of Optuna's journal storage.",
)
@click.option(
    "--partial", is_flag=True, help="Include runs that are under way, and compare all at the length of the shortest."
)
@click.option("--full", is_flag=True, help="Print every part that the page has.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict alone, as JSON.")
@click.option("--wilcoxon", is_flag=True, help="Print the Wilcoxon signed-rank tables here too.")
@click.option(
    "--against",
    multiple=True,
    metavar="ARCHIVE",
    help="Set the runs beside those of an archive in the same settings: a file, or the name of one that "
    f"comes with nasbench ({', '.join(embedded())}); repeatable.",
)
@click.option(
    "--direction",
    type=click.Choice(SENSES),
    help="Of a file of runs that were made elsewhere: whether less or more of its value is better.",
)
@takes_data_dir
@click.pass_context
def report(context: click.Context, /, out: Path, as_json: bool, direction: Sense | None, **options: Any) -> None:
    """Turn stores, taken together, into tables and plots: on the terminal, and as files in DIR.

    In place of a STORE, a table of runs that were made elsewhere, or what another tool has written: `nasbench import
    runs` says more.
    """
    from nasbench.results.report.report import write  # draws plots: heavy

    stores, against = options.pop("stores"), options.pop("against")
    request = replace(asked_report(out, **options), command=command_line(context))
    with as_stores(stores, Asked(direction), request.command) as (folders, notes):
        for note in notes:
            say(note, err=True)
        opened = opened_stores(folders, against)
        try:
            written = write(opened, with_own_baseline(request, opened), is_current, current_sources())
            say(written.verdict.as_json().rstrip() if as_json else written.styled)
        finally:
            for store in opened:
                say_notices(store)  # about files that were set aside, perhaps all of them
    page = f"; open {out / 'index.html'}" if "html" in request.formats else ""
    say(f"{count(len(written.files), 'file')} in {out}{page}", err=as_json)
    if request.paper is not None:
        say(f"for a paper: {request.paper / 'README.md'} lists the files", err=as_json)
    if request.ioh is not None:
        say(f"for IOHanalyzer: {request.ioh}", err=as_json)
    if request.optuna is not None:
        say(f"for Optuna: {request.optuna}; `optuna-dashboard {request.optuna}` shows it", err=as_json)
