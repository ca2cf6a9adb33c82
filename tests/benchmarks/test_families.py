"""Published tables against the files that they were made from, cell by cell, without the code that reads them."""

from __future__ import annotations

import ast
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from nasbench.benchmarks import Level, download
from nasbench.benchmarks.families import Family
from nasbench.benchmarks.sources import SOURCES
from nasbench.benchmarks.spaces.nasbench101 import OPERATIONS
from nasbench.benchmarks.tabular import open_table
from nasbench.benchmarks.tabular.imported import TableData, save
from tests.conftest import Printed

FAMILIES = {name: source for name in SOURCES.names() if isinstance(source := SOURCES.get(name), Family)}
SHARED = Path(os.environ.get("NASBENCH_SHARED") or Path(__file__).parents[3] / "shared") / "data" / "families"
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason=f"the published tables are not in {SHARED}")

CELLS = 10_000
FOLDERS = {
    "transnas-micro": "transnas-bench-101-zc",
    "transnas-macro": "transnas-bench-101-zc",
    "ec-nas": "ec-nas-bench",
    "channel-bench-resnet": "channel-bench-macro",
    "channel-bench-mobilenet": "channel-bench-macro",
}
COUNTS = {
    "nas-bench-mr": 8,
    "arlbench": 18,
    "accel-nasbench": 1,
    "transnas-micro": 7,
    "transnas-macro": 7,
    "nas-bench-bert": 9,
    "ec-nas": 1,
    "nas-bench-macro": 1,
    "channel-bench-resnet": 1,
    "channel-bench-mobilenet": 1,
}


def folder_of(family: str) -> Path:
    return SHARED / FOLDERS.get(family, family)


@cache
def tables(family: str) -> dict[str, TableData]:
    return {table.name: table for table in FAMILIES[family].convert(folder_of(family))}


@cache
def rows_by_values(table: str, family: str) -> dict[str, int]:
    """The row of each configuration of a table, by its values as JSON."""
    space = tables(family)[table].space
    return {json.dumps(dict(space.values(c))): row for row, c in enumerate(space)}


class Cell(NamedTuple):
    """One number of a source, and where a table must have it."""

    table: str
    values: dict[str, Any]
    """The configuration."""
    repetition: int
    metric: str
    expected: float


TYPES: dict[str, Callable[[Any], Any]] = dict.fromkeys(
    ("buffer_size", "learning_starts", "target_update_interval", "buffer_batch_size", "minibatch_size"), int
) | dict.fromkeys(("buffer_prio_sampling", "use_target_network", "normalize_advantage"), bool)
"""Types of ARLBench's hyper-parameters that are not real numbers."""


def numbers_of(keys: Iterable[Any]) -> list[int]:
    """The number of each key among the equal ones before it."""
    seen: Counter[Any] = Counter()
    found = []
    for key in keys:
        found.append(seen[key])
        seen[key] += 1
    return found


def nas_bench_mr(rng: np.random.Generator) -> Iterator[Cell]:
    data = pd.read_parquet(folder_of("nas-bench-mr") / "nas_bench_mr.parquet")
    while True:
        line = data.iloc[int(rng.integers(len(data)))]
        values = {name: int(line[name]) for name in data.columns[:27]}
        name = data.columns[27 + int(rng.integers(20))]
        if ":" in name:
            task, _, metric = name.partition(":")
            yield Cell(f"nas-bench-mr-{task}", values, 0, f"only-{metric.lower()}-error", 100 - line[name])
        else:
            yield Cell("nas-bench-mr-video", values, 0, name, line[name])


def arlbench(rng: np.random.Generator) -> Iterator[Cell]:
    data = {path.stem: pd.read_parquet(path) for path in sorted(folder_of("arlbench").glob("*.parquet"))}
    data.pop("minigrid_unlock_dqn")
    lows = {name: frame.min() for name, frame in data.items()}
    while True:
        name = list(data)[int(rng.integers(len(data)))]
        line = data[name].iloc[int(rng.integers(2560))]
        last = [c for c in data[name] if c.startswith("return_")][-1]
        values = {}
        for column in data[name].columns:
            if column in ("run_id", "seed") or column.startswith("return_"):
                continue
            value = lows[name][column] if pd.isna(line[column]) else line[column]
            values[column] = TYPES.get(column, float)(value)
        metric = f"only-negative-return@{last.removeprefix('return_')}"
        yield Cell(f"arlbench-{name.replace('_', '-')}", values, int(line["seed"]), metric, -line[last])


