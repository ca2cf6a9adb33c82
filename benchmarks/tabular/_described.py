"""The columns of a user's file as its specification describes them; all errors are reported at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nasbench.base.errors import Problems, UsageError
from nasbench.base.metrics import LARGEST, Metric
from nasbench.benchmarks.fidelity import HIGHEST
from nasbench.benchmarks.spaces import Categorical, Float, Hyperparameter, Integer, Ordinal
from nasbench.benchmarks.spaces.hyperparameters import values_text
from nasbench.benchmarks.spaces.listed import ListedSpace, smallest_integers
from nasbench.benchmarks.tabular.digits import codes
from nasbench.benchmarks.tabular.direction import doubt_of_values, looks_like_accuracy, rises, scale_of
from nasbench.benchmarks.tabular.extract import extracted
from nasbench.benchmarks.tabular.frames import (
    check_column,
    column_names,
    numbers_of,
    read_columns,
    row_of,
)
from nasbench.benchmarks.tabular.imported import check_objective
from nasbench.benchmarks.tabular.meaning import meaning_of
from nasbench.benchmarks.tabular.specification import (
    PLACE,
    columns_of,
    metric_of,
    minimised,
    objective_of,
    read_specification,
    texts_of,
)
from nasbench.benchmarks.tabular.table import Array

_SECONDS = {"", "s", "sec", "seconds"}
"""Units of a cost."""


@dataclass(frozen=True)
class Described:
    """The columns of a file, with their meanings."""

    facts: dict[str, Any]
    """The specification; each metric has its `column`, and `columns` if there is one per epoch."""
    frame: pd.DataFrame
    """The columns that the specification names."""
    hyperparameters: list[Hyperparameter]
    coordinates: list[np.ndarray]
    """For each hyper-parameter the coordinates of all rows (see `spaces.flat`), shape (rows,)."""
    metrics: dict[int, Metric]
    """The metrics by number; the objective is number 0."""
    columns: dict[int, Array]
    """The values of the metrics by number, shape (rows,); at the last epoch if there is one column per epoch."""
    levels: tuple[int, ...]
    """The epochs, ascending; empty if there are no curves."""
    at: np.ndarray | None
    """The position of each row's epoch in `levels`, if there is one row per epoch."""

    @property
    def last(self) -> np.ndarray:
        """Whether each row is of the last epoch, shape (rows,)."""
        return np.full(len(self.frame), True) if self.at is None else self.at == len(self.levels) - 1

    @property
    def along(self) -> list[int]:
        """The numbers of the metrics with curves."""
        entries = enumerate(self.facts["metric"])
        return [i for i, m in entries if "columns" in m or (self.at is not None and m.get("curve"))]


def describe(data: Path, spec: Path) -> Described:
    """The columns of a CSV (also compressed) or Parquet file, by its specification.

    Raises UsageError if either cannot be read, or with all errors of the specification, naming file and column.
    """
    problems = Problems(str(spec))
    facts = read_specification(spec, problems)
    facts["metric"] = [minimised(m) if not i or "complement_of" in m else m for i, m in enumerate(facts["metric"])]
    header: list[str] = []
    with problems.collecting():
        header = column_names(data)
    if not header:
        problems.refuse()
    levels: tuple[int, ...] = ()
    at: np.ndarray | None = None
    with problems.collecting():
        levels = _find_columns(facts, header, spec)
    frame = _frame(facts, header, data, spec, problems)
    if facts.get("epoch") in frame:
        with problems.collecting():
            levels, at = _levels_in(facts, frame, data, spec)
    axes = list(_axes(facts, frame, header, data, spec, problems))
    metrics, columns = _measured(facts, frame, data, spec, problems)
    hyperparameters, coordinates = [h for h, _ in axes], [x for _, x in axes]
    described = Described(facts, frame, hyperparameters, coordinates, metrics, columns, levels, at)
    if 0 in metrics and 0 in columns:
        with problems.collecting():
            _check_direction(described, data)
        with problems.collecting():
            _check_cost(described, data)
    with problems.collecting():
        _check_curves(described, spec)
    problems.refuse()
    return described


