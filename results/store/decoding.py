"""Parquet files, read unless they are far larger in memory: rows and texts that repeat take no room in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_LEAST, _RATIO = 1 << 27, 500  # bytes that any file may unpack to; a larger one, to this multiple of its size


class TooLarge(ValueError):
    """A file unpacks to more than is read; the message says how much that is."""


def decoded(source: Path | bytes, columns: Sequence[str] | None = None, most_rows: int | None = None) -> pa.Table:
    """The rows of a Parquet file, or of the bytes of one, optionally in some columns.

    Args:
        most_rows: how many rows there may be, where something else says it.

    Raises TooLarge; ValueError for more rows, and for columns that are neither numbers nor texts; OSError or
    ArrowException for damage.
    """
    most = max(_LEAST, _RATIO * (source.stat().st_size if isinstance(source, Path) else len(source)))
    file = _opened(source, [])
    schema, facts = file.schema_arrow, file.metadata
    kinds = {name: schema.field(name).type for name in schema.names if columns is None or name in columns}
    if any(pa.types.is_dictionary(kind) for kind in kinds.values()):
        raise ValueError("categories, which take the place of numbers or texts")
    words = [name for name, kind in kinds.items() if pa.types.is_string(kind) or pa.types.is_binary(kind)]
    width = 4 * len(words) + sum(kind.bit_width for name, kind in kinds.items() if name not in words) / 8
    rows = sum(facts.row_group(i).num_rows for i in range(facts.num_row_groups))
    if most_rows is not None and rows > most_rows:
        raise ValueError(f"{rows:,} rows, where at most {most_rows:,} can be")
    size = width * rows
    _refuse(size, most)
    # A text that repeats is read once, with a number for each of its rows, until the length of all texts is known.
    table = (_opened(source, words) if words else file).read(None if columns is None else list(columns))
    for name in words:
        parts = [pc.take(pc.binary_length(part.dictionary), part.indices) for part in table[name].chunks]
        size += sum(pc.sum(lengths).as_py() or 0 for lengths in parts)
        _refuse(size, most)
    for name in words:
        place = table.column_names.index(name)
        table = table.set_column(place, schema.field(name), table[name].cast(kinds[name]))
    return table


def _opened(source: Path | bytes, words: Sequence[str]) -> pq.ParquetFile:
    place = source if isinstance(source, Path) else pa.BufferReader(source)
    return pq.ParquetFile(place, page_checksum_verification=True, read_dictionary=words)


def _refuse(size: float, most: int) -> None:
    if size > most:
        raise TooLarge(f"it unpacks to more than {most >> 20:,} MiB")
