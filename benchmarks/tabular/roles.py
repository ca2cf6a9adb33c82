"""Guessed roles of a file's columns: hyper-parameter, metric, repetition, epoch, or none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from nasbench.benchmarks.tabular.meaning import Meaning, meaning_of, split_of
from nasbench.benchmarks.tabular.specification import PLACE
from nasbench.benchmarks.tabular.table import MOST_REPETITIONS, Array

FEW = 20
"""Largest number of values for which a column of numbers is a choice, unless its name says otherwise."""
CELL = r"\|(?P<Op0>\w+)~0\|\+\|(?P<Op1>\w+)~0\|(?P<Op2>\w+)~1\|\+\|(?P<Op3>\w+)~0\|(?P<Op4>\w+)~1\|(?P<Op5>\w+)~2\|"
"""Pattern of the official string of a NAS-Bench-201 cell."""
_MEASURED = ("score", "seconds", "resource", "size")
_WRITTEN = re.compile(r"\s*[-+]?\d[\d.,]*\s*%?\s*")
"""Text that a person reads as a number: `57 %`, `0,5`, `1,000`."""
_NUMBERED = re.compile(r"(?<=[_\-@. ])((?:ep|epochs?|steps?)?)([1-9]\d*)((?:ep|epochs?|steps?)?)(?=$|[_\-. ])")


@dataclass(frozen=True)
class Column:
    """A column of the file, or the columns of one quantity at several epochs."""

    name: str
    values: pd.Series[Any]
    """The values at the last epoch."""
    meaning: Meaning | None
    epochs: tuple[int, ...] = ()
    first: pd.Series[Any] | None = None
    """The values at the first epoch."""

    @cached_property
    def is_number(self) -> bool:
        return pd.api.types.is_numeric_dtype(self.values) and not pd.api.types.is_bool_dtype(self.values)

    @cached_property
    def distinct(self) -> int:
        return int(self.values.nunique())

    @cached_property
    def missing(self) -> int:
        return int(self.values.isna().sum())

    @property
    def epoch(self) -> int:
        """The last epoch, or the epoch in the name; 0 if there is neither."""
        parsed = numbered(self.name)
        return self.epochs[-1] if self.epochs else parsed[1] if parsed else 0

    @cached_property
    def numbers(self) -> Array:
        return self.values.to_numpy(np.float64)


@dataclass
class Roles:
    """The role of each column."""

    choices: list[Column] = field(default_factory=list)
    """The hyper-parameters."""
    metrics: list[Column] = field(default_factory=list)
    repetition: Column | None = None
    epoch: Column | None = None
    cell: Column | None = None
    """The column with official strings of NAS-Bench-201's cells."""
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """Names of columns without a role, and the reasons."""


def gathered(frame: pd.DataFrame) -> list[Column]:
    """The columns in the order of the file; the columns of one quantity at several epochs become one."""
    groups: dict[str, dict[int, str]] = {}
    for name in frame.columns:
        parsed = numbered(name) if pd.api.types.is_numeric_dtype(frame[name]) else None
        if parsed:
            groups.setdefault(parsed[0], {})[parsed[1]] = name
    along = {pattern: dict(sorted(group.items())) for pattern, group in groups.items() if len(group) > 1}
    common = Counter(tuple(group) for group in along.values()).most_common(1)
    along = {pattern: group for pattern, group in along.items() if tuple(group) == common[0][0]}
    columns = {name: Column(name, frame[name], meaning_of(name)) for name in frame.columns}
    for pattern, group in along.items():
        names = list(group.values())
        last = replace(columns[names[-1]], name=pattern, epochs=tuple(group), first=frame[names[0]])
        columns = {name: last if name == names[0] else c for name, c in columns.items() if name not in names[1:]}
    return list(columns.values())


def numbered(name: str) -> tuple[str, int] | None:
    """The pattern and the epoch in the name of a measurement: `acc_{epoch}` and 12 for `acc_12`; None without epoch."""
    if meaning_of(name) not in ("score", "seconds", "resource"):
        return None
    places = list(_NUMBERED.finditer(name))
    if not places or not (places[-1][1] or places[-1][3] or places[-1].end() == len(name)):
        return None
    start, end = places[-1].span(2)
    return f"{name[:start]}{PLACE}{name[end:]}", int(places[-1][2])


