"""`nasbench speed`: measures our speed beside a peer's, or on a GPU."""

from __future__ import annotations

from pathlib import Path

import click

from nasbench.base.exits import DONE, SOME_FAILED
from nasbench.cli.commands.data_dir import takes_data_dir
from nasbench.cli.commands.once import Command
from nasbench.cli.speed import tables


@click.command(cls=Command)
@click.option(
    "--gpu",
    is_flag=True,
    help="Measure training and one-shot search on this machine's CUDA device instead, row by row.",
)
@click.option(
    "--seconds",
    type=float,
    metavar="S",
    help="With --gpu: the longest that all rows may take.  [default: 480]",
)
@click.option("--only", multiple=True, metavar="ROW", help="With --gpu: measure this row alone; repeatable.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, writable=True, path_type=Path),
    metavar="DIR",
    help="With --gpu: write the table to DIR/gpu.csv, too.",
)
@click.option("--cpu", is_flag=True, help="With --gpu: try the rows on the CPU, at small sizes.")
@takes_data_dir
def speed(gpu: bool, seconds: float | None, only: tuple[str, ...], out: Path | None, cpu: bool) -> int:
    """Measure our speed beside a peer's, in one process; or with --gpu what a CUDA device gives.

    It takes long: minutes for NASBOT, and seven minutes of one core for the tables that train. Each table is printed
    once it is measured.
    With --gpu every row has a share of the time. One that fails or is too slow says why, and the others go on; the
    exit code is then 1. From a bare checkout with PyTorch alone: python -m nasbench.cli.speed.gpu
    """
    if not gpu:
        asked = {"--seconds": seconds is not None, "--only": only, "--out": out, "--cpu": cpu}
        for option in (name for name, is_given in asked.items() if is_given):
            raise click.UsageError(f"{option} goes with --gpu")
        tables.main()
        return DONE
    from nasbench.cli.speed.gpu import measure

    return DONE if measure.main(measure.SECONDS if seconds is None else seconds, only, out, cpu) else SOME_FAILED
