"""`nasbench speed`: measures our speed beside a peer's, or on a GPU."""

from __future__ import annotations

from pathlib import Path

import click

from nasbench.cli.commands.options import takes_data_dir
from nasbench.cli.exits import DONE, SOME_FAILED
from nasbench.cli.speed import tables


@click.command()
@click.option(
    "--gpu",
    is_flag=True,
    help="Measure training and one-shot search on this machine's CUDA device instead, in at most 8 minutes.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, writable=True, path_type=Path),
    metavar="DIR",
    help="With --gpu: write the tables as CSV into this folder, too.",
)
@takes_data_dir
def speed(gpu: bool, out: Path | None) -> int:
    """Measure our speed beside a peer's, in one process; or with --gpu what a CUDA device gives.

    It takes long: the tables that train, seven minutes of one core. Each table is printed once it is measured.
    With --gpu every row has a share of the time. One that fails or is too slow says why, and the others go on; the
    exit code is then 1.
    """
    if not gpu:
        if out is not None:
            raise click.UsageError("--out goes with --gpu: without it nothing is written")
        tables.main()
        return DONE
    from nasbench.cli.speed.gpu.device import require_device

    require_device()
    from nasbench.cli.speed.gpu import measure

    return DONE if measure.main(out) else SOME_FAILED
