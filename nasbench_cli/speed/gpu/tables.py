"""Tables of measurements: a row that could not be measured says why, and the others stand."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from nasbench.cli import layout

Measure: TypeAlias = Callable[[float], Sequence[str]]
"""(when to be done, on the clock of `time.monotonic`) → a cell for each column of the table. It can be pickled."""


class NotMeasured(NamedTuple):
    """What stands in place of a row's cells."""

    reason: str


Found: TypeAlias = Sequence[str] | NotMeasured


@dataclass(frozen=True)
class Row:
    """One measurement."""

    what: str
    """What is measured, for people."""
    measure: Measure
    """Measures it; raises whatever keeps it from doing so."""
    weight: float = 1.0
    """Its share of the time, beside the weights of the other rows."""


@dataclass(frozen=True)
class Table:
    """Measurements of one kind."""

    name: str
    """Name of the file that keeps it, without its ending."""
    title: str
    """What stands above it."""
    columns: tuple[str, ...]
    """Names of the cells, with their units."""
    rows: tuple[Row, ...]
    """The measurements, in their order."""

    def lines(self, found: Sequence[Found]) -> list[list[str]]:
        """The header and a line for each row; the last column holds the reasons of what was not measured."""
        lines = [["what", *self.columns, "note"]]
        for row, cells in zip(self.rows, found, strict=True):
            if isinstance(cells, NotMeasured):
                lines.append([row.what, *[""] * len(self.columns), f"not measured: {cells.reason}"])
            else:
                lines.append([row.what, *cells, ""])
        return lines

    def text(self, found: Sequence[Found]) -> str:
        """The table for a terminal; reasons stand below it, where they may be long."""
        header, *lines = self.lines(found)
        measured = [line[:-1] for line in lines if not line[-1]]
        shown = [layout.table([header[:-1], *measured])] if measured else []
        return "\n".join([self.title, *shown, *(f"{line[0]}: {line[-1]}" for line in lines if line[-1])])

    def write(self, found: Sequence[Found], folder: Path) -> None:
        """Writes the table to `NAME.csv` in a folder."""
        with (folder / f"{self.name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(self.lines(found))
