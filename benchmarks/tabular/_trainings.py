"""Trainings in a file with a row per epoch: which column counts the epochs, and which columns change on the way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from nasbench.benchmarks.tabular._texts import names_products
from nasbench.benchmarks.tabular.column import Column
from nasbench.benchmarks.tabular.exports import Export
from nasbench.benchmarks.tabular.table import Array

_MOST_COMPARED, _MOST_COLUMNS = 200_000_000, 300  # rows times the square of columns; and these alone


def counts_epochs(column: Column, others: Sequence[Column]) -> bool:
    """Whether a column counts epochs: whole numbers, and half of the trainings stand at several of them.

    Args:
        column: the column.
        others: the columns that may be hyper-parameters, and those that number repetitions. Those that change within a
            training are no obstacle, if the rest tell all trainings apart.
    """
    if not column.is_number or column.missing or column.distinct * 2 > len(column.values):
        return False
    if (column.numbers < 0).any() or (column.numbers != np.floor(column.numbers)).any():
        return False
    if _have_several(column, others):
        return True
    kept = [other for other in others if not changes(other, column.numbers)]
    is_clear = _starts(column.numbers) is not None or not any(c.meaning == "choice" for c in others if c not in kept)
    return is_clear and _have_several(column, kept) and not combined([*kept, column]).duplicated().any()


def changes(column: Column, epochs: Array) -> bool:
    """Whether a column changes within a training, as no hyper-parameter does.

    It has other values at later epochs than at the first one, or, where the rows of each training stand together,
    several values in one training.
    """
    at_first = epochs == epochs.min()
    values = column.values.where(column.values.notna(), None)
    if not values[~at_first].isin(set(values[at_first])).all():
        return True
    numbers = _starts(epochs)
    return numbers is not None and bool((column.values.groupby(numbers).nunique(dropna=False) > 1).any())


def follows(column: Column, numbers: Array) -> bool:
    """Whether a column is a function of some numbers, as that of the samples so far is one of the epoch."""
    return bool((column.values.groupby(numbers).nunique(dropna=False) == 1).all())


def following(choices: Sequence[Column], numbered: Sequence[Column], export: Export) -> set[str]:
    """The names of columns that follow from the others, where these are a whole grid of two or more.

    So does what is measured of a network (its number of leaves) and not chosen. Of two that follow from each other, it
    is the one with texts that name files or digests, else the later number; another text is never measured.

    Args:
        choices: the columns that may be hyper-parameters.
        numbered: the columns that number repetitions or epochs.
    """
    if not 3 <= len(choices) <= _MOST_COLUMNS or len(choices) ** 2 * len(choices[0].values) > _MOST_COMPARED:
        return set()
    rows, kept = combined([*choices, *numbered]).nunique(), list(choices)
    made = [c for c in reversed(choices) if names_products(c)]
    for column in made + sorted((c for c in reversed(choices) if c.is_number), key=lambda c: -c.distinct):
        rest = [other for other in kept if other is not column]
        if rest and not export.is_choice(column.name) and combined([*rest, *numbered]).nunique() == rows:
            kept = rest
    is_grid = math.prod(c.distinct for c in (*kept, *numbered)) == rows and sum(c.distinct > 1 for c in kept) > 1
    return {column.name for column in choices if column not in kept} if is_grid else set()


def _have_several(column: Column, others: Sequence[Column]) -> bool:
    """Whether at least half of the combinations of other columns stand in rows of several epochs."""
    if not others:
        return False
    epochs = column.values.groupby(combined(others)).nunique()
    return bool((epochs > 1).mean() >= 0.5)


def combined(columns: Sequence[Column]) -> pd.Series[Any]:
    """A number for each row, equal where the values of all columns are; it takes the room of a few columns."""
    mixed = np.zeros(len(columns[0].values), np.uint64)
    for column in columns:
        mixed = mixed * np.uint64(1_000_003) + pd.util.hash_array(np.asarray(column.values))
    return pd.Series(mixed)


def _starts(epochs: Array) -> Array | None:
    """The number of each row's training, shape (rows,), if the rows of each training stand together."""
    begins = np.r_[True, epochs[1:] <= epochs[:-1]]
    is_first = epochs == epochs.min()
    return np.cumsum(begins) if (begins == is_first).all() else None
