"""Damaged journals of a table that is being made: each damaged line is named, and the others are used."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from nasbench.benchmarks.spaces import Configuration
from tests.conftest import Printed
from tests.nasbench_cli.digit_tables import BENCH, records

pytest.importorskip("torch")
pytest.importorskip("sklearn")

Asked = list[tuple[Configuration, int]]


def test_a_line_that_was_changed_is_said_and_made_again(
    nasbench: Callable[..., Printed],
    tmp_path: Path,
    asked: Asked,
) -> None:
    command = ["tabulate", BENCH, "--sample", 3, "--out", tmp_path / "t"]
    nasbench(*command)
    table, evaluations = (tmp_path / "t.csv").read_bytes(), len(asked)
    journal = tmp_path / "t.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    whole, row = lines[3], lines[3].replace(b'"metrics":[', b'"metrics":[1')
    assert row != whole
    journal.write_bytes(b"".join([*lines[:3], row, *lines[4:]]))
    mended = nasbench(*command)
    assert mended.code == 0
    said = (
        f"notice: {journal} is damaged in line 4: 2 other evaluations in it are used, and the lost ones are made "
        f"again, and the damaged lines are kept in {tmp_path / 't.damaged'}\n"
    )
    assert mended.err == said
    assert (tmp_path / "t.damaged").read_bytes() == row
    assert len(asked) == evaluations + 1
    assert (tmp_path / "t.csv").read_bytes() == table
    assert nasbench(*command).err == ""  # it is healed


@pytest.mark.parametrize("damage", ["a bit", "nonsense", "gone", "joined"])
def test_a_damaged_first_line_is_said_and_no_row_is_lost(
    damage: str,
    nasbench: Callable[..., Printed],
    tmp_path: Path,
    asked: Asked,
) -> None:
    command = ["tabulate", BENCH, "--sample", 3, "--out", tmp_path / "t"]
    nasbench(*command)
    table, evaluations, journal = (tmp_path / "t.csv").read_bytes(), len(asked), tmp_path / "t.jsonl"
    header, signed, *rest = journal.read_bytes().splitlines(keepends=True)
    begin = {"nonsense": b"\0" * 100 + b"\n", "gone": b"", "joined": header[:-1]}.get(
        damage, header[:40] + b"~" + header[41:]
    )
    journal.write_bytes(b"".join([begin, signed, *rest]))
    mended = nasbench(*command)
    assert mended.code == 0, mended.err
    assert (f"notice: {journal} is damaged in line 1: " in mended.err) == (damage != "gone")
    assert len(asked) == evaluations
    assert (tmp_path / "t.csv").read_bytes() == table
    assert len(records(journal)) == 3
    assert journal.read_bytes().startswith(header) or damage == "gone"
    assert nasbench(*command).err == ""


def test_a_flipped_bit_of_a_shard_that_others_made_is_said_and_their_file_left_alone(
    nasbench: Callable[..., Printed],
    tmp_path: Path,
    asked: Asked,
) -> None:
    command = ["tabulate", BENCH, "--sample", 4, "--out", tmp_path / "t", "--shard"]
    for shard in ("1/2", "2/2"):
        nasbench(*command, shard)
    other = tmp_path / "t.2-of-2.jsonl"
    content = bytearray(other.read_bytes())
    content[content.rindex(b"cost")] ^= 1
    other.write_bytes(content)
    seen = nasbench(*command, "1/2")
    assert f"notice: {other} is damaged in line " in seen.err
    assert "1 evaluation of other shards is missing" in seen.out
    assert other.read_bytes() == content
    healed = nasbench(*command, "2/2")
    assert f"notice: {other} is damaged in line " in healed.err
    assert healed.code == 0
    assert (tmp_path / "t.csv").exists()


def test_a_changed_end_of_the_last_line_is_said(
    nasbench: Callable[..., Printed],
    tmp_path: Path,
    asked: Asked,
) -> None:
    """It looks like a line that a crash has cut off, but for its length."""
    command = ["tabulate", BENCH, "--sample", 3, "--out", tmp_path / "t"]
    nasbench(*command)
    journal, evaluations = tmp_path / "t.jsonl", len(asked)
    content = journal.read_bytes()
    journal.write_bytes(content[:-1] + b"*")
    mended = nasbench(*command)
    assert f"notice: {journal} is damaged in line 5: 2 other evaluations in it are used" in mended.err
    assert len(asked) == evaluations + 1
    assert len(records(journal)) == 3
    journal.write_bytes(content[:-1])  # a crash: nothing to say
    assert nasbench(*command).err == ""


def test_rows_of_another_benchmark_are_never_taken_where_the_first_line_is_damaged(
    nasbench: Callable[..., Printed],
    tmp_path: Path,
    asked: Asked,
) -> None:
    nasbench("tabulate", "digits/nasbench201/table@4", "--sample", 3, "--out", tmp_path / "t")
    journal = tmp_path / "t.jsonl"
    content = journal.read_bytes().replace(b'"table"', b'"tabel"', 1)
    journal.write_bytes(content)
    refused = nasbench("tabulate", BENCH, "--sample", 3, "--out", tmp_path / "t")
    assert refused.code == 2
    assert f"{journal} is no journal of a table of {BENCH}: move it away" in refused.err
    assert journal.read_bytes() == content


def test_a_part_of_an_older_nasbench_is_read_and_without_its_first_line_asked_about(
    nasbench: Callable[..., Printed],
    tmp_path: Path,
    asked: Asked,
) -> None:
    """Its rows do not say of which benchmark they are; the sentence has the line that does."""
    command = ["tabulate", BENCH, "--sample", 3, "--out", tmp_path / "t"]
    nasbench(*command)
    evaluations, journal = len(asked), tmp_path / "t.jsonl"
    texts = [line[len('{"check":"00000000",') :] for line in journal.read_text().splitlines()]
    older = [f'{{"check":"{zlib.crc32((text + chr(10)).encode()):08x}",{text}\n' for text in texts]
    journal.write_text("".join(older))
    assert nasbench(*command).err == ""
    assert len(asked) == evaluations
    journal.write_text("".join([older[0].replace("table", "tadle", 1), *older[1:]]))
    refused = nasbench(*command)
    assert refused.code == 2
    assert (
        f"line 1 of {journal} is damaged, and the 3 evaluations after it, from an older nasbench, do not name"
        in refused.err
    )
    said = refused.err.split(" put ")[1].split(" there; ")[0]
    journal.write_text("".join([said, "\n", *older[1:]]))
    assert json.loads(said)["table"] == BENCH
    assert nasbench(*command).code == 0
    assert len(asked) == evaluations


def test_a_torn_first_line_is_written_again(
    nasbench: Callable[..., Printed],
    tmp_path: Path,
    asked: Asked,
) -> None:
    nasbench("tabulate", BENCH, "--sample", 2, "--out", tmp_path / "t")
    whole = (tmp_path / "t.jsonl").read_bytes()
    (tmp_path / "t.jsonl").write_bytes(whole[:40])
    assert nasbench("tabulate", BENCH, "--sample", 2, "--out", tmp_path / "t").code == 0
    assert (tmp_path / "t.jsonl").read_bytes() == whole


def test_a_damaged_first_line_before_any_row_is_refused_and_left_alone(
    nasbench: Callable[..., Printed], tmp_path: Path, asked: Asked
) -> None:
    command = ["tabulate", BENCH, "--sample", 3, "--out", tmp_path / "t"]
    nasbench(*command)
    journal = tmp_path / "t.jsonl"
    header, signed, *_ = journal.read_bytes().splitlines(keepends=True)
    damaged = header[:40] + b"~" + header[41:] + signed
    journal.write_bytes(damaged)
    refused = nasbench(*command)
    assert (refused.code, f"{journal} is no journal of a table of {BENCH}: move it away" in refused.err) == (2, True)
    assert journal.read_bytes() == damaged
