"""NAS-Bench-101 (Ying et al., ICML 2019), from its official file or a CSV of its runs.

The file's records are JSON lists [hash, epochs, adjacency, operations, metrics]; the last item is a message of Protocol
Buffers in base 64. Each cell has three trainings of 4, 12, 36 and 108 epochs each, all separate.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from nasbench.base.errors import UsageError
from nasbench.base.files import digest_of
from nasbench.base.metrics import Metric
from nasbench.base.textfile import check_file
from nasbench.benchmarks.protobuf import Malformed, fields
from nasbench.benchmarks.spaces.nasbench101 import EDGES, ListedCells, compact, point_of
from nasbench.benchmarks.spaces.published.nasbench101 import MOST_EDGES
from nasbench.benchmarks.tabular.frames import column_names, numbers_of, read_columns, row_of
from nasbench.benchmarks.tabular.imported import TableData
from nasbench.benchmarks.tabular.table import MOST_REPETITIONS
from nasbench.benchmarks.tabular.tfrecord import records

NAME = "nb101"
_CELL = ("adjacency", "operations")
_MEASURED = ("valid", "test", "seconds")
_MOST_EPOCHS = 1000
_OVERHEAD = 16  # bytes of a record in addition to its payload


Cell = tuple[str, str]
"""Adjacency matrix and operations, as written in the file."""


def convert(path: Path, progress: Callable[[int], None]) -> TableData:
    """The table of an official file, or of a CSV.

    Args:
        path: a `.tfrecord`; or a CSV (also compressed) or Parquet file with a row per cell and repetition: adjacency,
            operations, repetition, parameters, and for some epochs e valid@e, test@e (percent) and time@e (seconds).
        progress: called with the number of bytes read since the last call.

    Raises UsageError if the file cannot be read, is damaged, or is of another kind.
    """
    check_file(path)
    read = _of_records if path.suffix == ".tfrecord" else _of_columns
    return _table(*read(path, progress), path)


class Measured(NamedTuple):
    """What was measured at one point of a training."""

    seconds: float
    train: float
    """Accuracies in [0, 1]."""
    valid: float
    test: float


class Training(NamedTuple):
    """A record of the official file: one training of one cell."""

    module: str
    """The benchmark's hash of the cell."""
    epochs: int
    cell: Cell
    parameters: int
    halfway: Measured
    final: Measured
    size: int
    """Bytes of the record."""


def trainings(path: Path) -> Iterator[Training]:
    """The trainings in an official file, in their order. Raises UsageError if it is damaged or of another kind."""
    for payload in records(path):
        try:
            module, epochs, adjacency, operations, metrics = json.loads(payload)
            texts = (module, adjacency, operations)
            if not (all(isinstance(text, str) for text in texts) and 1 <= int(epochs) <= _MOST_EPOCHS):
                raise Malformed("a record is a hash, a number of epochs, two texts of a cell, and its measurements")
            parameters, halfway, final = _measurements(base64.b64decode(metrics, validate=True))
        except (ValueError, TypeError, Malformed, binascii.Error, RecursionError, OverflowError) as error:
            raise UsageError(
                f"{path} is not a file of NAS-Bench-101: {type(error).__name__}: {str(error)[:120]}"
            ) from None
        cell, size = (adjacency, operations), len(payload) + _OVERHEAD
        yield Training(module, int(epochs), cell, parameters, halfway, final, size)


def _measurements(message: bytes) -> tuple[int, Measured, Measured]:
    """The parameters, and what was measured half way and at the end. Raises Malformed for another kind of message."""
    evaluations, parameters = [], -1
    for number, value in fields(message):
        if number == 1 and isinstance(value, bytes):
            evaluations.append(dict(fields(value)))
        elif number == 2 and isinstance(value, int):
            parameters = value
    if len(evaluations) != 3 or parameters < 0:
        raise Malformed(f"{len(evaluations)} evaluations of a training, where three are: before, half way, at the end")
    halfway, final = (
        Measured(*(x if isinstance(x := one.get(number), float) else math.nan for number in (2, 3, 4, 5)))
        for one in evaluations[1:]
    )
    return parameters, halfway, final


def _of_records(path: Path, progress: Callable[[int], None]) -> tuple[list[Cell], pd.DataFrame]:
    """The cells, and the runs with the positions of their cells."""
    cells: dict[Cell, int] = {}
    columns = {name: array("d") for name in ("cell", "epochs", *_MEASURED, "parameters")}
    for one in trainings(path):
        number, final = cells.setdefault(one.cell, len(cells)), one.final
        row = (number, one.epochs, final.valid, final.test, final.seconds, one.parameters)
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
        progress(one.size)
    return list(cells), pd.DataFrame({name: np.array(values) for name, values in columns.items()})