def _frame(facts: dict[str, Any], header: list[str], data: Path, spec: Path, problems: Problems) -> pd.DataFrame:
    """The columns of the file that are needed, and those that patterns extract from them."""
    wanted: dict[str, str] = {}
    with problems.collecting():
        wanted = columns_of(facts)
    wanted |= {name: f"metric {m['name']}" for m in facts["metric"] for name in m.get("columns", ())}
    patterns = {metric.get("column") for metric in facts["metric"] if PLACE in metric.get("column", "")}
    wanted = {column: f"{purpose}, says {spec}" for column, purpose in wanted.items() if column not in patterns}
    for column, purpose in wanted.items():
        with problems.collecting():
            check_column(data, column, purpose, header)
    there = {column: purpose for column, purpose in wanted.items() if column in header}
    frame = pd.DataFrame()
    with problems.collecting():
        frame = _read(facts, data, there, header) if there else frame
        frame = extracted(frame, {c: p for c, p in facts.get("extract", {}).items() if c in frame}, header, data)
    return frame


def _read(facts: dict[str, Any], data: Path, wanted: dict[str, str], header: list[str]) -> pd.DataFrame:
    """The columns of the file; named values are text where as numbers or times some would be one (`010` and `10`)."""
    texts = texts_of(facts) & wanted.keys()
    frame = read_columns(data, wanted, texts, header)
    named = {e.get("column", e["name"]) for e in facts["hyperparameter"] if e.get("kind") == "categorical"}
    typed = [c for c in wanted if c in named - texts and not pd.api.types.is_string_dtype(frame[c])]
    if typed and data.suffix.lower() != ".parquet":
        written = read_columns(data, {c: wanted[c] for c in typed}, set(typed), header)
        for column in typed:
            values = frame[column].dropna()
            is_time = not pd.api.types.is_numeric_dtype(values) and not all(isinstance(v, str | bool) for v in values)
            if is_time or written[column].nunique() > values.nunique():
                frame[column] = written[column]
    return frame


def _axes(
    facts: dict[str, Any], frame: pd.DataFrame, header: list[str], data: Path, spec: Path, problems: Problems
) -> Iterator[tuple[Hyperparameter, np.ndarray]]:
    """The valid hyper-parameters, with the coordinates of all rows."""
    numbers = {e.get("column", e["name"]) for e in facts["hyperparameter"] if e["kind"] != "categorical"}
    merged = codes(frame[[column for column in header if column in numbers & set(frame)]], data, header)
    for entry in facts["hyperparameter"]:
        column = entry.get("column", entry["name"])
        if column in frame:
            with problems.collecting():
                if column in merged:
                    raise UsageError(
                        f"the {merged[column].nunique():,} values of {column} in {data} have more digits than numbers "
                        'keep: kind = "categorical" keeps them as they are written'
                    )
                h = _hyperparameter(entry, frame, facts.get("space", ""), spec)
                yield h, _coordinates(h, frame[column], data)


def _measured(
    facts: dict[str, Any], frame: pd.DataFrame, data: Path, spec: Path, problems: Problems
) -> tuple[dict[int, Metric], dict[int, Array]]:
    """The valid metrics, and the values of those that are numbers, by number."""
    metrics: dict[int, Metric] = {}
    columns: dict[int, Array] = {}
    for number, entry in enumerate(facts["metric"]):
        with problems.collecting():
            metric = metric_of(entry, spec) if number else objective_of(entry, spec)
            if number == 0:
                check_objective(facts.get("name", spec.name), metric)
            metrics[number] = metric
        if entry.get("column") in frame:
            with problems.collecting():
                columns[number] = numbers_of(frame, entry, data)
    return metrics, columns


