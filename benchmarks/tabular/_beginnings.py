"""Texts of CSV files that no reader would refuse, and that would be read as something else."""

from __future__ import annotations

import codecs
import csv
import io
import re
from pathlib import Path

import pyarrow as pa

from nasbench.base.errors import UsageError

_LONGEST_LINE = 1 << 20  # as Arrow's, which refuses a longer one


def check_quotes(data: Path) -> None:
    """Raises UsageError for a quotation mark that is not closed: the rows behind it would be a part of one text."""
    with pa.input_stream(str(data), compression="detect") as stream:
        if not any(b'"' in part for part in iter(lambda: stream.read(1 << 22), b"")):
            return
    began = 0
    with pa.input_stream(str(data), compression="detect") as stream:
        text = io.TextIOWrapper(stream, "utf-8", "replace", newline="")
        rows = csv.reader(iter(lambda: text.readline(_LONGEST_LINE), ""), strict=True)
        while True:
            try:
                if next(rows, None) is None:
                    return
            except csv.Error as error:  # within one line what follows the mark that closes may be anything
                if rows.line_num > began + 1 or "unexpected end" in str(error):
                    is_long = "limit" in str(error)
                    or_long = f", or a cell there is longer than {csv.field_size_limit():,} letters" * is_long
                    raise UsageError(f"a quotation mark in line {began + 1} of {data} is not closed{or_long}") from None
            began = rows.line_num


def check_beginning(data: Path) -> None:
    """Raises UsageError for JSON, and for what some programs of Windows write: UTF-16, or `sep=,`."""
    with pa.input_stream(str(data), compression="detect") as stream:
        beginning = stream.read(16)
        if beginning.removeprefix(codecs.BOM_UTF8).lower().startswith((b"sep=", b'"sep=')):
            raise UsageError(f"the first line of {data} states a separator (sep=): delete it")
        if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise UsageError(f"{data} is UTF-16, and not UTF-8 text: convert it (iconv -f utf-16 -t utf-8)")
        if beginning.startswith(b"SQLite format 3"):
            raise UsageError(f"{data} is an SQLite database, and no table: of Optuna, `nasbench import runs` reads it")
        if re.match(rb"\s*(?:\{|\[\s*\{)\s*\"", beginning):
            raise UsageError(f"{data} is JSON: a table is CSV or Parquet, with a row for each training")
