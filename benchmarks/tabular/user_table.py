"""The user's tables: a CSV or Parquet file, and a specification (TOML) of its columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nasbench.base.errors import UsageError
from nasbench.base.files import digest_of
from nasbench.base.metrics import Metric
from nasbench.benchmarks.spaces import Categorical, FiniteSpace, Ordinal
from nasbench.benchmarks.spaces.listed import ListedSpace, listed
from nasbench.benchmarks.spaces.network_grids import grid
from nasbench.benchmarks.tabular._described import Described, describe
from nasbench.benchmarks.tabular.frames import numbers_of, row_of
from nasbench.benchmarks.tabular.imported import TableData
from nasbench.benchmarks.tabular.specification import MISSING
from nasbench.benchmarks.tabular.table import MOST_REPETITIONS, Array

MOST_ABSENT = 100
"""Largest ratio of grid size to rows of the file: in a larger grid, some column is probably not a hyper-parameter."""
_ALONG = ["row", "repetition"]


def read_table(data: Path, spec: Path) -> TableData:
    """Reads a table from a CSV (also compressed) or Parquet file with a specification.

    Raises UsageError, naming file and column, if either cannot be read, or they do not fit together.
    """
    described = describe(data, spec)
    facts, frame, entries = described.facts, described.frame, described.facts["metric"]
    metrics, columns = list(described.metrics.values()), list(described.columns.values())
    levels, at = described.levels, described.at
    space, rows = _space(described, data, spec)
    last, along, cost = described.last, described.along, facts["cost"]
    if not isinstance(cost, str):
        metrics.append(Metric("cost", "s", description="of an evaluation, as the specification says"))
        columns.append(np.full(len(frame), float(cost)))
        cost = "cost"
    known = np.isfinite(columns[0])
    slots, left_out = _slots(frame, facts, rows, at, last & known, data)
    ends = slots[slots["last"]]
    shape = (space.size, int(slots["number"].max()) + 1)
    values = np.full((*shape, len(columns)), np.nan)
    for i, column in enumerate(columns):
        values[ends["row"], ends["number"], i] = column[ends["place"]]
    curves = np.full((*shape, len(levels), len(along)), np.nan) if along else None
    for i, m in enumerate(along):
        assert curves is not None
        if at is not None:
            curves[slots["row"], slots["number"], at[slots["place"]], i] = columns[m][slots["place"]]
            continue
        for level, name in enumerate(entries[m]["columns"]):
            curves[ends["row"], ends["number"], level, i] = numbers_of(frame, entries[m] | {"column": name}, data)[
                ends["place"]
            ]
    recorded = levels
    if curves is not None and 0 in along:  # a method that stopped where a training has no value would see it fail
        there = np.isfinite(curves[np.isfinite(values[:, :, 0])][:, :, along.index(0)]).all(axis=0)
        curves, levels = curves[:, :, there], tuple(np.array(levels)[there].tolist())
    _check_values(values, metrics, data)
    if curves is not None and cost in (names := [metrics[m].name for m in along]):
        _check_seconds(cost, curves[:, :, :, names.index(cost)], np.isfinite(values[:, :, 0]), data)
    _check_absent(values, metrics[0], space, facts, data, spec)
    return TableData(
        facts["name"],
        facts.get("family", facts["name"]),
        space,
        tuple(metrics),
        cost,
        f"{facts.get('source', 'imported by the user')}; {data.name}, sha256:{digest_of(data)}",
        facts.get("licence", "as its owner says"),
        values,
        curves,
        tuple(metrics[i].name for i in along),
        levels if along else (),
        absent=MISSING[facts.get("missing", "invalid")],
        search_space=facts.get("search_space", ""),
        left_out=left_out,
        levels_left_out=tuple(level for level in recorded if level not in levels),
    )


def _space(described: Described, data: Path, spec: Path) -> tuple[FiniteSpace, np.ndarray]:
    """The space of a table, and the number of the configuration in each row of the file."""
    kind = described.facts.get("space", "")
    hyperparameters, coordinates = described.hyperparameters, described.coordinates
    if kind == ListedSpace.table_kind:
        points, rows = distinct_rows(coordinates)
        return listed(hyperparameters, points), rows
    choices = [h for h in hyperparameters if isinstance(h, Categorical | Ordinal)]
    try:
        space = grid(kind, choices)
    except UsageError as error:
        raise UsageError(f"{spec}: {error}") from None
    there = len(distinct_rows(coordinates)[0])
    if space.size > MOST_ABSENT * there:
        raise UsageError(
            f"the hyper-parameters of {spec} span {space.size:,} configurations, but {data} has {there:,} of them: "
            'a grid has most of its rows; with space = "listed" the rows are the space'
        )
    return space, np.ravel_multi_index(tuple(coordinates), space.sizes)


def distinct_rows(coordinates: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The distinct configurations in the order of their coordinates, and the number of that in each row of the file.

    A column at a time: `numpy.unique` of whole rows holds several copies of all of them.
    """
    order = np.lexsort(coordinates[::-1])
    first = np.arange(len(order)) == 0
    for column in coordinates:
        first[1:] |= np.diff(column[order]) != 0
    rows = np.empty(len(order), np.int64)
    rows[order] = np.cumsum(first) - 1
    return np.stack([column[order][first] for column in coordinates], axis=1), rows


