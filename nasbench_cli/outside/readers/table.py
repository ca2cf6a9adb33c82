"""Tables: CSV (also compressed), Parquet, JSON lines."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nasbench.base.errors import UsageError
from nasbench.benchmarks.tabular.frames import MOST_BYTES, check_separator, column_names, read_columns, stem_of
from nasbench.cli.outside.readers._reader import READERS, Reader
from nasbench.cli.outside.rows import Asked, Rows
from nasbench.cli.outside.table import read
from nasbench.cli.outside.texts import objects_of

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
    """The objects of a file with one on each line. Raises UsageError, naming the line, for anything else."""
    if path.stat().st_size > MOST_BYTES:
        raise UsageError(f"{path} has more than {MOST_BYTES >> 30} GiB, which is the limit")
    return pd.DataFrame(objects_of(path, path.read_text(encoding="utf-8", errors="replace")))


READERS.add("table", TableReader())
