"""A table of the user's own: a CSV or Parquet file, and a specification (TOML) of what its columns are."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nasbench.benchmarks.metrics import LARGEST, Metric
from nasbench.benchmarks.spaces import Categorical, FiniteSpace, Float, GridSpace, Hyperparameter, Integer, Ordinal
from nasbench.benchmarks.spaces.errors import UsageError, unknown
from nasbench.benchmarks.spaces.listed import ListedSpace, listed
from nasbench.benchmarks.spaces.network_grids import grid
from nasbench.benchmarks.tabular.frames import column_names, extracted, numbers_of, read_columns, row_of
from nasbench.benchmarks.tabular.imported import Table
from nasbench.benchmarks.tabular.specification import (
    MISSING,
    PLACE,
    columns_of,
    metric_of,
    read_specification,
    texts_of,
)
from nasbench.benchmarks.tabular.table import Array

MOST_ABSENT = 100
"""Most configurations of a grid per row of the file: in a larger grid some column is no hyper-parameter."""
_MOST_REPETITIONS = 255
_ALONG = ["row", "repetition"]


def read_table(data: Path, spec: Path) -> Table:
    """A table from a CSV (also compressed) or Parquet file, as its specification says.

    Raises UsageError, naming file and column, if either cannot be read, or they do not fit.
    """
    facts = read_specification(spec)
    found = column_names(data)
    entries, levels = _columns_along(facts, found, spec)
    wanted = columns_of(facts) | {name: f"metric {m['name']}" for m in entries for name in m.get("columns", ())}
    frame = read_columns(data, wanted, texts_of(facts) & wanted.keys(), found, f", says {spec}")
    frame = extracted(frame, facts.get("extract", {}), data)
    space, rows = _space(facts, frame, data, spec)
    metrics = [metric_of(m, spec) for m in entries]
    columns = [numbers_of(frame, m, data) for m in entries]
    cost = facts["cost"]
    if not isinstance(cost, str):
        metrics.append(Metric("cost", "s", description="of an evaluation, as the specification says"))
        columns.append(np.full(len(frame), float(cost)))
        cost = "cost"
    levels, at = (levels, None) if levels else _levels_in(facts, frame, entries, data, spec)
    last = np.full(len(frame), True) if at is None else at == len(levels) - 1
    _check_metrics(metrics, columns, cost, last, data, spec)
    along = [i for i, m in enumerate(entries) if "columns" in m or (at is not None and m.get("curve"))]
    if levels:
        _check_curves([metrics[i] for i in along], levels, spec)
    slots = _slots(frame, facts, rows, at, last & np.isfinite(columns[0]), data)
    own = slots[slots["last"]]
    shape = (space.size, int(slots["number"].max()) + 1)
    values = np.full((*shape, len(columns)), np.nan)
    for i, column in enumerate(columns):
        values[own["row"], own["number"], i] = column[own["place"]]
    curves = np.full((*shape, len(levels), len(along)), np.nan) if along else None
    for i, m in enumerate(along):
        assert curves is not None
        if at is not None:
            curves[slots["row"], slots["number"], at[slots["place"]], i] = columns[m][slots["place"]]
            continue
        for level, name in enumerate(entries[m]["columns"]):
            curves[own["row"], own["number"], level, i] = numbers_of(frame, entries[m] | {"column": name}, data)[
                own["place"]
            ]
    _check_absent(values, metrics[0], space, facts, data, spec)
    with data.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Table(
        facts["name"],
        facts.get("family", facts["name"]),
        space,
        tuple(metrics),
        cost,
        f"{facts.get('source', 'imported by the user')}; {data.name}, sha256:{digest}",
        facts.get("licence", "as its owner says"),
        values,
        curves,
        tuple(metrics[i].name for i in along),
        levels if along else (),
        absent=MISSING[facts.get("missing", "invalid")],
    )


def _columns_along(facts: dict[str, Any], found: list[str], spec: Path) -> tuple[list[dict[str, Any]], tuple[int, ...]]:
    """The metrics with their columns, `columns` of those that have one per epoch; and these epochs, ascending."""
    levels: set[tuple[int, ...]] = set()
    for entry in facts["metric"]:
        column = entry.setdefault("column", entry["name"])
        if PLACE not in column:
            continue
        pattern = re.escape(column).replace(re.escape(PLACE), "([1-9][0-9]*)")
        epochs = tuple(sorted({int(match[1]) for match in (re.fullmatch(pattern, name) for name in found) if match}))
        if not epochs:
            raise UsageError(f"no column is called {column} (metric {entry['name']}, says {spec}) with a number there")
        levels.add(epochs)
        entry["columns"] = [column.replace(PLACE, str(epoch)) for epoch in epochs]
        entry["column"] = entry["columns"][-1]
    if len(levels) > 1:
        raise UsageError(f"the metrics of {spec} with a column per epoch have them for different epochs")
    if levels and "epoch" in facts:
        raise UsageError(f"{spec} has a column of epochs and a column per epoch: it is one or the other")
    if "epoch" not in facts and any(entry.get("curve") for entry in facts["metric"]):
        raise UsageError(f'{spec} has curve = true: epoch = "COLUMN" names the column that counts epochs')
    return facts["metric"], levels.pop() if levels else ()


def _levels_in(
    facts: dict[str, Any], frame: pd.DataFrame, entries: list[dict[str, Any]], data: Path, spec: Path
) -> tuple[tuple[int, ...], np.ndarray | None]:
    """The epochs in the column that counts them, ascending, and the number of each row's epoch among them."""
    if "epoch" not in facts:
        return (), None
    if not any(entry.get("curve") for entry in entries):
        raise UsageError(f"{spec} has a column of epochs, and no metric with curve = true")
    epochs = numbers_of(frame, {"column": facts["epoch"]}, data)
    bad = pd.Series(~(np.isfinite(epochs) & (epochs > 0) & (epochs == np.floor(epochs))))
    if bad.any():
        raise UsageError(f"{facts['epoch']} of {data} is no epoch (1, 2, …) in row {row_of(bad)}")
    levels, at = np.unique(epochs.astype(np.int64), return_inverse=True)
    return tuple(levels.tolist()), at