def accel_nasbench(rng: np.random.Generator) -> Iterator[Cell]:
    data = pd.read_parquet(folder_of("accel-nasbench") / "accel_nasbench.parquet")
    number = numbers_of(map(tuple, data[data.columns[:28]].to_numpy().tolist()))
    metrics = [c for c in data.columns[28:] if not c.endswith("_std")]
    while True:
        place, name = int(rng.integers(len(data))), metrics[int(rng.integers(len(metrics)))]
        line = data.iloc[place]
        values = {c: bool(line[c]) if c.endswith("_se") else int(line[c]) for c in data.columns[:28]}
        is_score = name.startswith("val_")
        metric = f"only-{name.removeprefix('val_')}-error" if is_score else name
        yield Cell("accel-nasbench", values, number[place], metric, 100 - line[name] if is_score else line[name])


def transnas(kind: str, names: tuple[str, ...], words: tuple[str, ...], rng: np.random.Generator) -> Iterator[Cell]:
    data = pd.read_parquet(SHARED / "transnas-bench-101-zc" / f"{kind}.parquet")
    objectives = {"room_layout": ("only-loss", 0), "autoencoder": ("only-dissimilarity", 1)}
    objectives["normal"] = objectives["autoencoder"]
    columns = ("val", "params", "flops", "grasp", "fisher", "grad_norm", "l2_norm", "plain", "nwot", "jacov", "snip")
    while True:
        line, name = data.iloc[int(rng.integers(len(data)))], columns[int(rng.integers(len(columns)))]
        values = {names[k]: words[digit] for k, digit in enumerate(ast.literal_eval(line["arch"]))}
        metric, top = objectives.get(line["task"], ("only-error", 100))
        table = f"transnas-{kind}-{line['task'].replace('_', '-')}"
        yield Cell(table, values, 0, *((metric, top - line["val"]) if name == "val" else (name, line[name])))


def nas_bench_bert(rng: np.random.Generator) -> Iterator[Cell]:
    data = pd.read_parquet(folder_of("nas-bench-bert") / "nas_bench_bert.parquet")
    code = [c for c in data if c == "hidden_size" or c[:2] in ("l0", "l1", "l2", "l3")]
    number = numbers_of(map(tuple, data[code].astype(str).to_numpy().tolist()))
    tasks = ["cola", "mnli", "mrpc", "qnli", "qqp", "rte", "sst", "sts", "glue"]
    while True:
        place, task = int(rng.integers(len(data))), tasks[int(rng.integers(len(tasks)))]
        line = data.iloc[place]
        values: dict[str, Any] = {"hidden_size": int(line["hidden_size"])}
        for k in range(4):
            is_there = k < line["layers"]
            kind, parameter = line[f"l{k}_operation_type"], line[f"l{k}_operation_parameter"]
            values[f"l{k}_operation"] = f"{kind}-{parameter}" if is_there else "none"
            for name, low in (("num_operation_heads", 2), ("feed_forward_dimension", 512), ("num_feed_forward", 1)):
                values[f"l{k}_{name}"] = int(line[f"l{k}_{name}"]) if is_there else low
        error = "only-mean-error" if task == "glue" else "only-error"
        metric, expected = ("seconds", line["seconds"]) if rng.random() < 0.3 else (error, 100 - line[task])
        yield Cell(f"nas-bench-bert-{task}", values, number[place], metric, expected)


def ec_nas(rng: np.random.Generator) -> Iterator[Cell]:
    data = pd.read_parquet(folder_of("ec-nas") / "ec_nas_4epochs_measured.parquet")
    number = numbers_of(data["hash"])
    space = tables("ec-nas")["ec-nas"].space
    columns = {
        "valid-error@4": lambda line: 100 - 100 * line["valid_4"],
        "test-error@4": lambda line: 100 - 100 * line["test_4"],
        "seconds": lambda line: line["seconds_4"],
        "energy": lambda line: line["kwh_4"],
        "params": lambda line: line["params"] / 1e6,
    }
    while True:
        place, metric = int(rng.integers(len(data))), list(columns)[int(rng.integers(5))]
        line = data.iloc[place]
        matrix, labels = np.array(ast.literal_eval(line["adjacency"])), ast.literal_eval(line["labels"])
        written = "".join(map(str, matrix.ravel()))
        operations = ["input", *(OPERATIONS[k] for k in labels[1:-1]), "output"]
        cell = space.from_values({"adjacency": written, "operations": ",".join(operations)})
        yield Cell("ec-nas", dict(space.values(cell)), number[place], metric, columns[metric](line))


