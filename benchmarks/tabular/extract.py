"""Columns that patterns make of the parts of a text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from nasbench.base.errors import UsageError
from nasbench.benchmarks.tabular.frames import row_of

_MOST_GROUPS = 100  # of a pattern: the time that it takes grows with them


def extracted(frame: pd.DataFrame, patterns: Mapping[str, str], header: list[str], data: Path) -> pd.DataFrame:
    """Adds the named groups of patterns as new columns of text.

    Args:
        frame: the columns of the file.
        patterns: column → regular expression with named groups (`groups_of`).
        header: the names of all columns of the file.
        data: the file, for messages.

    Raises UsageError for a row that does not match, or a group that is called like a column.
    """
    for column, pattern in patterns.items():
        texts = pa.array(frame[column].astype(str), pa.string())
        if re.search(r"\\[wWdDsSbB]", pattern) and pc.any(pc.invert(pc.string_is_ascii(texts))).as_py():
            raise UsageError(
                f"{column} of {data} has letters beyond ASCII, and \\w, \\d, \\s and \\b of its pattern know ASCII: "
                "write \\pL for any letter, \\pN for any digit"
            )
        parts = pc.extract_regex(texts, pattern)
        bad = pd.Series(pc.is_null(parts).to_numpy(zero_copy_only=False))
        if bad.any():
            raise UsageError(
                f"{column} of {data} does not match its pattern in row {row_of(bad)}: "
                f"{frame[column].iloc[row_of(bad) - 1]!r}"
            )
        groups = groups_of(column, pattern)
        taken = [name for name in groups if name in header and name != column]
        if taken:
            raise UsageError(f"the pattern of {column} makes {taken[0]}, and {data} has a column of that name")
        for number, name in enumerate(groups):
            frame[name] = pc.struct_field(parts, [number]).to_pandas().to_numpy()
    return frame


def groups_of(column: str, pattern: object) -> list[str]:
    """The named groups of a pattern that extracts from a column.

    Raises UsageError for a pattern that the engine does not know. That engine (RE2, in Arrow) needs a time that grows
    with the length of a text; Python's own may search for ever, and cannot be stopped.
    """
    try:
        made = pc.extract_regex(pa.array([], pa.string()), pattern).type
    except (pa.ArrowInvalid, TypeError, UnicodeEncodeError) as error:
        why = str(error).removeprefix("Invalid regular expression: ").splitlines()[0]
        raise UsageError(
            f"the pattern that extracts from {column} is not a regular expression of RE2, which has named groups "
            f"(?P<NAME>…) and others (?:…), and neither looks around nor refers back: {why}"
        ) from None
    groups = [made.field(number).name for number in range(made.num_fields)]
    if not groups:
        raise UsageError(f"the pattern that extracts from {column} has no named group, as in (?P<operation>[a-z]+)")
    if len(groups) > _MOST_GROUPS:
        raise UsageError(f"the pattern that extracts from {column} has more than {_MOST_GROUPS} groups, the limit")
    if len(set(groups)) < len(groups):
        raise UsageError(f"the pattern that extracts from {column} has two groups of one name: rename one")
    return groups
