"""The subject of a report: what is compared, and what the runs are stored with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nasbench.results.curves import Array, Curves
from nasbench.results.literature import NOTHING, Literature
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.store import Store
from nasbench.results.store.fragment import Fragment, Torn


@dataclass(frozen=True)
class Subject:
    """Everything from which a report is made."""

    comparison: Comparison
    fragments: Sequence[tuple[Store, Fragment]]
    """The fragments of the compared runs, each with its store."""
    references: Sequence[Curves] = ()
    """Single networks, for orientation."""
    literature: Literature = NOTHING
    """Claims and numbers of papers about the methods."""
    selection: str = ""
    """What was selected of the stores' runs; empty if all."""
    failed: Sequence[str] = ()
    """Sentences on methods that are left out because most of their runs failed."""

    @property
    def curves(self) -> Curves:
        """The compared runs."""
        return self.comparison.curves


def rows_of(fragment: Fragment, columns: list[str], full_only: bool = True) -> pa.Table | None:
    """A fragment's rows in some columns, of full evaluations only or of all; None if it is damaged."""
    try:
        return fragment.whole(columns) if full_only else fragment.table(columns)
    except Torn:  # a notice was given when the curves were read
        return None


def of_seeds(seeds: NDArray[np.integer], values: Array, runs: Iterable[int]) -> Iterator[tuple[int, Array]]:
    """The rows of each of some runs, by its seed.

    Args:
        seeds: the seed of each row, shape (rows,).
        values: shape (rows, columns).
        runs: the seeds of the runs; one without a row has none.
    """
    order = np.argsort(seeds, kind="stable")
    ordered, numbers = seeds[order], list(runs)
    ends = (np.searchsorted(ordered, numbers, side).tolist() for side in ("left", "right"))
    for seed, start, end in zip(numbers, *ends, strict=True):
        yield seed, values[order[start:end]]