def complete(
    family: str, file: str, names: list[str], words: dict[str, Any], key: str, rng: np.random.Generator
) -> Iterator[Cell]:
    networks = json.loads((folder_of(family) / file).read_text())
    codes = sorted(networks)
    while True:
        code, repetition = codes[int(rng.integers(len(codes)))], int(rng.integers(3))
        values = {name: words[digit] for name, digit in zip(names, code, strict=True)}
        metric = ("only-error", "params", "flops")[int(rng.integers(3))]
        network = networks[code]
        expected = 100 - network[key][repetition] if metric == "only-error" else network[metric] / 1e6
        yield Cell(family, values, repetition, metric, expected)


_EDGES = ("edge_0_1", "edge_0_2", "edge_1_2", "edge_0_3", "edge_1_3", "edge_2_3")
_MODULES = tuple(f"module_{k}" for k in range(1, 7))
_WIDTHS = [f"width_{k}" for k in range(1, 8)], {"1": 0.25, "2": 0.5, "3": 0.75, "4": 1.0}, "acc"
SOURCES: dict[str, Callable[[np.random.Generator], Iterator[Cell]]] = {
    "nas-bench-mr": nas_bench_mr,
    "arlbench": arlbench,
    "accel-nasbench": accel_nasbench,
    "transnas-micro": lambda rng: transnas("micro", _EDGES, ("none", "skip", "conv1x1", "conv3x3"), rng),
    "transnas-macro": lambda rng: transnas(
        "macro", _MODULES, ("none", "plain", "double-channels", "half-resolution", "both"), rng
    ),
    "nas-bench-bert": nas_bench_bert,
    "ec-nas": ec_nas,
    "nas-bench-macro": lambda rng: complete(
        "nas-bench-macro",
        "nas-bench-macro_cifar10.json",
        [f"layer_{k}" for k in range(1, 9)],
        {"0": "identity", "1": "mb3-conv3x3", "2": "mb6-conv5x5"},
        "test_acc",
        rng,
    ),
    "channel-bench-resnet": lambda rng: complete("channel-bench-resnet", "Results_ResNet.json", *_WIDTHS, rng),
    "channel-bench-mobilenet": lambda rng: complete("channel-bench-mobilenet", "Results_MobileNet.json", *_WIDTHS, rng),
}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_ten_thousand_random_cells_are_those_of_the_source(family: str) -> None:
    assert len(tables(family)) == COUNTS[family]
    wrong, seen = [], set()
    for cell in islice(SOURCES[family](np.random.default_rng(5)), CELLS):
        table = tables(family)[cell.table]
        row = rows_by_values(cell.table, family)[json.dumps(cell.values)]
        column = [metric.name for metric in table.metrics].index(cell.metric)
        value = table.values[row, cell.repetition, column]
        seen.add(cell.table)
        if value != pytest.approx(cell.expected, rel=1e-12, abs=1e-12, nan_ok=True):
            wrong.append(cell)
    assert not wrong
    assert len(seen) == COUNTS[family]


def test_curves_are_the_returns_after_fewer_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path))
    name = "arlbench-box2d-lunar-lander-dqn"
    save(tables("arlbench")[name])
    table = open_table(name)
    assert str(table.fidelity) == "steps 10000 to 100000 in steps of 10000"
    data = pd.read_parquet(folder_of("arlbench") / "box2d_lunar_lander_dqn.parquet")
    for _, line in data.sample(200, random_state=1).iterrows():
        row = next(r for r in table.space if table.space.values(r)["buffer_size"] == line["buffer_size"])
        evaluation = table.evaluate(row, int(line["seed"]), Level(steps=30_000))
        assert evaluation.metrics["only-negative-return@100000"] == -line["return_30000"]
        assert evaluation.cost == pytest.approx(3.0)
        assert evaluation.curve == (-line["return_10000"], -line["return_20000"], -line["return_30000"])


def test_ten_seeds_are_repetitions_and_two_trainings_of_one_code_too() -> None:
    by_number = {
        "arlbench": ("arlbench-cc-cartpole-ppo", {10: 256}),
        "ec-nas": ("ec-nas", {1: 2441, 4: 91}),
        "accel-nasbench": ("accel-nasbench", {1: 5112, 2: 13}),
        "nas-bench-bert": ("nas-bench-bert-glue", {1: 482, 2: 9}),
        "channel-bench-resnet": ("channel-bench-resnet", {3: 16384}),
    }
    for family, (name, expected) in by_number.items():
        counts = np.isfinite(tables(family)[name].values[:, :, 0]).sum(axis=1)
        assert dict(Counter(counts.tolist())) == expected


