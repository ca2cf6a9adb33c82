"""Messages about a store that several commands print: its notices, and the failures of its runs."""

from __future__ import annotations

import click

from nasbench.results import Store
from nasbench.results.display.numbers import count
from nasbench.results.store.fragment import RunRecord

MOST_LINES = 24
"""Largest number of lines of one list that are printed; the rest is counted."""


def say_failures(failures: list[tuple[str, str, str, RunRecord]]) -> None:
    """Prints failures on standard error: one line per run that stopped, one line per cell with failed evaluations.

    Args:
        failures: method, benchmark, constraint and record of each run with a failure.
    """
    stopped = [failure for failure in failures if failure[3].failure]
    for method, bench, constraint, record in stopped[:MOST_LINES]:
        where = f"{method} on {bench}, {constraint}, seed {record.seed}"
        click.echo(f"failed: {where}: stopped: {record.first_reason}", err=True)
    if len(stopped) > MOST_LINES:
        click.echo(f"… and {count(len(stopped) - MOST_LINES, 'more run')} that stopped", err=True)
    cells: dict[tuple[str, str, str], list[RunRecord]] = {}
    for method, bench, constraint, record in failures:
        if not record.failure:
            cells.setdefault((method, bench, constraint), []).append(record)
    for (method, bench, constraint), records in list(cells.items())[:MOST_LINES]:
        evaluations = sum(record.failed_evaluations for record in records)
        click.echo(
            f"failed: {method} on {bench}, {constraint}: {count(evaluations, 'failed evaluation')} in "
            f"{count(len(records), 'run')}, seed {records[0].seed} first: {records[0].first_reason}",
            err=True,
        )
    if len(cells) > MOST_LINES:
        click.echo(f"… and failed evaluations in {count(len(cells) - MOST_LINES, 'more cell')}", err=True)
    if failures:
        click.echo(
            f"{count(len(failures), 'run')} with failures; once mended, the same command with --retry-failed", err=True
        )


def say_notices(store: Store) -> None:
    """Prints each notice of a store once, on standard error."""
    notices = list(dict.fromkeys(store.notices))
    for notice in notices[:MOST_LINES]:
        click.echo(f"notice: {notice}", err=True)
    if len(notices) > MOST_LINES:
        click.echo(f"… and {count(len(notices) - MOST_LINES, 'more notice')}", err=True)
