"""A family of published tables, and functions that build tables from the rows of a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasbench.base.errors import UsageError
from nasbench.base.metrics import Metric
from nasbench.benchmarks.sources import Source
from nasbench.benchmarks.spaces import Categorical, FiniteSpace, Hyperparameter, Ordinal
from nasbench.benchmarks.spaces.grid import GridSpace
from nasbench.benchmarks.spaces.listed import listed
from nasbench.benchmarks.tabular.imported import TableData
from nasbench.benchmarks.tabular.table import Array

if TYPE_CHECKING:
    import pandas as pd

UNTIMED = Metric("cost", "s", description="1 s per training: no time is recorded")
"""Cost of an evaluation if the source has recorded no time."""


@dataclass(frozen=True, kw_only=True)
class Family(Source):
    """Published data that are converted into tables."""

    tables: Callable[[Family, Path], list[TableData]]
    """Builds the tables from a folder with the files."""

    def convert(self, folder: Path, every: bool = False) -> Iterator[TableData]:
        """The tables in a folder with the files. Raises UsageError if a file cannot be read."""
        yield from self.tables(self, folder)

    def table(self, name: str, space: FiniteSpace, columns: Mapping[Metric, Array], **more: Any) -> TableData:
        """A table with its source and licence.

        Args:
            columns: the values of each metric, shape (configurations, repetitions), the objective first.
            more: other fields of `TableData`; by default `search_space` and `family` are the name of the source, and
                the cost is the metric `cost`.
        """
        facts = {"family": self.name, "search_space": self.name, "cost": "cost"} | more
        return TableData(
            name=name,
            space=space,
            metrics=tuple(columns),
            source=f"{self.citation}; {self.origin}",
            licence=self.licence,
            values=np.stack(list(columns.values()), axis=2),
            **facts,
        )


class FileRows(NamedTuple):
    """A listed space, and the places of a file's rows in its table."""

    space: FiniteSpace
    row: NDArray[np.int64]
    """Configuration of each row of the file."""
    repetition: NDArray[np.int64]
    """Repetition of each row of the file."""

    def filled(self, column: NDArray[Any]) -> Array:
        """A column of the file by configuration and repetition; NaN where there are fewer repetitions."""
        shape = (self.space.size, int(self.repetition.max()) + 1, *column.shape[1:])
        values = np.full(shape, np.nan)
        values[self.row, self.repetition] = column
        return values


def rows_of(hyperparameters: Mapping[Hyperparameter, Sequence[Any]]) -> FileRows:
    """The space of a file; rows with the same values are repetitions.

    Args:
        hyperparameters: the value of each hyper-parameter in each row.
    """
    coordinates = [_coordinates(h, values) for h, values in hyperparameters.items()]
    points, row = np.unique(np.stack(coordinates, axis=1), axis=0, return_inverse=True)
    return FileRows(listed(list(hyperparameters), points), row.ravel(), numbered(row.ravel()))


def numbered(row: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of equal entries before each entry."""
    import pandas as pd  # heavy, and only reading a file needs it

    return np.asarray(pd.Series(row).groupby(row).cumcount(), np.int64)


def ordinal(name: str, values: Sequence[Any]) -> Ordinal:
    """A hyper-parameter whose values are these numbers."""
    return Ordinal(name, tuple(sorted(set(values))))


def complete(
    family: Family, file: Path, space: GridSpace, code: Callable[[Sequence[int]], str], accuracies: str, **more: Any
) -> TableData:
    """The table of a complete grid of networks on CIFAR-10, each trained several times.

    Args:
        file: a JSON file with the accuracies, params and flops of each network.
        code: the network's name in the file, from its configuration.
        accuracies: the key of the accuracies.
        more: as `Family.table` takes it.
    """
    try:
        networks = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {file}: {str(error)[:120]}") from None
    entries = [networks[code(configuration)] for configuration in space]
    errors = 100 - np.array([entry[accuracies] for entry in entries], float)
    sizes = {name: np.array([[entry[name] / 1e6] for entry in entries]) for name in ("params", "flops")}
    columns = {
        Metric("only-error", "%", description="100 - accuracy on the test split, the only one", split="only"): errors,
        Metric("params", "M", description="number of parameters", cheap=True): sizes["params"] + 0 * errors,
        Metric("flops", "M", description="operations for one image", cheap=True): sizes["flops"] + 0 * errors,
        UNTIMED: np.ones_like(errors),
    }
    return family.table(family.name, space, columns, **more)


def frame(path: Path) -> pd.DataFrame:
    """The rows of a Parquet file. Raises UsageError if it cannot be read."""
    import pandas as pd  # takes a while to import

    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {str(error)[:120]}") from None


def _coordinates(h: Hyperparameter, values: Sequence[Any]) -> Array:
    if isinstance(h, Categorical | Ordinal):
        places = {value: place for place, value in enumerate(h.values)}
        return np.array([places[value] for value in values], np.int16)
    return np.array(values, float)