def test_a_proxy_costs_its_mean_recorded_time() -> None:
    data = pd.read_parquet(SHARED / "transnas-bench-101-zc" / "micro.parquet")
    metrics = {m.name: m for m in tables("transnas-micro")["transnas-micro-jigsaw"].metrics}
    mean = data[data["task"] == "jigsaw"]["snip_seconds"].mean()
    assert (metrics["snip"].cheap, metrics["snip"].minimize) == (True, False)
    assert metrics["snip"].seconds == pytest.approx(mean, abs=1e-3)
    assert metrics["params"].seconds == 0


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NASBENCH_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_fetching_shows_and_stores_licence_and_citation(nasbench: Callable[..., Printed], data: Path) -> None:
    done = nasbench("data", "fetch", "nas-bench-bert", "--from", folder_of("nas-bench-bert"))
    assert done.code == 0, done.err
    assert "citation: NAS-Bench-BERT (Serianni and Kalita, ACL 2023)\nlicence: CC BY 4.0\n" in done.out
    assert "nas-bench-bert-sts: 491 of 491 configurations" in done.out
    table = open_table("nas-bench-bert-sts")
    assert (table.licence, table.search_space, table.family) == ("CC BY 4.0", "nas-bench-bert", "nas-bench-bert")
    assert "NAS-Bench-BERT (Serianni and Kalita, ACL 2023); data/BERT_benchmark.json of https://" in table.source


def test_what_was_made_from_the_source_is_taken_from_a_folder_only(
    nasbench: Callable[..., Printed], data: Path
) -> None:
    done = nasbench("data", "fetch", "ec-nas")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "ec-nas cannot be downloaded" in done.err
    assert "`nasbench data fetch ec-nas --from FOLDER` takes a folder that has the files" in done.err


def test_another_file_is_refused_in_one_sentence(nasbench: Callable[..., Printed], data: Path, tmp_path: Path) -> None:
    name = "nas-bench-macro_cifar10.json"
    shutil.copy(folder_of("nas-bench-macro") / name, tmp_path / name)
    with (tmp_path / name).open("ab") as file:
        file.write(b" ")
    done = nasbench("data", "fetch", "nas-bench-macro", "--from", tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "is not the file of nas-bench-macro: its SHA-256 is" in done.err
    missing = nasbench("data", "fetch", "nas-bench-macro", "--from", data.parent / "elsewhere")
    assert missing.code == 2
    assert not (data / "tables").exists()


def test_the_sources_own_file_is_downloaded_at_the_pinned_commit(
    nasbench: Callable[..., Printed], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def served(url: str, part: Path, progress: Callable[[int, int], None]) -> None:
        asked.append(url)
        shutil.copy(folder_of("nas-bench-macro") / "nas-bench-macro_cifar10.json", part)

    monkeypatch.setattr(download, "download", served)
    for _ in range(2):
        done = nasbench("data", "fetch", "nas-bench-macro")
        assert done.code == 0, done.err
        assert "licence: no licence file at this commit: fetch it, do not pass it on" in done.out
    assert asked == [
        "https://raw.githubusercontent.com/xiusu/NAS-Bench-Macro/2e008c81227ef83836a934d7e045427c4e9fdeeb/"
        "nas-bench-macro_cifar10.json"
    ]


def test_a_download_that_is_another_file_is_refused_and_deleted(
    nasbench: Callable[..., Printed], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "download", lambda url, part, progress: part.write_bytes(b"something else"))
    done = nasbench("data", "fetch", "nas-bench-macro")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "is not the file of nas-bench-macro" in done.err
    assert [path for path in data.rglob("*") if path.is_file() and path.suffix != ".lock"] == []


def test_the_list_names_families_and_what_is_here(nasbench: Callable[..., Printed]) -> None:
    printed = " ".join(nasbench("data", "list").out.split())
    for family in FAMILIES.values():
        assert family.name in printed
        assert family.licence in printed
    assert "not here" in printed


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["medmnist-breast", "--from", "."], "--from takes the files of"),
        (["--all", "--from", "."], "--from takes the files of"),
        (["nas-bench-mr", "--all"], "--all stands alone, or with one of yahpo-lcbench"),
        (["nas-bench-mrr"], "did you mean nas-bench-mr?"),
        ([], "name what to fetch"),
    ],
)
def test_what_cannot_be_fetched_is_one_sentence(
    nasbench: Callable[..., Printed], arguments: list[str], why: str
) -> None:
    done = nasbench("data", "fetch", *arguments)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert why in done.err
