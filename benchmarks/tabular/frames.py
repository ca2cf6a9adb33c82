"""The user's tables in files: CSV (also compressed) and Parquet, read column by column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from nasbench.base.errors import UsageError, unknown
from nasbench.base.files import OF_TABLE, most_unpacked
from nasbench.base.metrics import LARGEST
from nasbench.base.textfile import check_regular
from nasbench.benchmarks.tabular._beginnings import check_beginning, check_quotes

MOST_ROWS = 2_000_000
"""Largest number of rows of a user's table; NAS-Bench-101 with three repetitions has 1,270,872."""
MOST_BYTES = 1 << 30
"""Largest size of a user's table in bytes, uncompressed."""
_MOST_TEXT = MOST_BYTES // 4
"""The same of Parquet's texts, of which a few bytes may stand for many: with its way into pandas it takes 1 GB."""
LINE_END = re.compile(rb"[\r\n]")
MOST_CELLS = 1 << 25
"""Largest number of values that are read: NAS-Bench-101 with three repetitions has 15 million."""
LONGEST_NAME = 1_000
"""Largest number of letters of a column's name."""
MOST_LETTERS = 400_000
"""Largest number of letters of the names of all columns, whose words are looked at one by one."""
MOST_COLUMNS = 10_000
"""Largest number of columns of a user's table: the header alone of a million takes gigabytes."""
_TABLES = 512  # batches that are put together at once
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_BATCH = 64  # rows of a Parquet file that are read at once: what its footer says of sizes need not be true
_QUOTED = pa.csv.ParseOptions(newlines_in_values=True)
"""A text in quotation marks may have several lines, wherever the reader divides the file."""


def check_size(data: Path) -> None:
    """Raises UsageError if a table has too many rows or bytes, before it is read into memory.

    Raises OSError or ArrowException if it cannot be read.
    """
    check_regular(data)
    if data.is_dir():
        raise UsageError(f"{data} is a folder: give a file")
    if data.suffix.lower() not in {".parquet", *_COMPRESSED}:
        _refuse_size(data, data.stat().st_size)
    if data.suffix.lower() == ".parquet":
        facts = pq.read_metadata(data)
        size = sum(facts.row_group(i).total_byte_size for i in range(facts.num_row_groups))
        refuse_columns(data, facts.num_columns)
        sizes = iter([(size, facts.num_rows)])
    else:
        refuse_columns(data, _commas(data) + 1)
        sizes = ((size, lines - 1) for size, lines in _so_far(data))  # the first line has the names
    most = min(MOST_BYTES, most_unpacked(data, OF_TABLE)) if data.suffix.lower() in _COMPRESSED else MOST_BYTES
    for size, rows in sizes:
        _refuse_size(data, size, rows, most)


def refuse_columns(data: Path, columns: int) -> None:
    """Raises UsageError for more columns than a table may have."""
    if columns > MOST_COLUMNS:
        raise UsageError(f"{data} has more than {MOST_COLUMNS:,} columns, which is the limit: leave some out")


def _commas(data: Path) -> int:
    """The number of commas in the first line of a file, as far as it matters."""
    found = size = 0
    with suppress(pa.ArrowException, OSError), pa.input_stream(str(data), compression="detect") as stream:
        while found <= MOST_COLUMNS and size < 4 * MOST_LETTERS and (part := stream.read(1 << 16)):
            line, *more = LINE_END.split(part, maxsplit=1)
            found, size = found + line.count(b","), size + len(part)
            if more:
                break
    return found  # of a damaged file, too, which is said when its bytes are counted


def _refuse_size(data: Path, size: int, rows: int = 0, most: int = 0) -> None:
    most = most or MOST_BYTES
    if size > most or rows > MOST_ROWS:
        limit = f"{most / 2**30:.0f} GiB" if most >= MOST_BYTES else f"{most >> 20} MiB"
        more = f"{MOST_ROWS:,} rows" if rows > MOST_ROWS else f"{limit} unpacked"
        raise UsageError(
            f"{data} has more than {more}, which is the limit: leave out rows or columns, or give each epoch a column "
            "instead of a row"
        )


