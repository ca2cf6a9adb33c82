"""Readers of files that other tools write: one file each, and those of plug-ins (entry points `nasbench.readers`)."""

from __future__ import annotations

from pathlib import Path

from nasbench.base.errors import UsageError
from nasbench.cli.outside.readers._reader import READERS, Reader

__all__ = ["READERS", "Reader", "reader_of"]


def reader_of(path: Path, name: str = "") -> Reader:
    """The reader with a name, or else the only one that knows a file or folder; one of a tool goes before tables.

    Raises UsageError if none knows it, or several do.
    """
    if name:
        return READERS.get(name)
    every = {name: READERS.get(name) for name in READERS.names()}
    known = [name for name, reader in every.items() if reader.knows(path)]
    known = [name for name in known if name != "table"] or known
    if len(known) == 1:
        return every[known[0]]
    if known:
        raise UsageError(f"it may be of {' or '.join(known)}: --reader {known[0]} says which")
    raise UsageError(
        f"no reader knows it; those that exist: {', '.join(every)} (--reader NAME tries one); or write a table with "
        "the columns method, benchmark, seed, evaluation, value"
    )
