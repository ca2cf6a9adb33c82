"""The table of runs that Weights & Biases exports as CSV."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd

from nasbench.base.errors import UsageError
from nasbench.cli.outside._tracked import Tracked, metric_of, rows_of
from nasbench.cli.outside.readers._reader import READERS, Reader
from nasbench.cli.outside.rows import Asked, Rows
from nasbench.cli.outside.texts import frame_of, header_of

_OWN = {"Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "ID", "Group", "Job Type", "Updated"}
_OWN |= {"End Time", "Host", "Hostname", "GPU Type", "GPU Count", "Commit", "GitHub", "Registry"}
"""Columns that do not come of a user's configuration or summary; those that begin with `_` are none, either."""
_UNDER_WAY = ("running", "pending")


class WandbRuns(Reader):
    """A run of Weights & Biases is an evaluation of the file's run, or of the method, benchmark and seed it names."""

    title = "runs of Weights & Biases"

    def knows(self, path: Path) -> bool:
        return {"Name", "State", "Created", "Runtime"} <= {*header_of(path)}

    def read(self, path: Path, asked: Asked) -> Rows:
        frame = frame_of(path)
        frame = frame[~frame["State"].isin(_UNDER_WAY)].reset_index(drop=True)
        own = [str(name) for name in frame if name not in _OWN and not str(name).startswith("_")]
        numbers = [name for name in own if pd.api.types.is_numeric_dtype(frame[name])]
        metric = metric_of(numbers, asked)
        started, took = _seconds(frame, path)
        kept = []
        for number, row in enumerate(frame[own].to_dict("records")):
            value = row.pop(metric)
            known = {str(name): other for name, other in row.items() if not pd.isna(other)}
            began, spent = float(started.iloc[number]), float(took.iloc[number])
            kept.append(
                Tracked(
                    experiment=path.stem,
                    started=began,
                    finished=None if pd.isna(spent) else began + spent,
                    facts=known,
                    configuration=known,
                    value=None if pd.isna(value) else float(value),
                    is_ok=frame["State"].iloc[number] == "finished",
                    cost=None if pd.isna(spent) else spent,
                )
            )
        rows = rows_of(kept, metric, path.resolve().parent.name, asked)
        note = f"{rows.note}; the other columns, of configuration and summary, are kept as the configuration"
        return replace(rows, note=note)


def _seconds(frame: pd.DataFrame, path: Path) -> tuple[pd.Series[float], pd.Series[float]]:
    """When the runs began, and how long they took. Raises UsageError if they cannot be ordered."""
    try:
        dates = pd.to_datetime(frame["Created"], utc=True)
    except (ValueError, TypeError):
        raise UsageError(f"Created of {path} is no date") from None
    if dates.isna().any():
        raise UsageError(f"Created of {path} is empty in a row, and orders the runs")
    took = pd.to_numeric(frame["Runtime"], errors="coerce")
    return (dates - pd.Timestamp(0, tz="UTC")).dt.total_seconds(), took.astype(float)


READERS.add("wandb", WandbRuns())