def _space(facts: dict[str, Any], frame: pd.DataFrame, data: Path, spec: Path) -> tuple[FiniteSpace, np.ndarray]:
    """The space of a table, and the configuration that each row of the file is about."""
    kind = facts.get("space", "")
    hyperparameters = [_hyperparameter(h, frame, kind, spec) for h in facts["hyperparameter"]]
    names = [h.get("column", h["name"]) for h in facts["hyperparameter"]]
    coordinates = [_coordinates(h, frame[name], data) for h, name in zip(hyperparameters, names, strict=True)]
    if kind == ListedSpace.table_kind:
        points, rows = np.unique(np.stack(coordinates, axis=1), axis=0, return_inverse=True)
        if points.dtype.kind == "i":
            points = points.astype(np.int16 if points.max() < 2**15 else np.int32)
        return listed(hyperparameters, points), rows.ravel()
    choices = [h for h in hyperparameters if isinstance(h, Categorical | Ordinal)]
    try:
        space = grid(kind, choices)
    except UsageError as error:
        raise UsageError(f"{spec}: {error}") from None
    if space.size > MOST_ABSENT * len(frame):
        raise UsageError(
            f"the hyper-parameters of {spec} span {space.size:,} configurations, but {data} has {len(frame):,} rows: "
            'a grid has most of its rows; with space = "listed" the rows are the space'
        )
    return space, _grid_rows(space, coordinates)


def _grid_rows(space: GridSpace, coordinates: Sequence[np.ndarray]) -> np.ndarray:
    rows = np.zeros(len(coordinates[0]), np.int64)
    for choices, size in zip(coordinates, space.sizes, strict=True):
        rows = rows * size + choices
    return rows


def _hyperparameter(facts: dict[str, Any], frame: pd.DataFrame, space: str, spec: Path) -> Hyperparameter:
    column = frame[facts.get("column", facts["name"])]
    if column.isna().any():
        raise UsageError(f"{column.name} has no value in row {row_of(column.isna())}: a hyper-parameter always has one")
    kind, name, log = facts["kind"], facts["name"], facts.get("log", False)
    if kind != "categorical" and not pd.api.types.is_numeric_dtype(column):
        numbers = pd.to_numeric(column, errors="coerce")
        if numbers.notna().all():
            frame[column.name] = column = numbers  # extracted from text
    try:
        values = tuple(facts.get("values") or sorted(column.unique().tolist()))
    except TypeError:
        values = (None,)
    if not all(isinstance(value, str | int | float | bool) for value in values):
        raise UsageError(f"the values of {name} ({column.name} of {spec}) must be text, numbers or booleans")
    if kind == "categorical":
        return Categorical(name, values)
    kinds = ["categorical", "ordinal", *(["float", "integer"] if space == ListedSpace.table_kind else [])]
    if kind not in kinds:
        raise UsageError(f"kind = {kind!r} of {name} in {spec} is unknown; allowed: {', '.join(kinds)}")
    if not all(isinstance(v, int | float) and not isinstance(v, bool) and abs(v) <= LARGEST for v in values):
        raise UsageError(
            f"{name} is {kind} in {spec}, but not all of its values are numbers of at most {LARGEST:g} in size: "
            f"{values[:5]}"
        )
    if kind == "ordinal":
        return Ordinal(name, values, log)
    if kind == "float":
        return Float(name, float(min(values)), float(max(values)), log)
    if any(value != int(value) for value in values):
        raise UsageError(f"{name} is integer in {spec}, but not all of its values are: {values[:5]}")
    return Integer(name, int(min(values)), int(max(values)), log)