def _of_columns(path: Path, progress: Callable[[int], None]) -> tuple[list[Cell], pd.DataFrame]:
    """The cells, and the runs with the positions of their cells."""
    header = column_names(path)
    levels = sorted(
        {int(match[1]) for match in (re.fullmatch(r"valid@([1-9][0-9]*)", name) for name in header) if match}
    )
    if not levels:
        raise UsageError(f"{path} has no column such as valid@108")
    texts = set(_CELL)
    measured = {f"{name}@{e}": "percent or seconds" for e in levels for name in ("valid", "test", "time")}
    wanted = dict.fromkeys(texts, "the cell") | {"parameters": "the size", "repetition": "the run"} | measured
    frame = read_columns(path, wanted, texts, header)
    progress(path.stat().st_size)
    empty = frame[list(_CELL)].isna().any(axis=1)
    if empty.any():
        raise UsageError(f"row {row_of(empty)} of {path} has no cell: adjacency or operations is empty")
    twice = frame.duplicated([*_CELL, "repetition"])
    if twice.any():
        raise UsageError(f"row {row_of(twice)} of {path} repeats a cell with the same repetition")
    number = frame.groupby(list(_CELL), sort=False).ngroup()
    cells = list(frame[list(_CELL)].drop_duplicates().itertuples(index=False, name=None))
    parts = []
    for epochs in levels:
        part = pd.DataFrame({"cell": number, "repetition": frame["repetition"], "epochs": epochs})
        for name, column, unit in (("valid", "valid", 100), ("test", "test", 100), ("seconds", "time", 1)):
            part[name] = numbers_of(frame, {"column": f"{column}@{epochs}"}, path) / unit
        part["parameters"] = numbers_of(frame, {"column": "parameters"}, path)
        parts.append(part.dropna(subset=["valid"]).sort_values("repetition", kind="stable"))
    return cells, pd.concat(parts, ignore_index=True)


def _table(cells: list[Cell], runs: pd.DataFrame, path: Path) -> TableData:
    numbers, shares = runs[[*_MEASURED, "parameters"]].to_numpy(), runs[["valid", "test"]].to_numpy()
    if not len(runs) or not np.isfinite(numbers).all() or (numbers < 0).any() or (shares > 1).any():
        raise UsageError(f"{path} has no runs, or an invalid accuracy or time")
    try:
        points = np.array([compact(point_of(adjacency, names.split(","))) for adjacency, names in cells], np.int8)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    edges = points[:, : len(EDGES)].sum(axis=1)
    if edges.max() > MOST_EDGES:
        raise UsageError(f"{path} has a cell of {edges.max()} edges: one of NAS-Bench-101 has at most {MOST_EDGES}")
    points, rows = np.unique(points, axis=0, return_inverse=True)
    if len(points) < len(cells):
        raise UsageError(f"{path} has one cell written in two ways: {len(cells):,} ways to write {len(points):,} cells")
    row = rows.ravel()[runs["cell"].to_numpy(np.int64)]
    levels, level = np.unique(runs["epochs"].to_numpy(np.int64), return_inverse=True)
    number = runs.assign(row=row).groupby(["row", "epochs"]).cumcount().to_numpy()
    if number.max() >= MOST_REPETITIONS:
        raise UsageError(f"{path} has a cell with more than {MOST_REPETITIONS} runs")
    curves = np.full((len(points), number.max() + 1, len(levels), len(_MEASURED)), np.nan, np.float32)
    measured = [100 * (1 - numbers[:, 0]), 100 * (1 - numbers[:, 1]), numbers[:, 2]]
    curves[row, number, level] = np.stack(measured, axis=1)
    values = np.full((*curves.shape[:2], len(_MEASURED) + 1), np.nan)
    last = level == len(levels) - 1
    values[row[last], number[last], :-1] = np.stack(measured, axis=1)[last]
    values[row, :, -1] = numbers[:, 3, None] / 1e6
    top = int(levels[-1])
    metrics = (
        Metric(f"valid-error@{top}", "%", description="100 - validation accuracy", split="valid", epoch=top),
        Metric(f"test-error@{top}", "%", description="100 - test accuracy", split="test", epoch=top),
        Metric("train_time", "s", description=f"training time of all {top} epochs"),
        Metric("model_size", "M parameters", description="number of parameters", cheap=True),
    )
    return TableData(
        NAME,
        "nas-bench-101",
        ListedCells(points),
        metrics,
        "train_time",
        f"NAS-Bench-101 (Ying et al., ICML 2019), imported from {path.name}, sha256:{digest_of(path)}",
        "Apache-2.0",
        values,
        curves if len(levels) > 1 else None,
        tuple(metric.name for metric in metrics[:3]) if len(levels) > 1 else (),
        tuple(levels.tolist()) if len(levels) > 1 else (),
        continuable=False,
    )
