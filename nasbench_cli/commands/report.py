"""`nasbench report`: turns stores into tables and plots."""

from __future__ import annotations

import re
from pathlib import Path

import click

from nasbench.benchmarks import UsageError
from nasbench.benchmarks.spaces.errors import unknown
from nasbench.cli.commands.messages import say_notices
from nasbench.cli.commands.options import takes_data_dir
from nasbench.cli.engine.plan import is_current
from nasbench.cli.engine.suites import method_label, parse_checkpoints
from nasbench.results import Store, StoreError
from nasbench.results.display.numbers import count
from nasbench.results.selection import Selection
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
@click.option("--method", "methods", multiple=True, metavar="NAME", help="Compare these methods alone. Repeatable.")
@click.option("--without", multiple=True, metavar="NAME", help="Leave out a method. Repeatable.")
@click.option("--bench", "benches", multiple=True, metavar="NAME", help="On these benchmarks alone. Repeatable.")
@click.option("--family", "families", multiple=True, metavar="NAME", help="On these families alone. Repeatable.")
@click.option("--constrain", "constraints", multiple=True, metavar="LABEL", help="Under these alone. Repeatable.")
@click.option("--label", "labels", multiple=True, metavar="METHOD=SHORT", help="A short name. Repeatable.")
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
    help="Of html, md, csv, tidy (steps of each run), latex, longtable (breaks between pages), png, svg, pdf.",
)
@click.option(
    "--part",
    "optional",
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
    callback=lambda *given: _inches(given[-1]),
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
def report(
    stores: tuple[Path, ...],
    baseline: str | None,
    checkpoints: str | None,
    methods: tuple[str, ...],
    without: tuple[str, ...],
    benches: tuple[str, ...],
    families: tuple[str, ...],
    constraints: tuple[str, ...],
    labels: tuple[str, ...],
    protocol: str | None,
    score: str | None,
    out: Path,
    formats: str,
    optional: tuple[str, ...],
    paper: Path | None,
    figure_width: float,
    ioh: Path | None,
    optuna: Path | None,
    partial: bool,
) -> None:
    """Turn stores, taken together, into tables and plots: on the terminal, and as files in DIR."""
    from nasbench.results.report.report import FORMATS, write  # draws plots: heavy

    wanted = [f for f in FORMATS if f in formats.split(",")]
    strange = [f for f in formats.split(",") if f not in FORMATS]
    if strange:
        raise unknown("format", strange[0], FORMATS)
    points = None if checkpoints is None else parse_checkpoints(checkpoints)
    opened = [Store.open(folder) for folder in stores]
    try:
        written = write(
            opened,
            out,
            baseline=None if baseline is None else method_label(baseline),
            checkpoints=points,
            protocol=protocol,
            formats=wanted,
            is_current=is_current,
            score=score,
            selection=Selection(
                tuple(map(method_label, methods)), tuple(map(method_label, without)), benches, families, constraints
            ),
            labels=dict(map(_label, labels)),
            optional=optional,
            paper=paper,
            figure_width=figure_width,
            ioh=ioh,
            optuna=optuna,
            partial=partial,
        )
    except StoreError:
        for store in opened:
            say_notices(store)  # of what was set aside, which may be all of it
        raise
    click.echo(written.text)
    for store in opened:
        say_notices(store)
    page = f"; open {out / 'index.html'}" if "html" in wanted else ""
    click.echo(f"{count(len(written.files), 'file')} in {out}{page}")
    if paper is not None:
        click.echo(f"for a paper: {paper / 'paper.md'} says what is there")
    if ioh is not None:
        click.echo(f"for IOHanalyzer: {ioh}")
    if optuna is not None:
        click.echo(f"for Optuna: {optuna}; `optuna-dashboard {optuna}` shows it")


def _inches(text: str) -> float:
    """A length in inches. Raises UsageError for what is none, or wider than a page."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(in|cm|mm|pt)", text.strip())
    inches = float(found[1]) / {"in": 1.0, "cm": 2.54, "mm": 25.4, "pt": 72.27}[found[2]] if found else 0.0
    if not 1.5 <= inches <= 12:
        raise UsageError(f"figure width {text!r} must be a length from 1.5in to 12in, for example 3.3in or 84mm")
    return inches


def _label(text: str) -> tuple[str, str]:
    """A method as the store names it, and its short name. Raises UsageError without either."""
    method, _, short = (part.strip() for part in text.rpartition("="))
    if not method or not short:
        raise UsageError(f"label {text!r} must be METHOD=SHORT, for example 'evolution:population=20=evo'")
    return method_label(method), short
