"""What a folder is: a store, or something else."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

HEADER = "0-schema.parquet"
"""The file without rows that shows readers of a store's folder all its columns."""


def what_is_there(folder: Path) -> str:
    """What the folder is instead of a store, and which stores are near."""
    quoted = shlex.quote(str(folder))
    if folder.exists() and not folder.is_dir():
        return "it is a file" + f"; `nasbench report --against {quoted}` reports an archive" * (folder.suffix == ".zip")
    absent = "" if folder.is_dir() else "there is no such folder; "
    near, called = (folder.parent, str(folder.parent)) if absent else (folder, "it")
    if stores := sorted(path.parent.name for path in near.glob(f"*/{HEADER}")):
        return f"{absent}{called} holds the stores {', '.join(stores)}"
    return f"{absent}`nasbench run --store {quoted}` makes one" if absent else "it holds no runs"


def is_store(folder: Path) -> bool:
    """Whether a folder is a trajectory store, possibly one that lost its header."""
    return (folder / HEADER).is_file() or (folder / "_plans").is_dir()


def is_inner(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of a folder is a store."""
    try:
        return entry.is_dir() and is_store(Path(entry.path))
    except OSError:
        return False  # a link that leads to itself
