"""NATS-Bench's size space: a file of the official structure, made of plain dictionaries."""

from __future__ import annotations

import bz2
import math
import pickle
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nasbench.base.errors import UsageError
from nasbench.benchmarks.tabular import nasbench201, nats_size, open_table
from nasbench.benchmarks.tabular.imported import save
from tests.conftest import Printed

EPOCHS = 90
SPLITS = {
    "cifar10-valid": ("x-valid", "ori-test"),
    "cifar10": ("ori-test",),
    "cifar100": ("x-valid", "x-test", "ori-test"),
    "ImageNet16-120": ("x-valid", "x-test", "ori-test"),
}
ARCHITECTURES = ["8:8:8:8:8", "8:8:8:16:32", "64:8:24:8:56"]


def trial(index: int, data: str, seed: int, epochs: int) -> dict[str, Any]:
    rng = np.random.default_rng([index, list(SPLITS).index(data), seed, epochs])
    accuracies = {f"{split}@{e}": float(rng.uniform(10, 95)) for e in range(epochs) for split in SPLITS[data]}
    return {
        "name": data,
        "epochs": epochs,
        "seed": seed,
        "params": 0.05 + index,
        "flop": 6.8 + index,
        "latency": [0.01, 0.02],
        "arch_config": {"channels": ARCHITECTURES[index], "class_num": 10},
        "train_acc1es": {e: np.float64(50.0) for e in range(epochs)},
        "train_times": {e: 7.5 + e for e in range(epochs)},
        "eval_acc1es": accuracies,
        "eval_times": dict.fromkeys(accuracies, 0.5),
    }


def raw() -> dict[str, Any]:
    infos = {}
    for index, text in enumerate(ARCHITECTURES):
        results = OrderedDict(((data, 777), trial(index, data, 777, EPOCHS)) for data in SPLITS)
        infos[index] = {"90": {"arch_index": index, "arch_str": text, "all_results": results, "clear_net_done": True}}
    return {"meta_archs": ARCHITECTURES, "total_archs": 3, "arch2infos": infos, "evaluated_indexes": set(range(3))}


def written(path: Path, content: object) -> Path:
    path.write_bytes(bz2.compress(pickle.dumps(content, protocol=4)))
    return path


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))


def test_rows_are_in_the_files_own_order() -> None:
    assert nats_size.SPACE.size == 32_768
    assert nats_size.SPACE.values(nats_size.SPACE.configuration(11)) == {"c1": 8, "c2": 8, "c3": 8, "c4": 16, "c5": 32}
    assert nats_size._row("8:8:8:16:32") == 11


def test_every_number_of_the_file_is_in_the_tables(tmp_path: Path) -> None:
    tables = nats_size.convert(written(tmp_path / "few.pickle.pbz2", raw()), lambda _: None)
    assert [t.name for t in tables] == ["nats-size-cifar10", "nats-size-cifar100", "nats-size-imagenet16"]
    for table in tables:
        save(table)
        data = nats_size._DATA[table.name]
        ours = open_table(table.name)
        for epochs in (1, 12, 90):
            short = ours.at(epochs)
            for index, text in enumerate(ARCHITECTURES):
                run = trial(index, data.trained_on, 777, EPOCHS)
                values = dict(zip([f"c{k}" for k in range(1, 6)], map(int, text.split(":")), strict=True))
                evaluation = short.evaluate(ours.space.from_values(values), 5)
                expected = [100 - run["eval_acc1es"][f"{split}@{epochs - 1}"] for split in (data.valid, data.test)]
                expected += [sum(7.5 + e for e in range(epochs)), run["params"], run["flop"], 0.015]
                assert tuple(evaluation.metrics.values()) == pytest.approx(tuple(expected), rel=1e-6)
                assert evaluation.cost == pytest.approx(expected[2])
        assert ours.evaluate((7, 7, 7, 7, 7), 0).status == "failed"  # not in this file
    assert [m.name for m in open_table("nats-size-cifar10").metrics if m.is_test] == ["ori-test-error@90"]


class Foreign:
    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return (Path.touch, (Path("/tmp/nasbench-must-never-exist"),))  # type: ignore[return-value]


