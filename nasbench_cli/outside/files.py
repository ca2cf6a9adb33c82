"""Bounded reading of files that other tools write: JSON, JSON lines, CSV."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pandas as pd

from nasbench.base import textfile
from nasbench.base.errors import UsageError
from nasbench.benchmarks.tabular.frames import column_names, read_columns

_MOST = 1 << 28  # bytes
_HEADER = 1 << 20  # bytes


def text_of(path: Path) -> str:
    """The text of a file. Raises UsageError if it is too large or not UTF-8."""
    try:
        return textfile.content_of(path, _MOST, "it is too large for a file of this kind").decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a text file (UTF-8)") from None


def object_of(path: Path) -> dict[str, Any]:
    """The object in a JSON file. Raises UsageError for anything else."""
    return _object(path, text_of(path), str(path))


def objects_of(path: Path) -> list[dict[str, Any]]:
    """The objects of a file with one on each line. Raises UsageError, naming the line, for anything else."""
    lines = enumerate(text_of(path).splitlines(), 1)
    return [_object(path, line, f"line {number} of {path}") for number, line in lines if line.strip()]


def _object(path: Path, text: str, where: str) -> dict[str, Any]:
    try:
        facts = textfile.parse_json(path, text)
    except UsageError as error:
        raise UsageError(f"{where} is damaged or cut off: {error}") from None
    if not isinstance(facts, dict):
        raise UsageError(f"{where} is no object of JSON")
    return facts


def beginning(path: Path, size: int = _HEADER) -> bytes:
    """The first bytes of a file; none of what is no file, or cannot be read."""
    try:
        with textfile.opened(path) as file:
            return file.read(size)
    except (OSError, UsageError):
        return b""


def header_of(path: Path) -> list[str]:
    """The names of the columns of a CSV file, to recognise it; none of any other file."""
    if path.suffix.lower() != ".csv":
        return []
    text = beginning(path).decode("utf-8-sig", "replace")
    try:
        return next(csv.reader(text.splitlines()), [])
    except csv.Error:
        return []


def frame_of(path: Path) -> pd.DataFrame:
    """The columns of a CSV file. Raises UsageError if it is damaged."""
    header = [name for name in column_names(path) if name]  # pandas leaves the name of its index empty
    return read_columns(path, dict.fromkeys(header, "of runs"), set(), header)