def _check_direction(described: Described, data: Path) -> None:
    """Raises UsageError if larger values of a metric seem to be better, and the specification states no direction, or
    if what it states of an accuracy is in another unit."""
    for number, column in described.columns.items():
        entry, known = described.facts["metric"][number], column[described.last & np.isfinite(column)]
        if entry.get("complement_of") == 100 and len(known) and known.min() >= 99:
            raise UsageError(
                f"{entry['column']} of {data} is nowhere above 1: complement_of = 1 makes an error of a share, "
                "complement_of = 100 of percentages"
            )
    for number, other in enumerate(described.facts["metric"]):
        if number not in described.columns or {"direction", "complement_of"} & other.keys():
            continue
        if number and rises(other["column"]):
            raise UsageError(
                f"{other['column']} of {data} seems to be better the larger it is (its name says so): "
                'direction = "maximise" says that, direction = "minimise" that less is better, and complement_of makes '
                "an error of it"
            )
        contradiction = doubt_of_values(other["column"], described.columns[number])
        if contradiction:
            raise UsageError(
                f"{other['column']} of {data} must state its direction ({contradiction}): direction = "
                '"minimise" if less is better, "maximise" if more is'
            )
    entry, values, last = described.facts["metric"][0], described.columns[0], described.last
    if "direction" in entry or "complement_of" in entry:
        return
    first = None
    if "columns" in entry:
        first = numbers_of(described.frame, entry | {"column": entry["columns"][0]}, data)
    elif described.at is not None:
        first = values[described.at == 0]
    named = {number: described.facts["metric"][number]["column"] for number in described.columns}
    sizes = [described.columns[number][last] for number, name in named.items() if meaning_of(name) == "size"]
    why = looks_like_accuracy(entry["column"], values[last], first, sizes)
    if why:
        scale = scale_of(values[last])
        error = f"complement_of = {scale} minimises {scale} - {entry['column']}, " if scale else ""
        raise UsageError(
            f"{entry['column']} of {data} seems to be better the larger it is ({why}), and the objective is "
            f'minimised: {error}direction = "maximise" minimises its negative, direction = "minimise" takes it as it is'
        )


def _check_cost(described: Described, data: Path) -> None:
    """Raises UsageError if the cost of an evaluation is not a valid number of seconds."""
    cost: str | float | None = described.facts.get("cost")
    columns = {described.facts["metric"][number]["name"]: column for number, column in described.columns.items()}
    units = {metric.name: metric.unit for metric in described.metrics.values()}
    if units.get(str(cost), "s") not in _SECONDS:
        raise UsageError(
            f"the cost {cost} of {data} is in {units[str(cost)]}: the clock counts seconds, give it a column in them"
        )
    told = described.last & np.isfinite(described.columns[0])
    if isinstance(cost, int | float):
        columns["cost"], cost = np.full(len(told), float(cost)), "cost"
    if cost in columns and not ((columns[cost][told] >= 0) & (columns[cost][told] <= LARGEST)).all():
        raise UsageError(
            f"the cost {cost} of {data} must be a finite number of seconds, from 0 to {LARGEST:g}, in every row"
        )


def _check_curves(described: Described, spec: Path) -> None:
    """Raises UsageError if the name of a metric with a curve does not contain the last epoch."""
    for metric in (described.metrics[i] for i in described.along if i in described.metrics and described.levels):
        last = described.levels[-1]
        if metric.split is not None and metric.epoch != last:
            raise UsageError(
                f"metric {metric.name} of {spec} is known up to epoch {last}: it needs epoch = {last}, and its name "
                f"must end in @{last}"
            )


def _find_columns(facts: dict[str, Any], header: list[str], spec: Path) -> tuple[int, ...]:
    """Sets the `column` of each metric, and its `columns` if there is one per epoch; returns the epochs, ascending."""
    levels: set[tuple[int, ...]] = set()
    for entry in facts["metric"]:
        column = entry.setdefault("column", entry["name"])
        if PLACE not in column:
            continue
        first = facts.get("first_epoch", 1)
        pattern = re.escape(column).replace(re.escape(PLACE), "([0-9]+)")
        matches = [match for match in (re.fullmatch(pattern, name) for name in header) if match]
        if "first_epoch" not in facts and any(int(match[1]) == 0 for match in matches):
            raise UsageError(
                f"a column is called {column} with 0 there (metric {entry['name']}, says {spec}), and epochs begin at "
                "1: first_epoch = 0 says that they are counted from 0, first_epoch = 1 leaves that column out"
            )
        matches = [match for match in matches if int(match[1]) >= first]
        named = {int(match[1]) + 1 - first: match[0] for match in matches}
        if not named:
            raise UsageError(f"no column is called {column} (metric {entry['name']}, says {spec}) with a number there")
        if len(named) < len(matches):
            raise UsageError(f"two columns are called {column} with the same number there (metric {entry['name']})")
        epochs = tuple(sorted(named))
        if epochs[-1] > HIGHEST:
            raise UsageError(
                f"{named[epochs[-1]]} (metric {entry['name']}, says {spec}): no epoch is above {HIGHEST:,}"
            )
        levels.add(epochs)
        entry["columns"] = [named[epoch] for epoch in epochs]
        entry["column"] = entry["columns"][-1]
    if len(levels) > 1:
        raise UsageError(f"the metrics of {spec} with a column per epoch have different epochs")
    if levels and "epoch" in facts:
        raise UsageError(f"{spec} has a column of epochs and a column per epoch: use only one of them")
    if "epoch" not in facts and any(entry.get("curve") for entry in facts["metric"]):
        raise UsageError(f'{spec} has curve = true: epoch = "COLUMN" names the column that counts epochs')
    return levels.pop() if levels else ()


