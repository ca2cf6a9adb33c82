"""Small tables that unpack to much are refused in one sentence, before they take a gigabyte of memory."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nasbench.base.errors import UsageError
from nasbench.benchmarks.regression import data
from nasbench.benchmarks.regression.data import read
from nasbench.benchmarks.tabular import frames, meaning
from nasbench.benchmarks.tabular.extract import groups_of
from nasbench.benchmarks.tabular.frames import column_names, read_columns
from nasbench.benchmarks.tabular.guess import guess
from tests import measured

ROWS = 1_000_000
NUMBERS = pa.array(np.zeros(ROWS))


def parquet(path: Path, store_schema: bool = True, **columns: pa.Array) -> Path:
    pq.write_table(pa.table(columns), path, compression="zstd", store_schema=store_schema)
    return path


def shared_text(folder: Path, is_category: bool = False) -> Path:
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(ROWS, np.int32)), ["x" * 100_000])
    return parquet(folder / "t.parquet", is_category, lr=NUMBERS, name=names)


def shared_category(folder: Path) -> Path:
    return shared_text(folder, is_category=True)


def long_text(folder: Path) -> Path:
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(64, np.int32)), ["x" * 30_000_000])
    table, path = pa.table({"lr": NUMBERS[:64], "name": names, "err": NUMBERS[:64]}), folder / "t.parquet"
    pq.write_table(table, path, compression="zstd", store_schema=False, dictionary_pagesize_limit=1 << 30)
    return path


def wide_bytes(folder: Path) -> Path:
    blob = pa.array([bytes(1 << 24)] * 40, pa.binary(1 << 24))
    return parquet(folder / "t.parquet", lr=NUMBERS[:40], blob=blob, err=NUMBERS[:40])


def many_columns(folder: Path) -> Path:
    return parquet(folder / "t.parquet", **{f"c{i}": NUMBERS for i in range(200)})


def lists(folder: Path) -> Path:
    offsets = pa.array([0, *[50 * ROWS] * 10], pa.int32())
    column = pa.ListArray.from_arrays(offsets, pa.repeat(pa.scalar(0.0), 50 * ROWS))
    return parquet(folder / "t.parquet", lr=column, err=NUMBERS[:10])


def many_values(folder: Path) -> Path:
    return parquet(folder / "t.parquet", **{f"c{i}": NUMBERS for i in range(60)})


def test_a_name_is_no_book(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"{'x_' * 5000},acc\n1,.1\n2,.2\n")
    pq.write_table(pa.table({"x" * 5000: [1, 2], "acc": [0.1, 0.2]}), tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        with pytest.raises(UsageError, match="a column whose name is longer than 1,000 letters: 'x"):
            guess(tmp_path / name)


def test_the_names_of_all_columns_are_no_book(tmp_path: Path) -> None:
    names = [f"{'loss' + ' ' * 980}{number:04d}" for number in range(405)]
    (tmp_path / "t.csv").write_text(",".join(["lr", *names]) + "\n")
    with pytest.raises(UsageError, match="more than 400,000 letters in the names of its columns: leave some out"):
        guess(tmp_path / "t.csv")


def test_the_end_of_a_name_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern that tries each of many spaces as a beginning took 0.2 s for a name."""
    seen: list[str] = []
    monkeypatch.setattr(meaning, "_BAR", SimpleNamespace(fullmatch=seen.append))
    assert not meaning.is_spread_of_another(f"loss{' ' * 980}q1", ())
    assert seen == ["q1"]


