"""Saves imported and fetched data as benchmarks and metrics, and tells the user."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nasbench.base.numbers import count
from nasbench.base.streams import say
from nasbench.benchmarks import BENCHMARKS, UsageError
from nasbench.benchmarks.sources import Source
from nasbench.benchmarks.tabular import EMBEDDED, added, imported
from nasbench.methods import METHODS


def keep(source: Source, folder: Path, every: bool = False) -> None:
    """Makes benchmarks and metrics of the files of a source in a folder; see `Source.convert`."""
    for made in source.convert(folder, every):
        if isinstance(made, imported.TableData):
            save_table(made)
        elif isinstance(made, str):
            say(made)
        else:
            save_columns(*made)


def save_table(table: imported.TableData) -> None:
    """Keeps a table as a benchmark. Raises UsageError if another benchmark or a method has its name."""
    if table.name in METHODS.names():
        raise UsageError(f"{table.name} is the name of a method: give the table another name")
    if BENCHMARKS.is_taken(table.name) and table.name not in EMBEDDED:
        raise UsageError(f"{table.name} is the name of another benchmark: rename the file, or remove that benchmark")
    before = _checksum_before(table.name)
    folder = imported.save(table)
    objective, known = table.values[:, :, 0], np.isfinite(table.values[:, :, 0])
    say(
        f"{table.name}: {int(known.any(axis=1).sum()):,} of {count(table.space.size, 'configuration')}, up to "
        f"{count(int(known.sum(axis=1).max()), 'repetition')}; minimises {table.metrics[0].name}, from "
        f"{np.nanmin(objective):.6g} to {np.nanmax(objective):.6g}; kept in {folder} until you delete it; `nasbench "
        f"show {table.name}` says more"
    )
    if table.left_out:
        trainings = count(table.left_out, "training")
        say(
            f"notice: {trainings} without a value of {table.metrics[0].name} left out: an evaluation draws from the "
            "other repetitions",
            err=True,
        )
    if out := table.levels_left_out:
        named = ", ".join(map(str, out[:5])) + ", …" * (len(out) > 5)
        say(
            f"notice: the table has no level at {table.counted[0]} {named}: not every training with a value of "
            f"{table.metrics[0].name} has one there",
            err=True,
        )
    if before not in ("", imported.open_imported(table.name).checksum):
        say(f"notice: it replaces an earlier {table.name}: runs on that table are stale now", err=True)


def save_columns(name: str, new: added.Columns) -> None:
    """Adds metrics to a table, and says so."""
    folder = added.save(name, new)
    known = int(np.isfinite(new.values).any(axis=1).sum())
    say(
        f"{name}: {count(len(new.metrics), 'metric')} for {known:,} of {count(len(new.values), 'configuration')}, "
        f"{new.metrics[0].name} to {new.metrics[-1].name}; kept in {folder} until you delete it"
    )
    say(f"notice: runs on {name} without these metrics are stale now", err=True)


def _checksum_before(name: str) -> str:
    """Checksum of the imported table with this name; empty if there is none, or it is damaged."""
    try:
        return imported.open_imported(name).checksum if name in imported.names() else ""
    except UsageError:
        return ""
