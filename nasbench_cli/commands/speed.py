"""`nasbench speed`: measures our speed beside a peer's."""

from __future__ import annotations

import click

from nasbench.cli.speed import tables


@click.command()
def speed() -> None:
    """Measure our speed beside a peer's, in one process."""
    tables.main()