def test_values_are_counted_in_both_kinds_of_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"lr": [0.1, 0.2, 0.3], "err": [1.0, 2.0, 3.0]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for limit in (6, 5):
        monkeypatch.setattr("nasbench.benchmarks.tabular.frames.MOST_CELLS", limit)
        for name in ("t.csv", "t.parquet"):
            if limit == 6:
                assert len(read_columns(tmp_path / name, {"lr": "", "err": ""}, set(), ["lr", "err"])) == 3
                continue
            with pytest.raises(UsageError, match="3 rows of 2 columns, more than 5 values, which is the limit"):
                read_columns(tmp_path / name, {"lr": "", "err": ""}, set(), ["lr", "err"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [shared_text, shared_category, long_text, wide_bytes, many_columns, many_values, lists]
)
def test_a_small_table_that_unpacks_to_much_is_refused(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    path = make(tmp_path)
    assert path.stat().st_size < 1_000_000
    done = measured.nasbench("import", "table", path, "--guess", "--spec", tmp_path / "spec.toml")
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert re.search(
        "unpacked, which is the limit|values, which is the limit|holds fixed_size_binary|has one column only", done.err
    )
    assert done.megabytes < 1_000


COMPRESSED = {
    "nats-bench-size": ("t.pickle.pbz2", bz2.compress, b"\x80\x04", b"]"),
    "taskset": ("t.json.gz", gzip.compress, b"[", b"[],"),
    "table": ("t.csv.gz", gzip.compress, b"lr,err\n", b"0" * 99 + b",0\n"),
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMPRESSED)
def test_a_small_compressed_file_that_unpacks_to_much_is_refused(tmp_path: Path, command: str) -> None:
    name, compress, head, part = COMPRESSED[command]
    path = tmp_path / name
    path.write_bytes(compress(head + part * (100_000_000 // len(part))))
    assert path.stat().st_size < 1_000_000
    done = measured.nasbench(
        "import", command, path, *(["--guess", "--spec", tmp_path / "t.toml"] if command == "table" else [])
    )
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert "unpack" in done.err
    assert done.megabytes < 1_000


@pytest.mark.parametrize("suffix", ["csv.gz", "csv.bz2", "csv.zip"])
def test_a_compressed_data_set_that_unpacks_to_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    frame = pd.DataFrame({"x": range(1000), "y": range(1000)})
    frame.to_csv(tmp_path / f"data.{suffix}", index=False)
    assert len(read(tmp_path / f"data.{suffix}", "y").splits["train"].features)
    monkeypatch.setattr(data, "OF_TABLE", (100, 1))
    with pytest.raises(UsageError, match="unpacks to more than"):
        read(tmp_path / f"data.{suffix}", "y")


def test_a_category_is_read_as_its_text(tmp_path: Path) -> None:
    names = pa.array(["a", "b", None]).dictionary_encode()
    path = parquet(tmp_path / "t.parquet", name=names, text=pa.array(["c", None, "d"]), number=pa.array([1, None, 3]))
    frame = read_columns(path, dict.fromkeys(("number", "name", "text"), "a test"), set(), column_names(path))
    assert frame["name"].tolist()[:2] == ["a", "b"]
    assert frame.isna().sum().tolist() == [1, 1, 1]
    assert frame.columns.tolist() == ["number", "name", "text"]


def test_decimals_and_durations_are_numbers_and_no_time_zone_is_looked_up(tmp_path: Path) -> None:
    """DuckDB and Spark write decimals, pandas durations, and Windows names zones that nobody else knows."""
    columns = {
        "lr": pa.array([Decimal("0.01"), Decimal("0.02"), Decimal("0.05")] * 8, pa.decimal128(8, 4)),
        "at": pa.array([dt.datetime(2026, 1, 1 + i) for i in range(24)], pa.timestamp("ms", "W. Europe Standard Time")),
        "val_error": pa.array([Decimal(i) / 10 for i in range(24)], pa.decimal128(6, 2)),
        "fit_time": pa.array([dt.timedelta(seconds=1.5 * i) for i in range(23)] + [None], pa.duration("us")),
    }
    path = parquet(tmp_path / "t.parquet", **columns)
    frame = read_columns(path, dict.fromkeys(columns, ""), set(), list(columns))
    assert frame["lr"].tolist() == [0.01, 0.02, 0.05] * 8
    assert frame["fit_time"].dropna().tolist() == [1.5 * i for i in range(23)]
    roles = guess(path).roles
    assert roles["hyper-parameters"] == "lr"
    assert roles["objective"].startswith("val_error, less is better: 0 is the best value, 2.3 the worst")
    assert (roles["cost in seconds"], roles["left out"]) == ("fit_time", "at")


@pytest.mark.slow
@pytest.mark.parametrize("packed", [True, False])
def test_as_much_text_as_is_allowed_takes_a_gigabyte(tmp_path: Path, packed: bool) -> None:
    texts = pa.array([letter * 59_000 for letter in "abcd"] * 1125)
    path = parquet(tmp_path / "t.parquet", kind=texts.dictionary_encode() if packed else texts, err=NUMBERS[:4500])
    done = measured.nasbench("import", "table", path, "--guess", "--spec", tmp_path / "t.toml")
    assert done.megabytes < 1_000
    assert "unpacked" not in done.err


def test_a_file_is_the_same_in_however_many_pieces_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"lr": list(range(1000)), "name": ["a", None, "b", "c"] * 250, "nothing": [None] * 1000}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    whole = read_columns(tmp_path / "t.parquet", dict.fromkeys(columns, ""), set(), list(columns))
    monkeypatch.setattr("nasbench.benchmarks.tabular.frames._TABLES", 3)
    again = read_columns(tmp_path / "t.parquet", dict.fromkeys(columns, ""), set(), list(columns))
    pd.testing.assert_frame_equal(whole, again)
    assert whole["lr"].tolist() == columns["lr"]
    assert whole["name"].fillna("none").tolist() == ["a", "none", "b", "c"] * 250
    assert whole["nothing"].isna().all()
    assert whole["nothing"].dtype == np.float32


def test_two_columns_of_one_name_and_patterns_of_many_groups_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_arrays([NUMBERS[:9], NUMBERS[:9]], ["lr", "lr"]), tmp_path / "t.parquet")
    with pytest.raises(UsageError, match="has two columns called lr: rename one"):
        guess(tmp_path / "t.parquet")
    many = "".join(f"(?P<g{i}>a*)" for i in range(101))
    with pytest.raises(UsageError, match="has more than 100 groups"):
        groups_of("arch", many)
    assert len(groups_of("arch", many.removesuffix("(?P<g100>a*)"))) == 100


@pytest.mark.parametrize("packed", [True, False])
def test_wide_letters_count_as_pythons_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    """One of them makes every letter of a text four bytes wide."""
    assert frames._lengths(pa.array(["abc", "ab\u00e9", "a\U0001f600"])).to_pylist() == [3, 12, 8]
    texts = pa.array(["a" * 999 + "\U0001f600"] * 100)
    pq.write_table(pa.table({"name": texts, "x": NUMBERS[:100]}), tmp_path / "t.parquet", use_dictionary=packed)
    monkeypatch.setattr(frames, "_MOST_TEXT", 350_000)
    with pytest.raises(UsageError, match="unpacked, which is the limit"):
        guess(tmp_path / "t.parquet")
    monkeypatch.setattr(frames, "_MOST_TEXT", 450_000)
    read_columns(tmp_path / "t.parquet", {"name": ""}, set(), ["name", "x"])


def test_binary_columns_of_parquet_are_named_without_advice_on_text(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": pa.array([b"\xff"] * 9), "x": NUMBERS[:9]}), tmp_path / "t.parquet")
    with pytest.raises(UsageError, match=r"column id of .* holds binary, no numbers or texts: leave it out"):
        guess(tmp_path / "t.parquet")
