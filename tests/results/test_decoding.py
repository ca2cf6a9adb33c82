"""Parquet files that are far larger in memory than on the disk are not read into it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nasbench.results.store import decoding
from nasbench.results.store.decoding import TooLarge, decoded

ROWS = 10_000


def written(path: Path, **columns: pa.Array) -> Path:
    pq.write_table(pa.table(columns), path, compression="zstd")
    return path


def test_rows_that_repeat_count_as_what_they_unpack_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "rows.parquet", zero=pa.array(np.zeros(ROWS)))
    monkeypatch.setattr(decoding, "_RATIO", 1)
    monkeypatch.setattr(decoding, "_LEAST", 8 * ROWS)
    assert len(decoded(path)) == len(decoded(path.read_bytes())) == ROWS
    monkeypatch.setattr(decoding, "_LEAST", 8 * ROWS - 1)
    with pytest.raises(TooLarge, match="unpacks to more than"):
        decoded(path)
    monkeypatch.setattr(decoding, "_RATIO", ROWS)  # a larger file may unpack to more
    assert len(decoded(path)) == ROWS


@pytest.mark.parametrize("text", ["x" * 1000, b"x" * 1000])
def test_a_text_that_repeats_counts_in_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | bytes
) -> None:
    path = written(tmp_path / "texts.parquet", text=pa.repeat(pa.scalar(text), ROWS), n=pa.array(np.zeros(ROWS)))
    monkeypatch.setattr(decoding, "_RATIO", 1)
    monkeypatch.setattr(decoding, "_LEAST", 1012 * ROWS)
    assert decoded(path).equals(pq.read_table(path))
    assert decoded(path, ["n", "absent"]).column_names == ["n"]
    monkeypatch.setattr(decoding, "_LEAST", 1012 * ROWS - 1)
    with pytest.raises(TooLarge, match="unpacks to more than"):
        decoded(path)
    assert len(decoded(path, ["n"])) == ROWS  # what is not read does not count


def test_categories_are_no_columns_of_ours(tmp_path: Path) -> None:
    path = written(tmp_path / "categories.parquet", name=pa.array(["a", "b"]).dictionary_encode())
    with pytest.raises(ValueError, match="categories"):
        decoded(path)
