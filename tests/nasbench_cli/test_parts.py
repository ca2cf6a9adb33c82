"""Damaged parts of a table that is being made: each damaged line is said, and what the others hold is kept."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from nasbench.benchmarks.spaces import Configuration
from tests.conftest import Printed
from tests.nasbench_cli.test_tabulate import BENCH, asked, records  # noqa: F401  (a fixture)

pytest.importorskip("torch")
pytest.importorskip("sklearn")

Asked = list[tuple[Configuration, int]]


def test_a_line_that_was_changed_is_said_and_made_again(
    nasbench: Callable[..., Printed],
    tmp_path: Path,
    asked: Asked,  # noqa: F811
) -> None:
    command = ["tabulate", BENCH, "--sample", 3, "--out", tmp_path / "t"]
    nasbench(*command)
    table, evaluations = (tmp_path / "t.csv").read_bytes(), len(asked)
    part = tmp_path / "t.jsonl"
    lines = part.read_bytes().splitlines(keepends=True)
    whole, row = lines[3], lines[3].replace(b'"metrics":[', b'"metrics":[1')
    assert row != whole
    part.write_bytes(b"".join([*lines[:3], row, *lines[4:]]))
    mended = nasbench(*command)
    assert mended.code == 0
    said = (
        f"notice: {part} is damaged in line 4: its 2 other evaluations are used, what is lost is made again, and what "
        f"is damaged is kept in {tmp_path / 't.damaged'}\n"
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
    asked: Asked,  # noqa: F811
) -> None:
    command = ["tabulate", BENCH, "--sample", 3, "--out", tmp_path / "t"]
    nasbench(*command)
    table, evaluations, part = (tmp_path / "t.csv").read_bytes(), len(asked), tmp_path / "t.jsonl"
    header, signed, *rest = part.read_bytes().splitlines(keepends=True)
    begin = {"nonsense": b"\0" * 100 + b"\n", "gone": b"", "joined": header[:-1]}.get(
        damage, header[:40] + b"~" + header[41:]
    )
    part.write_bytes(b"".join([begin, signed, *([] if damage == "a bit before any row" else rest)]))
    mended = nasbench(*command)
    assert mended.code == 0, mended.err
    assert (f"notice: {part} is damaged in line 1: " in mended.err) == (damage != "gone")
    assert len(asked) == evaluations
    assert (tmp_path / "t.csv").read_bytes() == table
    assert len(records(part)) == 3
    assert part.read_bytes().startswith(header) or damage == "gone"
    assert nasbench(*command).err == ""


def test_a_flipped_bit_of_a_shard_that_others_made_is_said_and_their_file_left_alone(
    nasbench: Callable[..., Printed],
    tmp_path: Path,
    asked: Asked,  # noqa: F811
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
    assert "1 evaluation of other shards is not here" in seen.out
    assert other.read_bytes() == content
    healed = nasbench(*command, "2/2")
    assert f"notice: {other} is damaged in line " in healed.err
    assert healed.code == 0
    assert (tmp_path / "t.csv").exists()


def test_rows_of_another_benchmark_are_never_taken_where_the_first_line_is_damaged(
    nasbench: Callable[..., Printed],
    tmp_path: Path,
    asked: Asked,  # noqa: F811
) -> None:
    nasbench("tabulate", "digits/nasbench201/table@4", "--sample", 3, "--out", tmp_path / "t")
    part = tmp_path / "t.jsonl"
    content = part.read_bytes().replace(b'"table"', b'"tabel"', 1)
    part.write_bytes(content)
    refused = nasbench("tabulate", BENCH, "--sample", 3, "--out", tmp_path / "t")
    assert refused.code == 2
    assert f"{part} is no part of a table of {BENCH}: move it away" in refused.err
    assert part.read_bytes() == content


def test_a_part_of_an_older_nasbench_is_read_and_without_its_first_line_asked_about(
    nasbench: Callable[..., Printed],
    tmp_path: Path,
    asked: Asked,  # noqa: F811
) -> None:
    """Its rows do not say of which benchmark they are; the sentence has the line that does."""
    command = ["tabulate", BENCH, "--sample", 3, "--out", tmp_path / "t"]
    nasbench(*command)
    evaluations, part = len(asked), tmp_path / "t.jsonl"
    texts = [line[len('{"check":"00000000",') :] for line in part.read_text().splitlines()]
    older = [f'{{"check":"{zlib.crc32((text + chr(10)).encode()):08x}",{text}\n' for text in texts]
    part.write_text("".join(older))
    assert nasbench(*command).err == ""
    assert len(asked) == evaluations
    part.write_text("".join([older[0].replace("table", "tadle", 1), *older[1:]]))
    refused = nasbench(*command)
    assert refused.code == 2
    assert (
        f"line 1 of {part} is damaged, and the 3 evaluations after it, of an older nasbench, do not say" in refused.err
    )
    said = refused.err.split(" put ")[1].split(" there; ")[0]
    part.write_text("".join([said, "\n", *older[1:]]))
    assert json.loads(said)["table"] == BENCH
    assert nasbench(*command).code == 0
    assert len(asked) == evaluations


def test_a_torn_first_line_is_written_again(
    nasbench: Callable[..., Printed],
    tmp_path: Path,
    asked: Asked,  # noqa: F811
) -> None:
    nasbench("tabulate", BENCH, "--sample", 2, "--out", tmp_path / "t")
    whole = (tmp_path / "t.jsonl").read_bytes()
    (tmp_path / "t.jsonl").write_bytes(whole[:40])
    assert nasbench("tabulate", BENCH, "--sample", 2, "--out", tmp_path / "t").code == 0
    assert (tmp_path / "t.jsonl").read_bytes() == whole
