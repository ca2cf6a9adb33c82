"""Files of other tools, read whole and bounded: one sentence for what is damaged, or for an option without a use."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nasbench.base.errors import UsageError
from nasbench.base.metrics import LARGEST
from nasbench.base.numbers import listed
from nasbench.base.textfile import content_of, integer, parse_json
from nasbench.benchmarks.tabular.frames import column_names, read_columns, refuse_cells, refuse_columns
from nasbench.cli.outside.rows import Asked, Shape

_MOST_BYTES = 1 << 28
"""Largest size of a text in bytes; as objects of Python it takes ten times as much memory."""
_FIRST_FOLDERS, _FIRST_FILES = 200, 50
"""What is looked at before files are said to be of another tool."""


def files_below(folder: Path, pattern: str, folders: int | None = None) -> Iterator[Path]:
    """The files in a folder and those below it, in order, whose names match.

    Args:
        folders: how many are looked at, of all by default.
    """
    for where, inner, names in islice(os.walk(folder), folders):
        inner.sort()
        yield from (Path(where) / name for name in sorted(names) if fnmatch(name, pattern))


def near(folder: Path, pattern: str) -> Iterator[Path]:
    """The first files whose names match, in the first folders; none of a path that is no folder."""
    return islice(files_below(folder, pattern, _FIRST_FOLDERS), _FIRST_FILES)


def beginning(path: Path, most: int = 4096) -> bytes:
    """The first bytes of a file; empty if it is none that can be read."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(most)
    except OSError:
        return b""


def text_of(path: Path) -> str:
    """The text of a file. Raises UsageError for one that cannot be read, is too large, or is no text."""
    try:
        return content_of(path, _MOST_BYTES, "which is the limit").decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a text file (UTF-8)") from None


def object_of(path: Path) -> dict[str, Any]:
    """The object of a JSON file. Raises UsageError for anything else."""
    facts = parse_json(path, text_of(path))
    if not isinstance(facts, dict):
        raise UsageError(f"{path} is damaged: it holds no object of JSON")
    return facts


def values_of(path: Path) -> Iterator[Any]:
    """The values of a file with one value of JSON on each line. Raises UsageError, naming the line, for another."""
    return (value for _, value in _numbered(path, text_of(path)))


def _numbered(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    """The numbers of lines, from 1, and their values; empty lines have none."""
    for number, line in enumerate(text.split("\n"), 1):  # JSON may hold other ends of lines
        if line.strip():
            try:
                yield number, json.loads(line, parse_int=integer)
            except (ValueError, RecursionError):
                raise UsageError(f"{path} is damaged or cut off: line {number} is no JSON") from None


def member(folder: Path, name: str) -> Path:
    """A file that another file of its folder names. Raises UsageError if it lies elsewhere."""
    path = folder / name.replace("\\", "/")
    if not path.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{folder} is damaged: it names {name}, a file outside it")
    return path


def check_asked(asked: Asked, shapes: Collection[Shape], roles: Collection[str]) -> None:
    """Raises UsageError if a user says of a tool's files what they say themselves.

    Args:
        shapes: what rows may be taken for.
        roles: what --column may say.
    """
    if asked.shape and asked.shape not in shapes:
        raise UsageError(f"--shape {asked.shape} is for tables: these rows are read as {listed(list(shapes), 'or')}")
    if others := sorted(asked.columns.keys() - set(roles)):
        raise UsageError(f"--column {others[0]}=… is for tables: here it may say {listed(list(roles), 'or')} alone")


def numbers_of(column: pd.Series[Any], name: str) -> NDArray[np.float64]:
    """A column as numbers; those without bounds, which tools write for failures, are unknown (`LARGEST`).

    Raises UsageError for what is no number.
    """
    if column.dtype.kind not in "iufbO" and not pd.api.types.is_string_dtype(column):
        raise UsageError(f"{name} holds {column.dtype}, not numbers")
    numbers = pd.to_numeric(column, errors="coerce")
    if (bad := numbers.isna() & column.notna()).any():
        row = int(bad.to_numpy().argmax())
        raise UsageError(f"{name} is {str(column.iloc[row])[:60]!r} in row {row + 1}: not a number")
    values = numbers.to_numpy(float)
    return np.where(np.abs(values) <= LARGEST, values, np.nan)


def objects_of(path: Path) -> list[dict[str, Any]]:
    """The objects of a file with one on each line. Raises UsageError, naming the line, for anything else."""
    objects = []
    for number, value in _numbered(path, text_of(path)):
        if not isinstance(value, dict):
            raise UsageError(f"line {number} of {path} is no object of JSON")
        objects.append(value)
    return objects


def frame_of_objects(path: Path, objects: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """A row for each object of a file, and a column for each name in any. Raises UsageError for too many values."""
    names = {name for each in objects for name in each}
    refuse_columns(path, len(names))
    refuse_cells(path, len(objects), len(names))
    return pd.DataFrame(objects)


def header_of(path: Path) -> list[str]:
    """The names of the columns of a CSV file, to recognise it; none of any other file."""
    if path.suffix.lower() != ".csv":
        return []
    text = beginning(path, 1 << 20).decode("utf-8-sig", "replace")
    try:
        return next(csv.reader(text.splitlines()), [])
    except csv.Error:
        return []


def frame_of(path: Path) -> pd.DataFrame:
    """The columns of a CSV file. Raises UsageError if it is damaged."""
    header = [name for name in column_names(path) if name]  # pandas leaves the name of its index empty
    return read_columns(path, dict.fromkeys(header, "of runs"), set(), header)
