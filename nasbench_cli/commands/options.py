"""Options that several commands take."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def takes_data_dir(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the option --data-dir to a command: it replaces $NASBENCH_DATA, also in processes that it starts."""

    def use(context: click.Context, option: click.Parameter, folder: Path | None) -> None:
        if folder is not None:
            os.environ["NASBENCH_DATA"] = str(folder.resolve())

    return click.option(
        "--data-dir",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        expose_value=False,
        is_eager=True,
        callback=use,
        help="Where data sets and imported tables are, in place of $NASBENCH_DATA.",
    )(command)


def takes_shard(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the option --shard to a command."""
    return click.option("--shard", metavar="I/N", help="Only the I-th of N parts, which together are everything.")(
        command
    )
