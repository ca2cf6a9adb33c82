"""Whole numbers of more digits than a floating-point number holds: codes, such as masks of zeros and ones."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nasbench.benchmarks.tabular.frames import read_columns

_EXACT = 2.0**53


def codes(frame: pd.DataFrame, data: Path, header: list[str]) -> pd.DataFrame:
    """The columns of a file whose whole numbers are fewer as floating-point numbers, as they are written.

    Args:
        frame: columns of the file, as they were read.
        data: the file.
        header: the names of all its columns.

    Raises UsageError if the file cannot be read.
    """
    numbers = frame.select_dtypes("number")
    large = [str(name) for name in numbers if numbers[name].abs().max() >= _EXACT]
    if data.suffix.lower() == ".parquet":
        written = frame[large].select_dtypes("integer").astype(str)
    else:
        written = read_columns(data, dict.fromkeys(large, "again, as text"), set(large), header) if large else frame[[]]
    return written[[name for name in written if _are_merged(written[name].dropna())]]


def _are_merged(texts: pd.Series[str]) -> bool:
    whole = texts[texts.str.fullmatch(r"[-+]?\d+")]
    return bool(whole.nunique() > whole.astype(float).nunique())