def test_what_is_no_such_file_gets_one_sentence_and_runs_no_code(
    nasbench: Callable[..., Printed], tmp_path: Path
) -> None:
    whole = written(tmp_path / "whole.pbz2", raw()).read_bytes()
    without = raw()
    del without["arch2infos"][1]["90"]["all_results"]["cifar100", 777]["eval_acc1es"]["x-test@3"]
    many, infinite, twice, latencies, often = raw(), raw(), raw(), raw(), raw()
    trainings = often["arch2infos"][0]["90"]["all_results"]
    often["arch2infos"][0]["90"]["all_results"] = trainings | dict.fromkeys((("cifar10", k) for k in range(1001)), 0)
    many["arch2infos"] = dict.fromkeys(range(32_769), many["arch2infos"][0])
    twice["meta_archs"] = [twice["meta_archs"][0]] * len(twice["meta_archs"])
    infinite["arch2infos"][0]["90"]["all_results"]["cifar10-valid", 777]["epochs"] = math.inf
    latencies["arch2infos"][0]["90"]["all_results"]["cifar10-valid", 777]["latency"] = [0.0] * 1001
    bad = {
        "many.pbz2": bz2.compress(pickle.dumps(many)),
        "twice.pbz2": bz2.compress(pickle.dumps(twice)),
        "infinite.pbz2": bz2.compress(pickle.dumps(infinite)),
        "latencies.pbz2": bz2.compress(pickle.dumps(latencies)),
        "often.pbz2": bz2.compress(pickle.dumps(often)),
        "cut.pbz2": whole[:-40],
        "empty.pbz2": b"",
        "other.pbz2": bz2.compress(pickle.dumps([1, 2])),
        "code.pbz2": bz2.compress(pickle.dumps(Foreign())),
        "huge.pbz2": bz2.compress(b"\x80\x04\x8e" + b"\xff" * 8),  # a text of 2⁶⁴ bytes
        "text.pbz2": bz2.compress(b"not a pickle"),
        "less.pbz2": bz2.compress(pickle.dumps(without)),
    }
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
        refused = nasbench("import", "nats-bench-size", tmp_path / name)
        assert (refused.code, refused.err.count("\n")) == (2, 1), refused.err
    assert not Path("/tmp/nasbench-must-never-exist").exists()
    assert nasbench("import", "nats-bench-size", tmp_path / "absent").code == 2


@pytest.mark.slow
def test_a_bomb_is_refused_before_it_is_read(nasbench: Callable[..., Printed], tmp_path: Path) -> None:
    path = tmp_path / "bomb.pbz2"
    path.write_bytes(bz2.compress(b"\x80\x04" + b"]" * (9 << 20)))  # each byte is a list
    refused = nasbench("import", "nats-bench-size", path)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "unpacks to more than" in refused.err


def nested(depth: int) -> list[Any]:
    """Ten times the same list, of ten times the same list, …: few bytes, and 10 to the power of the depth numbers."""
    return [0.1] * 10 if depth == 1 else [nested(depth - 1)] * 10


MEMO = b"\x80\x02K\x01r" + (2**27).to_bytes(4, "little") + b"."  # a number, kept at that place of a list


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (MEMO, "does not have the structure"),
        ({"epochs": 10**9}, "1,000,000,000 epochs"),
        ({"latency": nested(7)}, "not 'list'"),
        ({"train_times": dict.fromkeys(range(EPOCHS), nested(7))}, "not 'list'"),
        ({"flop": nested(7)}, "not 'list'"),
        ({"flop": "1." + "0" * 1000}, "a text in place of a number"),
    ],
)
def test_a_small_file_cannot_ask_for_much_memory(
    content: bytes | dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "crafted.pbz2"
    if isinstance(content, bytes):
        path.write_bytes(bz2.compress(content))
    else:
        crafted = raw()
        crafted["arch2infos"][0]["90"]["all_results"]["cifar10-valid", 777] |= content
        written(path, crafted)
    with pytest.raises(UsageError, match=sentence):
        nats_size.convert(path, lambda _: None)


def test_an_architecture_of_many_letters_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """Its numbers may have millions of spaces around them, which are skipped again for each network."""
    texts = [text.replace(":", ":" + " " * 50, 1) for text in ARCHITECTURES]
    with pytest.raises(UsageError, match=r"an architecture of \d+ letters"):
        nats_size.convert(written(tmp_path / "long.pbz2", raw() | {"meta_archs": texts}), lambda _: None)
    with pytest.raises(ValueError, match="an architecture of 300 letters"):
        nasbench201._row("|none~0|".ljust(300))