def refuse_cells(data: Path, rows: int, columns: int) -> None:
    """Raises UsageError for more values than a table may have."""
    if rows * columns > MOST_CELLS:
        raise UsageError(
            f"{data} has {rows:,} rows of {columns:,} columns, more than {MOST_CELLS:,} values, which is the limit: "
            "leave out rows or columns"
        )


def line_ends(text: bytes) -> int:
    """The number of line ends in a text: LF, CR, or both."""
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


def _so_far(path: Path) -> Iterator[tuple[int, int]]:
    """Running counts of bytes and lines of an uncompressed file. Raises UsageError if it is damaged."""
    size = lines = 0
    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            while part := stream.read(1 << 22):
                size, lines = size + len(part), lines + line_ends(part)
                yield size, lines
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None):  # an error of the system, not of decompression
            raise
        raise UsageError(f"{path} cannot be unpacked, or is cut off: {str(error).splitlines()[0]}") from None


def column_names(data: Path) -> list[str]:
    """The names of a file's columns, those of a CSV file without the spaces that pad them.

    Raises UsageError, naming the file, if it cannot be read.
    """
    try:
        check_size(data)
        if data.suffix.lower() == ".parquet":
            names: list[str] = pq.read_schema(data).names
        else:
            check_beginning(data)
            check_quotes(data)
            names = [name.strip() for name in _padded_names(data)]
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise _unreadable(data, error) from None
    if long := next((name for name in names if len(name) > LONGEST_NAME), ""):
        raise UsageError(f"{data} has a column whose name is longer than {LONGEST_NAME:,} letters: {long[:60]!r}…")
    if sum(map(len, names)) > MOST_LETTERS:
        raise UsageError(f"{data} has more than {MOST_LETTERS:,} letters in the names of its columns: leave some out")
    return names


def _padded_names(data: Path) -> list[str]:
    """The names of a CSV file's columns, as they stand there."""
    with pa.csv.open_csv(data, parse_options=_QUOTED) as reader:
        names: list[str] = reader.schema.names
    return names


def check_separator(data: Path, header: list[str]) -> None:
    """Raises UsageError if a file has one column only, as with a wrong separator."""
    if len(header) == 1:
        asked = "a table has several" if data.suffix.lower() == ".parquet" else "is the separator a comma?"
        raise UsageError(f"{data} has one column only, {header[0][:60]!r}: {asked}")


def check_column(data: Path, column: str, purpose: str, header: list[str]) -> None:
    """Raises UsageError, with the nearest name, if a file has no such column.

    Args:
        data: the file.
        column: the column.
        purpose: the purpose of the column, and its origin, for the message: `metric size, says spec.toml`.
        header: the names of all columns (`column_names`).
    """
    if column not in header:
        check_separator(data, header)
        raise unknown(f"column ({purpose}) of {data}", column, header)


