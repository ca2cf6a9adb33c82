"""Columns of a file as metrics of an existing table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nasbench.base.errors import UsageError, check_choice, unprintable
from nasbench.base.metrics import Metric, sounds_like_test
from nasbench.benchmarks.tabular.added import Columns, digest_of, names
from nasbench.benchmarks.tabular.frames import column_names, numbers_of, read_columns, row_of
from nasbench.benchmarks.tabular.specification import METRIC_NAME
from nasbench.benchmarks.tabular.table import TabularBenchmark


def read(
    table: TabularBenchmark, data: Path, key: str, wanted: tuple[str, ...] = (), prefix: str = "", unit: str = ""
) -> Columns:
    """Reads columns of a CSV (also compressed) or Parquet file as metrics of a table.

    Args:
        table: the table.
        data: the file.
        key: the column with the keys of configurations (`FiniteSpace.key`).
        wanted: the columns; by default all columns of numbers, except one called `index`.
        prefix: a prefix of the metrics' names, before the names of the columns.
        unit: the unit of all metrics.

    Raises UsageError, naming file, column and row, if the file cannot be read or does not fit.
    """
    header = column_names(data)
    check_choice(f"column (the key) of {data}", key, header)
    chosen = {name: "a metric" for name in wanted or header if name != key}
    frame = read_columns(data, {key: "the key"} | chosen, {key}, header)
    if not wanted:
        for name in chosen:
            _refuse_text(frame[name], data)
        numbers = [n for n in chosen if n != "index" and pd.api.types.is_numeric_dtype(frame[n])]
        chosen = {n: chosen[n] for n in numbers if not pd.api.types.is_bool_dtype(frame[n])}
    if not chosen:
        raise UsageError(f"{data} has no column of numbers beside {key}")
    rows = _rows(table, frame[key], data)
    metrics = tuple(_metric(f"{prefix}{name}", name, unit, data) for name in chosen)
    for metric in metrics:
        if metric.name in {m.name for m in table.metrics} - names(table.name):
            raise UsageError(f"{table.name} has a metric called {metric.name} of its own: give a --prefix")
    values = np.full((table.space.size, len(metrics)), np.nan)
    for number, name in enumerate(chosen):
        values[rows, number] = numbers_of(frame, {"column": name}, data)
    return Columns(metrics, values, digest_of(table.space))


def _refuse_text(column: pd.Series[Any], data: Path) -> None:
    """Raises UsageError for a column of numbers in which some cells are text: it would be left out."""
    if pd.api.types.is_numeric_dtype(column):
        return
    is_text = pd.to_numeric(column, errors="coerce").isna() & column.notna()
    if 0 < is_text.sum() < len(column) / 2:
        raise UsageError(
            f"{column.name} of {data} is {column[is_text].iloc[0]!r} in row {row_of(is_text)}, and a number in most "
            "rows: leave that cell empty, or name the columns to add with --column"
        )


def _rows(table: TabularBenchmark, keys: pd.Series[Any], data: Path) -> np.ndarray:
    """The number of the configuration in each row of the file."""
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
        raise UsageError(f"metric name {name!r} must be a letter, then letters, digits, _, . or -: add a --prefix")
    if why := unprintable(unit):
        raise UsageError(f"a unit is one line of printable text, not {unit!r}: {why}")
    if sounds_like_test(column) or sounds_like_test(name):
        raise UsageError(
            f"{column} of {data} sounds like a score on a test split, which no search may see: columns are costs and "
            "properties of networks; scores belong in a separate table (`nasbench import table`)"
        )
    return Metric(name, unit, description=f"column {column} of {data.name}")
