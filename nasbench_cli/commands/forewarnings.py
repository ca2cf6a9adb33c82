"""Warnings of budgets that are too small for a method, before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence

import click

from nasbench.cli.engine.plan import PlannedCell
from nasbench.cli.layout import span
from nasbench.results.display.numbers import count


def say_what_budgets_hide(planned: Sequence[PlannedCell]) -> None:
    """Prints, on standard error, which methods a budget ends before they search, or before they learn."""
    _say_long_beginnings(planned)
    _say_random(planned)


def _say_long_beginnings(planned: Sequence[PlannedCell]) -> None:
    """Warns of budgets that a method's first ask will probably use up, because a search is not interrupted."""
    for p in planned:
        if p.cell.seconds is not None and p.beginning > p.cell.seconds:
            click.echo(
                f"{p.cell.method} on {p.cell.bench} searches for about {span(p.beginning)} before its first "
                f"evaluation, and is not interrupted: of {p.cell.seconds:g} s nothing will be left",
                err=True,
            )


def _say_random(planned: Sequence[PlannedCell]) -> None:
    """Warns of budgets that end before a method uses what it is told."""
    cells = [p.cell for p in planned]
    blind = {c.method: (c.initial, c.evals) for c in cells if c.evals is not None and c.evals <= c.initial}
    for method, (initial, evals) in blind.items():
        click.echo(
            f"notice: the first {initial} configurations of {method} are random, and its budget is "
            f"{count(evals, 'evaluation')}: it ends before anything is learnt",
            err=True,
        )