def read_columns(data: Path, wanted: Mapping[str, str], texts: set[str], header: list[str]) -> pd.DataFrame:
    """Reads columns of a file.

    Args:
        data: the file.
        wanted: the names of the columns → their purposes (see `check_column`).
        texts: the columns to read as text, even if they look like numbers ("01" is not 1).
        header: the names of all columns (`column_names`).

    Raises UsageError, naming file and column, if a column is missing or occurs twice, or the file cannot be read.
    """
    for column, purpose in wanted.items():
        check_column(data, column, purpose, header)
        if header.count(column) > 1:
            raise UsageError(f"{data} has two columns called {column or '(nothing)'}: rename one")
    try:
        if data.suffix.lower() == ".parquet":
            table = _parquet(data, list(wanted))
        else:
            there = {name.strip(): name for name in _padded_names(data)}
            table = pa.csv.read_csv(
                data,
                parse_options=_QUOTED,
                convert_options=pa.csv.ConvertOptions(
                    include_columns=[there[name] for name in wanted],
                    column_types={there[name]: pa.string() for name in texts & there.keys()},
                    strings_can_be_null=True,
                ),
            ).rename_columns(list(wanted))
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise _unreadable(data, error) from None
    for column in table.schema:
        if _is_binary(column.type):
            raise UsageError(f"column {column.name} of {data} is not UTF-8 text: {_CONVERT}")
    if not table.num_rows:
        raise UsageError(f"{data} has no rows")
    refuse_cells(data, table.num_rows, len(wanted))  # of Parquet it is known before
    for place, (column, values) in enumerate(zip(table.schema, table.columns, strict=True)):
        if pa.types.is_null(column.type):  # pandas would hold a Python object for each row
            table = table.set_column(place, column.name, pa.nulls(table.num_rows, pa.float32()))
        elif pa.types.is_duration(column.type):
            seconds = pc.divide(values.cast(pa.int64()).cast(pa.float64()), _PER_SECOND[column.type.unit])
            table = table.set_column(place, column.name, seconds)
    # Each column is given back as soon as pandas has it.
    try:
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=True, split_blocks=True, self_destruct=True)
    except (ValueError, OverflowError) as error:  # dates beyond those of Python
        raise _unreadable(data, error) from None
    return frame


def nested_columns(data: Path) -> list[str]:
    """The columns of a Parquet file whose values are lists or other collections; none of another file."""
    if data.suffix.lower() != ".parquet":
        return []
    return [field.name for field in pq.read_schema(data) if pa.types.is_nested(_plain(field.type))]


