"""Columns of a file whose meaning is guessed."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from nasbench.benchmarks.tabular.direction import Sense, is_score, matches
from nasbench.benchmarks.tabular.exports import Export
from nasbench.benchmarks.tabular.meaning import (
    Meaning,
    is_spread_of_another,
    is_surely_chosen,
    may_number_repetitions,
    meaning_of,
    names_a_measure,
)
from nasbench.benchmarks.tabular.specification import PLACE
from nasbench.benchmarks.tabular.table import Array

FEW = 20
"""Largest number of values for which a column of numbers is a choice, unless its name says otherwise."""
_NUMBERED = re.compile(
    r"(?<=[_\-@. ])(?<![*^]-)((?:ep|epochs?|steps?)?)(0|[1-9]\d*)((?:ep|epochs?|steps?)?)(?=$|[_\-. ])"
)
_EPOCHS = re.compile(r"\d*(?:ep|epochs?|(?:time)?steps?|iter(?:s|ations?)?)\d*")
_CUT = re.compile(
    r"(ndcg|recall|precision|hits?|map|mrr|gap|top|bleu|rouge|cifar)[\W_]*(?:at[\W_]*)?[\d,.:]+$|\d[.:]\d+$",
    re.IGNORECASE,
)
"""Ends of names whose number is no epoch: a rank at which lists are cut (`ndcg@10`), a threshold, a data set."""
_OF_A_ROUND = re.compile(
    r"(?:\w+[\W_])?nodes?(?:_?(?:list|names?))?|(?:mini_?)?batch(?:es)?|stages?|rounds|splits", re.IGNORECASE
)
"""Names of amounts that a person chooses, or of the machine, the round or the part of the data of a row."""
_MANY_ROWS = 10  # as many numbers in a random order hardly ever rise
_BITS = {2, 4, 8, 16, 32, 64}


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the file, or the columns of one quantity at several epochs."""

    name: str
    values: pd.Series[Any]
    """The values at the last epoch."""
    meaning: Meaning | None
    sense: Sense | None = None
    """Whether more or less of it is better; None if its name does not say."""
    epochs: tuple[int, ...] = ()
    """The epochs as they stand in the names of the columns, ascending."""
    first: pd.Series[Any] | None = None
    """The values at the first epoch."""
    doubt: str = ""
    """Why its role is doubtful."""

    @cached_property
    def is_number(self) -> bool:
        return pd.api.types.is_numeric_dtype(self.values) and not pd.api.types.is_bool_dtype(self.values)

    @cached_property
    def distinct(self) -> int:
        return int(self.values.nunique())

    @property
    def has_few(self) -> bool:
        """Whether it has as few values as a choice: so that rows share them."""
        return self.distinct <= min(FEW, len(self.values) // 2)

    @cached_property
    def missing(self) -> int:
        return int(self.values.isna().sum())

    @property
    def rises(self) -> bool:
        """Whether its numbers never fall from row to row, in ten rows or more."""
        return self.is_number and self.values.count() >= _MANY_ROWS and self.values.dropna().is_monotonic_increasing

    @property
    def is_counted(self) -> bool:
        """Whether its values are the whole numbers from 0 or from 1 on, three at least."""
        if not self.is_number or self.distinct < 3 or self.has_fractions:
            return False
        low, high = self.values.min(), self.values.max()
        return bool(low in (0, 1) and high - low == self.distinct - 1)

    @property
    def has_fractions(self) -> bool:
        """Whether its numbers are not all whole."""
        known = self.numbers[np.isfinite(self.numbers)]
        return bool((known != np.floor(known)).any())

    @property
    def epoch(self) -> int:
        """The last epoch, or the epoch in the name; 0 if there is neither."""
        parsed = numbered(self.name)
        return self.epochs[-1] if self.epochs else parsed[1] if parsed else 0

    @cached_property
    def numbers(self) -> Array:
        return self.values.to_numpy(np.float64)


def gathered(frame: pd.DataFrame, export: Export) -> list[Column]:
    """The columns in the order of the file; the columns of one quantity at several epochs become one."""
    columns = {name: _column(export, name, frame) for name in frame.columns}
    groups: dict[str, dict[int, str]] = {}
    for name, column in columns.items():
        parsed = numbered(name) if column.is_number and column.meaning != "record" else None
        if parsed:
            groups.setdefault(parsed[0], {})[parsed[1]] = name
    along = {pattern: dict(sorted(group.items())) for pattern, group in groups.items() if len(group) > 1}
    common = Counter(tuple(group) for group in along.values()).most_common(1)
    along = {pattern: group for pattern, group in along.items() if tuple(group) == common[0][0]}
    for pattern, group in along.items():
        names = list(group.values())
        doubt = "" if says_epochs(pattern) else "or does it number folds, repetitions, cutoffs or horizons?"
        last = replace(columns[names[-1]], name=pattern, epochs=tuple(group), first=frame[names[0]], doubt=doubt)
        columns = {name: last if name == names[0] else c for name, c in columns.items() if name not in names[1:]}
    return list(columns.values())


def says_epochs(name: str) -> bool:
    """Whether a name has a word for epochs or steps beside its number: `acc_ep12`, `val_acc_epoch_{epoch}`."""
    return matches(name.replace(PLACE, ""), _EPOCHS)


def numbered(name: str) -> tuple[str, int] | None:
    """The pattern and the epoch in the name of a measurement: `acc_{epoch}` and 12 for `acc_12`; None without epoch."""
    if meaning_of(name) not in ("score", "seconds", "resource"):
        return None
    places = list(_NUMBERED.finditer(name))
    if not places or not (places[-1][1] or places[-1][3] or places[-1].end() == len(name)):
        return None
    if not (places[-1][1] or places[-1][3] or matches(name, _EPOCHS)) and _CUT.search(name):
        return None
    start, end = places[-1].span(2)
    return f"{name[:start]}{PLACE}{name[end:]}", int(places[-1][2])


def _column(export: Export, name: str, frame: pd.DataFrame) -> Column:
    """A column; of numbers that most rows share with no other, a name that says a choice and a measure says nothing."""
    column = Column(name, frame[name], _meaning(export, name, frame), _sense(export, name, frame))
    if export.is_choice(name) and may_number_repetitions(name):
        return replace(column, doubt="or does it number repetitions?")
    if column.meaning != "choice" or export.is_choice(name):
        return column
    if _OF_A_ROUND.fullmatch(name) and (
        column.rises and column.is_counted if column.is_number else column.distinct > 1
    ):
        return replace(column, doubt="chosen, or the machine, the round or the part of the data of a row?")
    if not column.is_number:
        return column
    if column.has_few:  # rounded scores have few values, too
        is_doubtful = column.has_fractions and is_score(name) and not is_surely_chosen(name)
        return replace(column, doubt="a word of its name is that of a score: is it one?") if is_doubtful else column
    if names_a_measure(name):
        return replace(column, meaning=None, doubt="its name says a hyper-parameter and a measurement: which is it?")
    if not is_surely_chosen(name):
        return replace(column, doubt="most rows have a value of their own: or is it a measurement?")
    return column


def _sense(export: Export, name: str, frame: pd.DataFrame) -> Sense | None:
    """Whether more or less of a column is better: by the tool or by its name, unless a rank beside it denies that.

    Other programs write scikit-learn's header, too: of an error whose first rank is the smallest.
    """
    rank = name.replace("mean_", "rank_", 1)
    sense = export.sense_of(name)
    if rank == name or rank not in frame or not pd.api.types.is_numeric_dtype(frame[name]):
        return sense
    agreement = frame[name].rank().corr(pd.to_numeric(frame[rank], errors="coerce").rank())
    return None if agreement > 0 and sense == "maximise" else sense


def _meaning(export: Export, name: str, frame: pd.DataFrame) -> Meaning | None:
    """The meaning of a column, by its name and the others; `precision` is a number of bits where its values are such
    numbers or texts."""
    values, meaning = frame[name], export.meaning_of(name)
    if name.lower() == "precision":
        is_bits = not pd.api.types.is_numeric_dtype(values) or set(values) <= _BITS
        return "choice" if is_bits and values.notna().all() else meaning
    return "spread" if meaning == "score" and is_spread_of_another(name, frame.columns) else meaning
