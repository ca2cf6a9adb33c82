"""The option --data-dir, which many commands take."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import click

Command: TypeAlias = Callable[..., Any]


def takes_data_dir(command: Command) -> Command:
    """Adds the option --data-dir to a command: it replaces $NASBENCH_DATA, also in processes that it starts."""
    return _data_dir("Folder of data sets and imported tables, in place of $NASBENCH_DATA.", exists=True)(command)


def makes_data_dir(command: Command) -> Command:
    """Adds the option --data-dir to a command that makes the folder where it is missing."""
    return _data_dir("Folder for data sets and imported tables, in place of $NASBENCH_DATA.", exists=False)(command)


def _data_dir(meaning: str, exists: bool) -> Callable[[Command], Command]:
    def use(context: click.Context, option: click.Parameter, folder: Path | None) -> None:
        if folder is not None:
            os.environ["NASBENCH_DATA"] = str(folder.resolve())

    return click.option(
        "--data-dir",
        type=click.Path(exists=exists, file_okay=False, path_type=Path),
        metavar="DIR",
        expose_value=False,
        is_eager=True,
        callback=use,
        help=meaning,
    )