def _parquet(data: Path, wanted: list[str]) -> pa.Table:
    """Columns of a Parquet file. Raises UsageError if they are no numbers or texts, or too large in memory.

    A text that repeats takes no room in the file, so its bytes are counted as they are read.
    """
    schema, metadata = pq.read_schema(data), pq.read_metadata(data)
    rows = sum(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
    kinds = {name: _plain(schema.field(name).type) for name in wanted if name in schema.names}
    for name, kind in kinds.items():
        if pa.types.is_nested(kind) or _is_binary(kind):
            raise UsageError(f"column {name} of {data} holds {kind}, no numbers or texts: leave it out")
    _refuse_size(data, 8 * rows * len(kinds))
    refuse_cells(data, rows, len(kinds))
    size, tables, whole = 0, list[pa.Table](), list[pa.Table]()
    texts = [name for name, kind in kinds.items() if pa.types.is_string(kind) or pa.types.is_large_string(kind)]
    size_of_texts = _size_of_texts(data, texts)  # counted twice: pandas holds them once more
    with pq.ParquetFile(data) as file:
        for batch in file.iter_batches(_BATCH, columns=wanted):
            part = pa.Table.from_batches([batch]).select(list(kinds))  # `a.b` may be read with the struct `a`, too
            for name, kind in kinds.items():
                if part[name].type != kind:
                    part = part.set_column(part.column_names.index(name), name, part[name].cast(kind))
            size += part.nbytes
            _refuse_size(data, size + size_of_texts, most=MOST_BYTES // 2)
            tables.append(part)
            if len(tables) == _TABLES:  # of 64 rows each, they take more room than what is in them
                whole, tables = [*whole, pa.concat_tables(tables).combine_chunks()], []
        return pa.concat_tables([*whole, *tables]) if whole or tables else file.read(columns=wanted).select(list(kinds))


def _size_of_texts(data: Path, texts: list[str]) -> int:
    """The bytes of columns of texts once each row has its own.

    Raises UsageError where these are too many: the dictionary of a small file may say one long text for every row.
    """
    size = 0
    with pq.ParquetFile(data, read_dictionary=texts) as file:
        for group in range(file.num_row_groups if texts else 0):
            table = file.read_row_group(group, columns=texts)
            for name in texts:
                for chunk in table[name].chunks:
                    lengths = _lengths(chunk.dictionary)
                    size += pc.sum(lengths.take(chunk.indices.drop_null())).as_py() or 0
                    _refuse_size(data, size, most=_MOST_TEXT)
    return size


def _lengths(texts: pa.Array) -> pa.Array:
    """The most bytes that each text takes as Python's own: four for each character, one where all are ASCII."""
    return pc.if_else(pc.string_is_ascii(texts), pc.binary_length(texts), pc.multiply(pc.utf8_length(texts), 4))


def _is_binary(kind: pa.DataType) -> bool:
    is_sized = pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind)
    return bool(is_sized or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type in which a column's values are read: decimals as floats; dates without their zone, of any name."""
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if pa.types.is_decimal(kind):
        return pa.float64()
    return pa.timestamp(kind.unit) if pa.types.is_timestamp(kind) else kind


def numbers_of(frame: pd.DataFrame, facts: Mapping[str, Any], data: Path) -> np.ndarray:
    """A column as numbers, NaN for missing values.

    Args:
        frame: the columns of the file.
        facts: `column`; perhaps `missing_value`, which stands for a missing value, and `complement_of`, from which the
            values are subtracted (0 gives their negatives).
        data: the file, for messages.

    Raises UsageError, naming the row, for a value that is not a number.
    """
    column = frame[facts["column"]]
    if column.dtype.kind not in "iufbO" and not pd.api.types.is_string_dtype(column):
        raise UsageError(f"{column.name} of {data} holds {column.dtype}, not numbers")
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    bad = numbers.isna() & column.notna() & (column != "")  # of an optional group that is absent
    if bad.any():
        raise UsageError(f"{column.name} is {column[bad].iloc[0]!r} in row {row_of(bad)} of {data}: not a number")
    if "missing_value" in facts:
        numbers[numbers == facts["missing_value"]] = np.nan
    large = (numbers.abs() > LARGEST) & np.isfinite(numbers)
    if large.any():
        raise UsageError(
            f"{column.name} is {numbers[large].iloc[0]:g} in row {row_of(large)} of {data}: a number is at most "
            f"{LARGEST:g} in size; missing_value can mark missing values"
        )
    values: np.ndarray = numbers.to_numpy()
    if "complement_of" in facts:
        values = facts["complement_of"] - values
        above = pd.Series(values < 0)
        if facts["complement_of"] and above.any():
            raise UsageError(
                f"{column.name} is {numbers.to_numpy()[above][0]:g} in row {row_of(above)} of {data}, which exceeds "
                f"complement_of = {facts['complement_of']}"
            )
    return values


def stem_of(data: Path) -> str:
    """The name of a file without the suffixes of its format: `runs.v2` for `runs.v2.csv.gz`."""
    plain = data.with_suffix("") if data.suffix.lower() in _COMPRESSED else data
    return plain.stem


def row_of(mask: pd.Series[bool]) -> int:
    """The first row, counted from 1, for which a mask is true (the header is row 0)."""
    return int(np.flatnonzero(mask.to_numpy())[0]) + 1


_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
_CONVERT = "convert it (of Western Windows: iconv -f cp1252 -t utf-8)"


def _unreadable(data: Path, error: Exception) -> UsageError:
    if isinstance(error, UnicodeDecodeError):
        return UsageError(f"{data} is not UTF-8 text: {_CONVERT}")
    if isinstance(error, FileNotFoundError):
        return UsageError(f"cannot read {data}: there is no such file")
    text = getattr(error, "strerror", None) or str(error).splitlines()[0]
    if "Expected 1 columns" in text:
        return UsageError(
            f"{data} has one column in its first line, and more below: that line must hold the names of the columns, "
            "commas must separate them, and a decimal point is a point"
        )
    if "straddling" in text or "Empty CSV file or block" in text:
        why = "a line has no end within 1 MiB, or a quotation mark is not closed"
        return UsageError(f"{data} is not a readable table: {why}")
    return UsageError(f"{data} is not a readable table (CSV, also compressed, or Parquet): {text}")
