"""NAS-Bench-101: cells by the authors' hash, records by another writer, messages by Google's own library."""

from __future__ import annotations

import base64
import itertools
import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nasbench.benchmarks import Level, UsageError, abilities, open_benchmark
from nasbench.benchmarks.protobuf import Malformed, fields
from nasbench.benchmarks.spaces.nasbench101 import (
    EDGES,
    ListedCells,
    Point,
    compact,
    matrix_of,
    point_of,
    pruned,
)
from nasbench.benchmarks.tabular import nasbench101, open_table
from nasbench.benchmarks.tabular.imported import save
from nasbench.benchmarks.tabular.tfrecord import crc32c, masked_crc, records
from nasbench.methods import MethodSpec, Observation, Problem
from tests.benchmarks.cells101 import MATRIX, NAMES, SPACE, any_cell, hashed, some_cells
from tests.conftest import Printed


def test_the_authors_hashes_are_these() -> None:
    assert hashed("0100", ["input", "output"]) == "043721b9c7fe8c5fad811d47d83132ec"
    assert hashed(MATRIX, NAMES.split(",")) == "00005c142e6f48ac74fdcf73e3439874"
    assert matrix_of(point_of(MATRIX, NAMES.split(","))) == (MATRIX, NAMES.split(","))


def test_cells_are_the_same_where_the_authors_hash_says_so() -> None:
    by_hash = {hashed(*matrix_of(tuple(point))): row for row, point in enumerate(SPACE.points.tolist())}
    rng = random.Random(1)
    listed = 0
    for _ in range(1500):
        cell = any_cell(rng)
        alive = pruned(cell)
        row = None if alive is None else by_hash.get(hashed(*matrix_of(compact(cell))))
        assert SPACE.find(cell) == row
        listed += row is not None
    assert listed > 20
    for row, point in enumerate(SPACE.points.tolist()):
        assert SPACE.find(point) == row


def test_neighbours_are_one_edge_or_operation_away() -> None:
    hashes = [hashed(*matrix_of(tuple(point))) for point in SPACE.points.tolist()]
    for row in range(0, SPACE.size, 17):
        point = SPACE.points[row].tolist()
        near = set()
        for place in range(len(point)):
            for other in range(2 if place < len(EDGES) else 3):
                changed = (*point[:place], other, *point[place + 1 :])
                if pruned(changed) is not None:
                    near.add(hashed(*matrix_of(compact(changed))))
        expected = sorted(i for i, h in enumerate(hashes) if h in near and i != row)
        assert not expected or SPACE.neighbours(row) == expected
        assert row not in SPACE.neighbours(row)