def _slots(
    frame: pd.DataFrame, facts: dict[str, Any], rows: np.ndarray, at: np.ndarray | None, known: np.ndarray, data: Path
) -> tuple[pd.DataFrame, int]:
    """The destination of each row of the file, as columns `place` (in the file), `row` and `number` (repetition).

    A repetition without an objective at the last epoch is left out, with its earlier epochs. The column `last` is true
    for rows of the last epoch. Also returns how many repetitions are left out of configurations that keep others.
    """
    repetition = facts.get("repetition")
    if repetition and (unnumbered := frame[repetition].isna()).any():
        raise UsageError(f"{repetition} of {data} has no value in row {row_of(unnumbered)}: number every repetition")
    numbers = pd.factorize(frame[repetition].astype(str), sort=True)[0] if repetition else 0
    keys = pd.DataFrame({"row": rows, "repetition": numbers, "level": 0 if at is None else at})
    twice = keys.duplicated()
    if twice.any():
        advice = (
            f" with the same {repetition}"
            if repetition
            else "; if it is a repetition, name the column that numbers it, or add one (0, 1, …)"
        )
        advice += "" if at is None else f" and {facts['epoch']}"
        raise UsageError(
            f"row {row_of(twice)} of {data} repeats the configuration of an earlier one{advice} (or is another column "
            "a hyper-parameter, too?)"
        )
    kept = keys[known].sort_values(_ALONG)
    kept["number"] = kept.groupby("row").cumcount()
    if kept["number"].max() > MOST_REPETITIONS - 1:
        raise UsageError(f"{data} has a configuration with more than {MOST_REPETITIONS} repetitions")
    if not len(kept):
        raise UsageError(f"{data} has no value of {facts['metric'][0]['name']} at all")
    trainings = keys.groupby("row")["repetition"].nunique()
    left_out = int((trainings[kept["row"].unique()] - kept.groupby("row").size()).sum())
    keys["place"], keys["last"] = np.arange(len(keys)), known
    return keys.merge(kept[[*_ALONG, "number"]], on=_ALONG), left_out


def _check_values(values: Array, metrics: list[Metric], data: Path) -> None:
    """Raises UsageError for a metric without any value, or a cheap one that differs between repetitions."""
    trained = np.isfinite(values[:, :, 0])
    for i, metric in enumerate(metrics):
        column = values[:, :, i]
        if not np.isfinite(column).any():
            raise UsageError(f"{data} has no value of {metric.name} at all")
        same = (column == column[:, :1]) | (np.isnan(column) & np.isnan(column[:, :1]))
        if metric.cheap and not (same | ~trained).all():
            raise UsageError(
                f"{metric.name} of {data} differs between repetitions of a configuration: it is not known before "
                "training, so leave cheap out"
            )


def _check_seconds(cost: str, curves: Array, trained: NDArray[np.bool_], data: Path) -> None:
    """Raises UsageError if a cost per epoch does not count the seconds since the beginning of each training."""
    seconds = curves[trained]
    if not (np.isfinite(seconds) & (seconds >= 0)).all():
        raise UsageError(f"the cost {cost} of {data} must be a number of seconds from 0 at every epoch of a training")
    if seconds.shape[1] > 1 and ((np.diff(seconds) < 0).any() or not (np.diff(seconds) > 0).any()):
        raise UsageError(
            f"the cost {cost} of {data} must count the seconds since the beginning of a training, and it does not rise "
            "with the epochs: add the epochs up, or leave its curve out"
        )


def _check_absent(
    values: Array, objective: Metric, space: FiniteSpace, facts: dict[str, Any], data: Path, spec: Path
) -> None:
    absent = int((~np.isfinite(values[:, :, 0]).any(axis=1)).sum())
    kind = "list" if isinstance(space, ListedSpace) else "grid"
    if absent and "missing" not in facts:
        have = "has" if absent == 1 else "have"
        raise UsageError(
            f"{absent} of the {space.size} configurations of the {kind} {have} no value of {objective.name} in {data}: "
            f'put missing = "invalid" into {spec} if their evaluation should fail, missing = '
            '"infeasible" if they cannot be evaluated at all'
        )
