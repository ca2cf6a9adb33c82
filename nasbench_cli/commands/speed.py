"""`nasbench speed`: measures our speed beside a peer's."""

from __future__ import annotations

import click

from nasbench.cli.commands._data_dir import takes_data_dir
from nasbench.cli.commands._once import Command
from nasbench.cli.speed import tables


@click.command(cls=Command)
@takes_data_dir
def speed() -> None:
    """Measure our speed beside a peer's, in one process.

    It takes long: minutes for NASBOT, and seven minutes of one core for the tables that train. Each table is printed
    once it is measured.
    """
    tables.main()
