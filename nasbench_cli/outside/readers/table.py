"""Tables: CSV (also compressed), Parquet, JSON lines."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nasbench.benchmarks.tabular.frames import check_separator, column_names, read_columns, stem_of
from nasbench.cli.outside.readers._reader import READERS, Reader
from nasbench.cli.outside.rows import Asked, Rows
from nasbench.cli.outside.table import read
from nasbench.cli.outside.texts import frame_of_objects, objects_of

_TABLES = (".csv", ".parquet", ".csv.gz", ".csv.bz2", ".csv.zst")
_LINES = (".jsonl", ".ndjson")


class TableReader(Reader):
    """A row an evaluation, a row a run, or a row a benchmark with a column a method."""

    title = "a table"

    def knows(self, path: Path) -> bool:
        return path.is_file() and path.name.lower().endswith((*_TABLES, *_LINES))

    def read(self, path: Path, asked: Asked) -> Rows:
        frame = _lines(path) if path.name.lower().endswith(_LINES) else _columns(path)
        return read(frame, asked, stem_of(path))


def _columns(path: Path) -> pd.DataFrame:
    header = column_names(path)
    check_separator(path, header)
    return read_columns(path, dict.fromkeys(header, "of runs"), set(), header)


def _lines(path: Path) -> pd.DataFrame:
    """The objects of a file with one on each line."""
    return frame_of_objects(path, objects_of(path))


READERS.add("table", TableReader())