def test_a_cell_has_its_values_and_its_graph() -> None:
    space = ListedCells(np.array([point_of(MATRIX, NAMES.split(","))], np.int8))
    values = space.values(0)
    assert values == {"adjacency": MATRIX, "operations": NAMES}
    assert space.from_values(values) == 0
    graph = space.as_graph(0)
    assert graph.labels == ("ip", "conv3", "max-pool", "conv3", "conv3", "conv1", "op")
    assert graph.edges == {(k // 7, k % 7) for k, bit in enumerate(MATRIX) if bit == "1"}
    with pytest.raises(UsageError, match="no cell"):
        space.from_values({"adjacency": "0100", "operations": "input,output"})
    with pytest.raises(UsageError, match="leads to an earlier vertex"):
        point_of("0010", ["input", "output"])
    with pytest.raises(UsageError, match="operations are"):
        point_of("010001000", ["input", "conv5x5", "output"])


# Records


def test_crc32c_and_whole_records_are_those_of_the_specification() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    for payload, expected in (
        (b"", "000000000000000029039807d8ea82a2"),
        (b"a", "01000000000000000175de4161786ee428"),
        (b"[]", "020000000000000078270b345b5d73d76f1d"),
    ):
        assert framed(payload).hex() == expected


def framed(payload: bytes) -> bytes:
    head = struct.pack("<Q", len(payload))
    return head + struct.pack("<I", masked_crc(head)) + payload + struct.pack("<I", masked_crc(payload))


def test_records_are_read_in_order_and_damage_is_said(tmp_path: Path) -> None:
    path = tmp_path / "r.tfrecord"
    content = framed(b"one") + framed(b"") + framed(b"three")
    path.write_bytes(content)
    assert list(records(path)) == [b"one", b"", b"three"]
    for end in (5, 13, len(content) - 1):
        path.write_bytes(content[:end])
        with pytest.raises(UsageError, match="cut off"):
            list(records(path))
    for place in (2, 9, 13, 17):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(UsageError, match="damaged"):
            list(records(path))


def test_messages_are_read_as_googles_library_writes_them() -> None:
    metrics = message_class()()
    for epoch, accuracy in ((0.0, 0.1), (54.0, 0.5), (108.0, 0.9241786599159241)):
        metrics.evaluation_data.add(
            current_epoch=epoch,
            training_time=1769.13,
            train_accuracy=1.0,
            validation_accuracy=accuracy,
            test_accuracy=0.92117,
            checkpoint_path="somewhere/ckpt",
        )
    metrics.trainable_parameters = 8_555_530
    metrics.total_time = 2000.5
    parameters, halfway, final = nasbench101._measurements(metrics.SerializeToString())
    assert parameters == 8_555_530
    assert (halfway, final) == ((1769.13, 1.0, 0.5, 0.92117), (1769.13, 1.0, 0.9241786599159241, 0.92117))
    whole = metrics.SerializeToString()
    for end in range(1, len(whole)):
        try:
            list(fields(whole[:end]))  # whatever it is, it ends with these fields or with Malformed
        except Malformed:
            continue
    with pytest.raises(Malformed, match="three are"):
        nasbench101._measurements(message_class()(trainable_parameters=3).SerializeToString())


def message_class() -> Any:
    """The message of the authors' model_metrics.proto, built by Google's library."""
    pb = pytest.importorskip("google.protobuf.descriptor_pb2")
    from google.protobuf import descriptor_pool, message_factory

    file = pb.FileDescriptorProto(name="model_metrics_test.proto", package="nbtest", syntax="proto2")
    kinds = pb.FieldDescriptorProto
    whole, part = file.message_type.add(name="ModelMetrics"), file.message_type.add(name="EvaluationData")
    fields_of_part = ["current_epoch", "training_time", "train_accuracy", "validation_accuracy", "test_accuracy"]
    for number, name in enumerate(fields_of_part, 1):
        part.field.add(name=name, number=number, type=kinds.TYPE_DOUBLE, label=kinds.LABEL_OPTIONAL)
    part.field.add(name="checkpoint_path", number=6, type=kinds.TYPE_STRING, label=kinds.LABEL_OPTIONAL)
    whole.field.add(
        name="evaluation_data",
        number=1,
        type=kinds.TYPE_MESSAGE,
        type_name=".nbtest.EvaluationData",
        label=kinds.LABEL_REPEATED,
    )
    whole.field.add(name="trainable_parameters", number=2, type=kinds.TYPE_INT32, label=kinds.LABEL_OPTIONAL)
    whole.field.add(name="total_time", number=3, type=kinds.TYPE_DOUBLE, label=kinds.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("nbtest.ModelMetrics"))


# Files


def plain_message(valid: float, test: float, seconds: float, parameters: int) -> bytes:
    """A message by hand: three evaluations of which the last one counts."""

    def double(number: int, value: float) -> bytes:
        return bytes([number << 3 | 1]) + struct.pack("<d", value)

    def varint(value: int) -> bytes:
        return bytes([value & 127 | 128]) + varint(value >> 7) if value > 127 else bytes([value])

    found = b""
    for share in (0.0, 0.5, 1.0):
        facts = [108 * share, seconds * share, 1.0, valid * share, test * share]
        part = b"".join(double(k, x) for k, x in enumerate(facts, 1)) + b"\x32\x04ckpt"
        found += b"\x0a" + varint(len(part)) + part
    return found + b"\x10" + varint(parameters) + double(3, 1.0)


def numbers(cell: int, epochs: int, run: int) -> tuple[float, float, float, int]:
    valid = (5000 + 37 * cell + epochs + run) / 9984
    return valid, valid - 0.01, 10.0 * epochs + cell + run / 8, 1_000_000 + 1000 * cell


def written(path: Path, cells: list[Point], epochs: tuple[int, ...] = (4, 108), runs: int = 3) -> Path:
    content = b""
    for run, e, (i, cell) in itertools.product(range(runs), epochs, enumerate(cells)):
        matrix, names = matrix_of(cell)
        message = base64.b64encode(plain_message(*numbers(i, e, run))).decode()
        content += framed(json.dumps([hashed(matrix, names), e, matrix, ",".join(names), message]).encode())
    path.write_bytes(content)
    return path


def as_csv(path: Path, cells: list[Point], epochs: tuple[int, ...] = (4, 108)) -> Path:
    lines = [
        ",".join(["hash,adjacency,operations,repetition,parameters", *(f"valid@{e},test@{e},time@{e}" for e in epochs)])
    ]
    for (i, cell), run in itertools.product(enumerate(cells), range(3)):
        matrix, names = matrix_of(cell)
        row = [hashed(matrix, names), matrix, f'"{",".join(names)}"', run, numbers(i, 4, run)[3]]
        for e in epochs:
            valid, test, seconds, _ = numbers(i, e, run)
            row += [repr(100 * valid), repr(100 * test), repr(seconds)]
        lines.append(",".join(map(str, row)))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))
    open_benchmark.cache_clear()