def roles_of(columns: Sequence[Column]) -> Roles:
    """The role of each column, by its name, its values and its place among other columns."""
    roles = Roles()
    measured = False  # whether a column before this one is a measurement
    for column in columns:
        why = _useless(column)
        if why:
            roles.left_out.append((column.name, why))
        elif column.meaning == "repetition" and column.distinct > MOST_REPETITIONS:
            roles.left_out.append((column.name, f"more than {MOST_REPETITIONS} repetitions"))
        elif column.meaning == "repetition" and roles.repetition is not None:
            roles.left_out.append((column.name, f"{roles.repetition.name} numbers the repetitions already"))
        elif column.meaning == "repetition":
            roles.repetition = column
        elif column.meaning == "epoch" and roles.epoch is None and _counts(column):
            roles.epoch = column
        elif not column.is_number and column.values.astype(str).str.fullmatch(CELL).all():
            roles.cell = column
        elif _is_measured(column, measured):
            roles.metrics.append(column)
            measured = True
        elif column.missing:
            rows = "1 row" if column.missing == 1 else f"{column.missing} rows"
            roles.left_out.append((column.name, f"no value in {rows}: fill it in if it is a hyper-parameter"))
        elif not column.is_number and column.distinct == len(column.values) > FEW:
            roles.left_out.append((column.name, "a text of its own in every row: [extract] makes columns of its parts"))
        else:
            roles.choices.append(column)
    numbers = [column for column in roles.choices if column.is_number and column.meaning != "choice"]
    if not roles.metrics and numbers:  # the result is usually the last column
        roles.metrics.append(numbers[-1])
        roles.choices.remove(numbers[-1])
    return roles


def _useless(column: Column) -> str:
    """Why a column is left out in any place; empty if it is not."""
    if not column.is_number and not all(isinstance(value, str | bool) for value in column.values.dropna()):
        return "holds neither numbers nor texts"
    if column.meaning == "identity":
        return "names a row or a configuration"
    if column.meaning == "outcome":
        return "says how a training ended, which nobody chooses"
    if column.meaning == "spread":
        return "a spread, which no method is told"
    if column.distinct == 0:
        return "empty"
    if column.meaning in _MEASURED and not column.is_number:
        texts = column.values.dropna().astype(str)
        odd = texts[pd.to_numeric(texts, errors="coerce").isna()]
        said = "a measurement by its name, but its values are text, such as"
        if texts.str.fullmatch(_WRITTEN).all():
            return f"{said} {odd.iloc[0]!r}: write plain numbers"
        if len(odd) < len(texts) / 2:
            said = "a measurement by its name, but some of its values are text, such as"
            return f"{said} {odd.iloc[0]!r}: leave the field empty where there is no value"
    return "the same in every row" if column.distinct == 1 and not column.missing else ""


def _counts(column: Column) -> bool:
    """Whether a column may count epochs: integers from 1 on, in several rows each."""
    if not column.is_number or column.missing or column.distinct * 2 > len(column.values):
        return False
    return bool((column.numbers >= 1).all() and (column.numbers == np.floor(column.numbers)).all())


def _is_measured(column: Column, after: bool) -> bool:
    """Whether a column is a metric: by its name, or because it has many numbers and follows another metric."""
    if not column.is_number or column.meaning == "choice":
        return False
    return column.meaning in _MEASURED or (after and column.distinct > FEW)


def objective_of(metrics: Sequence[Column]) -> Column:
    """The objective: a score on the validation split, at the last epoch; else any score, or the last metric."""
    scores = [c for c in metrics if c.meaning == "score"] or [c for c in metrics if c.meaning is None] or metrics[-1:]
    order = ("valid", None, "test", "train")

    def rank(column: Column) -> tuple[int, int]:
        return order.index(split_of(column.name)), -column.epoch

    return min(scores, key=rank)