def _levels_in(
    facts: dict[str, Any], frame: pd.DataFrame, data: Path, spec: Path
) -> tuple[tuple[int, ...], np.ndarray]:
    """The epochs in their column, ascending, and the position of each row's epoch among them."""
    if not any(entry.get("curve") for entry in facts["metric"]):
        raise UsageError(f"{spec} has a column of epochs, and no metric with curve = true")
    epochs = numbers_of(frame, {"column": facts["epoch"]}, data)
    first = facts.get("first_epoch", 1)
    epochs = epochs + 1 - first
    bad = pd.Series(~((epochs > 0) & (epochs <= HIGHEST) & (epochs == np.floor(epochs))))
    if bad.any():
        said = "; first_epoch = 0 says that it counts from 0" if first and epochs.min() == 0 else ""
        raise UsageError(
            f"{facts['epoch']} of {data} is not an epoch ({first}, {first + 1}, …) in row {row_of(bad)}{said}"
        )
    levels, at = np.unique(epochs.astype(np.int64), return_inverse=True)
    return tuple(levels.tolist()), at


def _hyperparameter(facts: dict[str, Any], frame: pd.DataFrame, space: str, spec: Path) -> Hyperparameter:
    column = frame[facts.get("column", facts["name"])]
    if column.isna().any():
        raise UsageError(
            f"{column.name} has no value in row {row_of(column.isna())}: a hyper-parameter always has one (empty "
            "cells, NA and null are none)"
        )
    kind, name, log = facts["kind"], facts["name"], facts.get("log", False)
    if kind != "categorical" and not pd.api.types.is_numeric_dtype(column):
        numbers = pd.to_numeric(column, errors="coerce")
        if numbers.notna().all():
            frame[column.name] = column = numbers  # a column that was extracted from text
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
        numbers = "" if len(kinds) > 2 else f', and with space = "{ListedSpace.table_kind}" integer and float'
        raise UsageError(f"kind = {kind!r} of {name} in {spec} is not possible; allowed: {', '.join(kinds)}{numbers}")
    if not all(isinstance(v, int | float) and not isinstance(v, bool) and abs(v) <= LARGEST for v in values):
        raise UsageError(
            f"{name} is {kind} in {spec}, but not all of its values are numbers of at most {LARGEST:g} in size: "
            f"{values[:5]}"
        )
    if kind == "ordinal":
        return Ordinal(name, values, log)
    if kind in ("float", "integer") and min(values) == max(values):
        raise UsageError(f"{name} has one value only, {values[0]} ({spec}): leave it out, or make it ordinal")
    if kind == "float":
        return Float(name, float(min(values)), float(max(values)), log)
    if any(value != int(value) for value in values):
        raise UsageError(f"{name} is integer in {spec}, but not all of its values are: {values[:5]}")
    return Integer(name, int(min(values)), int(max(values)), log)


def _coordinates(h: Hyperparameter, column: pd.Series[Any], data: Path) -> np.ndarray:
    """The coordinates of all rows along one hyper-parameter (see `spaces.flat`)."""
    if isinstance(h, Float | Integer):
        numbers = column.to_numpy(np.float64)
        rounding = 1e-6 if isinstance(h, Float) else 0.0  # of single precision, as a share of either end
        outside = (numbers < h.low - rounding * abs(h.low)) | (numbers > h.high + rounding * abs(h.high))
        bad = pd.Series(outside | (isinstance(h, Integer) & (numbers % 1 != 0)))
        if bad.any():
            raise UsageError(
                f"{column.name} is {numbers[bad][0]:.9g} in row {row_of(bad)} of {data}, which is not "
                f"among its values: {values_text(h)}"
            )
        clipped: np.ndarray = np.clip(numbers, h.low, h.high)
        return clipped
    choices = column.map({value: i for i, value in enumerate(h.values)})
    if choices.isna().any():
        bad = column[choices.isna()].iloc[0]
        raise UsageError(
            f"{column.name} is {bad!r} in row {row_of(choices.isna())} of {data}, which is not among its values: "
            f"{', '.join(map(str, h.values))}"
        )
    return choices.to_numpy(smallest_integers(choices.to_numpy()))