CELLS = some_cells(40, seed=7)


def test_every_number_of_the_records_is_in_the_table(tmp_path: Path) -> None:
    seen: list[int] = []
    path = written(tmp_path / "few.tfrecord", random.Random(0).sample(CELLS, len(CELLS)))
    order = random.Random(0).sample(CELLS, len(CELLS))
    save(nasbench101.convert(path, seen.append))
    assert sum(seen) == path.stat().st_size
    table = open_table("nb101")
    assert table.space.size == 40
    assert table.fidelity is not None
    assert (table.fidelity.levels, table.fidelity.continuable) == ((Level(epochs=4), Level(epochs=108)), False)
    assert str(table.fidelity) == "epochs 4, 108, each a separate training"
    short = table.at(4)
    assert [m.name for m in short.metrics] == ["valid-error@4", "test-error@4", "train_time", "model_size"]
    for i, cell in enumerate(order):
        row = table.space.find(cell)  # type: ignore[attr-defined]
        for run in range(3):
            valid, test, seconds, parameters = numbers(i, 108, run)
            expected = (100 - 100 * valid, 100 - 100 * test, seconds, parameters / 1e6)
            assert tuple(table.evaluate(row, run).metrics.values()) == pytest.approx(expected, rel=1e-12)
            assert table.evaluate(row, run).cost == pytest.approx(seconds)
            valid, test, seconds, parameters = numbers(i, 4, run)
            expected = (100 - 100 * valid, 100 - 100 * test, seconds, parameters / 1e6)
            told = tuple(short.evaluate(row, run).metrics.values())  # stored in single precision
            assert told == pytest.approx(expected, rel=1e-6)
    with pytest.raises(UsageError, match=r"no nb101@12; allowed: 4$"):
        abilities.at(table, 12)


def test_a_csv_gives_the_same_table(tmp_path: Path) -> None:
    records_ = nasbench101.convert(written(tmp_path / "t.tfrecord", CELLS), lambda _: None)
    csv = nasbench101.convert(as_csv(tmp_path / "t.csv", CELLS), lambda _: None)
    assert np.allclose(records_.values, csv.values, rtol=1e-12)
    assert np.array_equal(records_.space.points, csv.space.points)  # type: ignore[attr-defined]
    assert records_.curves is not None
    assert csv.curves is not None
    assert np.allclose(records_.curves, csv.curves, rtol=1e-6)


def test_each_level_has_the_repetitions_that_were_trained_to_it(tmp_path: Path) -> None:
    """The first cell has one training of 108 epochs and three of 4; its size is known at both levels."""
    frame = pd.read_csv(as_csv(tmp_path / "t.csv", CELLS[:3]), dtype={"adjacency": str})
    frame.loc[[0, 2], ["valid@108", "test@108", "time@108"]] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    save(nasbench101.convert(tmp_path / "t.csv", lambda _: None))
    table = open_table("nb101")
    row = table.space.find(CELLS[0])  # type: ignore[attr-defined]
    for seed in range(6):
        whole, part = table.evaluate(row, seed), table.evaluate(row, seed, Level(epochs=4))
        assert whole.metrics["valid-error@108"] == pytest.approx(100 - 100 * numbers(0, 108, 1)[0])
        assert part.metrics["valid-error@108"] == pytest.approx(100 - 100 * numbers(0, 4, seed % 3)[0], rel=1e-6)
        assert part.metrics["model_size"] == whole.metrics["model_size"] == 1.0
        assert list(part.metrics.values()) == list(table.at(4).evaluate(row, seed).metrics.values())