def _coordinates(h: Hyperparameter, column: pd.Series[Any], data: Path) -> np.ndarray:
    """The coordinate of each row of the file along one hyper-parameter (see `spaces.flat`)."""
    if isinstance(h, Float | Integer):
        return column.to_numpy(np.float64)
    choices = column.map({value: i for i, value in enumerate(h.values)})
    if choices.isna().any():
        bad = column[choices.isna()].iloc[0]
        raise UsageError(
            f"{column.name} is {bad!r} in row {row_of(choices.isna())} of {data}, which is not among its values: "
            f"{', '.join(map(str, h.values))}"
        )
    return choices.to_numpy(np.int64)


def _check_metrics(
    metrics: list[Metric], columns: list[Array], cost: str, last: np.ndarray, data: Path, spec: Path
) -> None:
    if metrics[0].split is None:
        raise UsageError(f"the objective {metrics[0].name} of {spec} needs a split: on which data is it measured?")
    by_name = {m.name: column for m, column in zip(metrics, columns, strict=True)}
    if len(by_name) < len(metrics):
        raise UsageError(f"{spec} gives two metrics the same name: {', '.join(m.name for m in metrics)}")
    if cost not in by_name:
        raise unknown(f"metric as the cost in {spec}", cost, by_name)
    costs = by_name[cost][last & np.isfinite(columns[0])]
    if not ((costs >= 0) & (costs <= LARGEST)).all():
        raise UsageError(
            f"the cost {cost} of {data} must be a finite number of seconds, from 0 to {LARGEST:g}, in every row"
        )


def _check_curves(metrics: list[Metric], levels: tuple[int, ...], spec: Path) -> None:
    for metric in metrics:
        if metric.split is not None and metric.epoch != levels[-1]:
            raise UsageError(
                f"metric {metric.name} of {spec} is known up to epoch {levels[-1]}: it needs epoch = {levels[-1]}, and "
                f"its name must end in @{levels[-1]}"
            )


def _slots(
    frame: pd.DataFrame, facts: dict[str, Any], rows: np.ndarray, at: np.ndarray | None, known: np.ndarray, data: Path
) -> pd.DataFrame:
    """Where the rows of the file go: `row` and `number` of the repetition, for the row at `place` of the file.

    A row whose objective is not known at the last epoch is no repetition, and neither are those of its earlier epochs.
    `last` says which rows are of the last epoch.
    """
    repetition = facts.get("repetition")
    numbers = pd.factorize(frame[repetition].astype(str), sort=True)[0] if repetition else 0
    keys = pd.DataFrame({"row": rows, "repetition": numbers, "level": 0 if at is None else at})
    twice = keys.duplicated()
    if twice.any():
        advice = (
            f" with the same {repetition}" if repetition else "; if it is a repetition, name the column that numbers it"
        )
        advice += "" if at is None else f" and {facts['epoch']}"
        raise UsageError(
            f"row {row_of(twice)} of {data} repeats the configuration of an earlier one{advice} (or is another column "
            "a hyper-parameter, too?)"
        )
    kept = keys[known].sort_values(_ALONG)
    kept["number"] = kept.groupby("row").cumcount()
    if kept["number"].max() > _MOST_REPETITIONS - 1:
        raise UsageError(f"{data} has a configuration with more than {_MOST_REPETITIONS} repetitions")
    if not len(kept):
        raise UsageError(f"{data} has no value of {facts['metric'][0]['name']} at all")
    keys["place"], keys["last"] = np.arange(len(keys)), known
    return keys.merge(kept[[*_ALONG, "number"]], on=_ALONG)


def _check_absent(
    values: Array, objective: Metric, space: FiniteSpace, facts: dict[str, Any], data: Path, spec: Path
) -> None:
    absent = int((~np.isfinite(values[:, :, 0]).any(axis=1)).sum())
    kind = "list" if isinstance(space, ListedSpace) else "grid"
    if absent and "missing" not in facts:
        raise UsageError(
            f"{absent} of the {space.size} configurations of the {kind} have no value of {objective.name} in {data}: "
            f'put missing = "invalid" into {spec} if asking for them is to be a failed evaluation, missing = '
            '"infeasible" if they cannot be evaluated at all'
        )
