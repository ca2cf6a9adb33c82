"""Metrics that a user adds to a table that is there, such as latencies on devices: `<data>/columns/NAME/`.

columns.json    which metrics they are, for a table of how many configurations, and the SHA-256 of their values
<sha256>.npy    values, shape (configurations, metrics), NaN where there is none
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from nasbench.benchmarks.folders import data_folder, data_folders
from nasbench.benchmarks.metrics import Metric, sounds_held_out
from nasbench.benchmarks.spaces.errors import UsageError, unknown
from nasbench.benchmarks.tabular.frames import column_names, numbers_of, read_columns, row_of
from nasbench.benchmarks.tabular.imported import read_array, write_array
from nasbench.benchmarks.tabular.specification import METRIC_NAME
from nasbench.benchmarks.tabular.table import Array, TabularBenchmark


class Columns(NamedTuple):
    """Metrics for every configuration of a table."""

    metrics: tuple[Metric, ...]
    values: Array
    """Shape (configurations, metrics); NaN where there is none."""


def read(
    table: TabularBenchmark, data: Path, key: str, wanted: tuple[str, ...] = (), prefix: str = "", unit: str = ""
) -> Columns:
    """Some columns of a CSV (also compressed) or Parquet file as metrics of a table.

    Args:
        key: the column with the texts by which the table's space calls its configurations (`FiniteSpace.key`).
        wanted: the columns; by default all that are numbers, but for one called `index`.
        prefix: what the metrics' names begin with, before the columns' names.
        unit: of all of them.

    Raises UsageError, naming file, column and row, if the file cannot be read or does not fit.
    """
    found = column_names(data)
    if key not in found:
        raise unknown(f"column (the key) of {data}", key, found)
    chosen = {name: "a metric" for name in wanted or found if name != key}
    frame = read_columns(data, {key: "the key"} | chosen, {key}, found, "")
    if not wanted:
        chosen = {n: w for n, w in chosen.items() if n != "index" and pd.api.types.is_numeric_dtype(frame[n])}
    if not chosen:
        raise UsageError(f"{data} has no column of numbers beside {key}")
    rows = _rows(table, frame[key], data)
    metrics = tuple(_metric(f"{prefix}{name}", name, unit, data) for name in chosen)
    kept = _kept(data_folder() / "columns" / table.name)
    earlier = [metric["name"] for metric in kept[1]["metrics"]] if kept else []
    for metric in metrics:
        if metric.name in {own.name for own in table.metrics} - set(earlier):
            raise UsageError(f"{table.name} has a metric called {metric.name} of its own: give a --prefix")
    values = np.full((table.space.size, len(metrics)), np.nan)
    for number, name in enumerate(chosen):
        values[rows, number] = numbers_of(frame, {"column": name}, data)
    return Columns(metrics, values)


def save(name: str, columns: Columns) -> Path:
    """Keeps metrics for a table in the user's data folder, beside those kept before; returns the folder.

    A metric that was kept before under the same name is replaced.
    """
    folder = data_folder() / "columns" / name
    before = _kept(folder)
    if before is not None and len(before[1]["metrics"]) and before[1]["size"] == len(columns.values):
        earlier = [Metric(**metric) for metric in before[1]["metrics"]]
        names = {metric.name for metric in columns.metrics}
        stay = [i for i, metric in enumerate(earlier) if metric.name not in names]
        values = np.concatenate([read_array(folder, before[1]["values"])[:, stay], columns.values], axis=1)
        columns = Columns((*(earlier[i] for i in stay), *columns.metrics), values)
    folder.mkdir(parents=True, exist_ok=True)
    facts: dict[str, Any] = {"size": len(columns.values), "metrics": [asdict(metric) for metric in columns.metrics]}
    facts["values"] = write_array(folder, columns.values)
    aside = folder / ".columns.json.tmp"
    aside.write_text(json.dumps(facts, indent=1))
    aside.replace(folder / "columns.json")
    for path in folder.glob("*.npy"):
        if path.stem != facts["values"]:
            path.unlink()
    return folder


def add_to(table: TabularBenchmark) -> None:
    """Adds the metrics that are kept for a table to it. Raises UsageError if they are damaged, or another table's."""
    for folder in data_folders():
        kept = _kept(folder / "columns" / table.name)
        if kept is None:
            continue
        place, facts = kept
        if facts["size"] != table.space.size:
            raise UsageError(
                f"{place} has metrics of {facts['size']:,} configurations, but {table.name} has {table.space.size:,}: "
                "import them again, or delete that folder"
            )
        metrics = [Metric(**metric) for metric in facts["metrics"]]
        checksum = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        table.add_metrics(metrics, partial(read_array, place, facts["values"]), f"sha256:{checksum}")
        return


def _kept(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    try:
        facts = json.loads((folder / "columns.json").read_bytes())
        return folder, {name: facts[name] for name in ("size", "metrics", "values")}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{folder} is damaged ({type(error).__name__}: {error}): delete it, and import again"
        ) from None


def _rows(table: TabularBenchmark, keys: pd.Series[Any], data: Path) -> np.ndarray:
    """The configuration that each row of the file is about."""
    space = table.space
    row_of_key = {space.key(space.configuration(row)): row for row in range(space.size)}
    rows = keys.map(row_of_key)
    if rows.isna().any():
        raise UsageError(
            f"{keys.name} is {str(keys[rows.isna()].iloc[0])[:80]!r} in row {row_of(rows.isna())} of {data}: no "
            f"configuration of {table.name}, which are written as {next(iter(row_of_key))}"
        )
    if rows.duplicated().any():
        raise UsageError(f"row {row_of(rows.duplicated())} of {data} repeats the configuration of an earlier one")
    return rows.to_numpy(np.int64)


def _metric(name: str, column: str, unit: str, data: Path) -> Metric:
    if not re.fullmatch(METRIC_NAME, name):
        raise UsageError(
            f"metric name {name!r} must be a letter, then letters, digits, _, . or -: --prefix puts something before it"
        )
    if sounds_held_out(column) or sounds_held_out(name):
        raise UsageError(
            f"{column} of {data} sounds like a score on a test split, which no search may see: columns are costs and "
            "properties of networks; scores belong into a table of their own (`nasbench import table`)"
        )
    return Metric(name, unit, description=f"column {column} of {data.name}")