def test_a_cell_of_more_than_nine_edges_is_refused(tmp_path: Path) -> None:
    path = as_csv(tmp_path / "t.csv", [(1,) * 21 + (0,) * 5])
    with pytest.raises(UsageError, match="a cell of 21 edges: one of NAS-Bench-101 has at most 9"):
        nasbench101.convert(path, lambda _: None)


@pytest.mark.slow
def test_methods_that_fit_run_on_it(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    path = written(tmp_path / "few.tfrecord", CELLS, (108,))
    done = nasbench("import", "nas-bench-101", path)
    assert done.code == 0, done.err
    assert "nb101: 40 of 40 configurations, up to 3 repetitions; minimises valid-error@108" in done.out
    table = open_table("nb101")
    for name in ("random", "evolution:population=5", "local", "tpe", "smbo", "mcts", "nasbot"):
        method = MethodSpec.parse(name).build(Problem.of(table), np.random.default_rng(0))
        for seed in range(14):
            configuration = method.ask()
            table.space.check(configuration)
            method.tell(Observation(configuration, table.evaluate(configuration, seed), True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c[: len(c) - 7], "cut off"),
        (lambda c: framed(b"{}"), "not a file of NAS-Bench-101"),
        (lambda c: framed(b'["h", 108, "0100", "input,output", "!!"]'), "not a file of NAS-Bench-101"),
        (lambda c: framed(b'["h", 108, "0100", "input,output", ""]'), "0 evaluations of a training"),
        (lambda c: framed(b'["h", 1e999, "0100", "input,output", ""]'), "cannot convert float infinity"),
        (lambda c: framed(b'["h", 1' + b"0" * 30 + b', "0100", "input,output", ""]'), "two texts of a cell"),
        (lambda c: framed(b'["h", 108, ["0100"], "input,output", ""]'), "two texts of a cell"),
        (lambda c: framed(b'["h", 108, null, 5, ""]'), "two texts of a cell"),
        (lambda c: framed(b"\xff\xfe"), "not a file of NAS-Bench-101"),
        (lambda c: b"", "has no runs"),
        (lambda c: b"PK\x03\x04 something else entirely", "damaged, or not a TFRecord file"),
    ],
)
def test_other_files_get_one_sentence(
    nasbench: Callable[..., Printed], tmp_path: Path, change: Callable[[bytes], bytes], message: str
) -> None:
    path = written(tmp_path / "bad.tfrecord", CELLS[:3], (108,))
    path.write_bytes(change(path.read_bytes()))
    refused = nasbench("import", "nas-bench-101", path)
    assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
    assert message in refused.err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("valid@108", "valid@", "has no"),
        ("conv1x1-bn-relu", "conv9x9", "operations are"),
        ("test@4", "tset@4", "unknown column"),
    ],
)
def test_other_columns_get_one_sentence(
    nasbench: Callable[..., Printed], tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = as_csv(tmp_path / "bad.csv", CELLS[:9])
    path.write_text(path.read_text().replace(old, new))
    if old == "valid@108":
        path.write_text(path.read_text().replace("valid@4", "valid"))
    refused = nasbench("import", "nas-bench-101", path)
    assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
    assert message in refused.err
    empty = as_csv(tmp_path / "empty.csv", CELLS[:3])
    frame = pd.read_csv(empty, dtype=str)
    frame.loc[1, "operations"] = ""
    frame.to_csv(empty, index=False)
    refused = nasbench("import", "nas-bench-101", empty)
    assert (refused.code, f"row 2 of {empty} has no cell" in refused.err) == (2, True), refused.err
    doubled = as_csv(tmp_path / "twice.csv", CELLS[:3])
    text = doubled.read_text()
    doubled.write_text(text + text.splitlines()[-1] + "\n")
    refused = nasbench("import", "nas-bench-101", doubled)
    assert "repeats a cell with the same repetition" in refused.err


def test_a_record_of_more_than_a_megabyte_is_none_of_a_table(tmp_path: Path) -> None:
    """As text of JSON, or as a message of many parts, it would take thirty times as much memory."""
    path = tmp_path / "t.tfrecord"
    path.write_bytes(framed(b"x" * (1 << 20)))
    assert [len(payload) for payload in records(path)] == [1 << 20]
    path.write_bytes(framed(b"x" * ((1 << 20) + 1)))
    with pytest.raises(UsageError, match="has no record at byte 0"):
        list(records(path))
