"""NATS-Bench's size space (Dong et al., TPAMI 2021), from its official file: 32,768 choices of channels."""

from __future__ import annotations

import bz2
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nasbench.base.errors import UsageError
from nasbench.base.files import digest_of, little_memory, unpacked
from nasbench.base.metrics import Metric
from nasbench.base.textfile import check_file
from nasbench.benchmarks.spaces import GridSpace, Ordinal
from nasbench.benchmarks.tabular import plain_pickle
from nasbench.benchmarks.tabular.imported import TableData
from nasbench.benchmarks.tabular.plain_pickle import NotPlain

OFFICIAL = "NATS-sss-v1_0-50262.pickle.pbz2"
"""The released file. By convention of its authors, the name ends in the last digits of the MD5 sum."""
SPACE = GridSpace([Ordinal(f"c{stage}", tuple(range(8, 65, 8))) for stage in range(1, 6)])
"""Channels of each stage; the last changes fastest, as in the file."""

_MOST_REPETITIONS = 3
_LONGEST = 40  # letters of an architecture; the official ones have at most 14
_MOST_LATENCIES = 1000
_MOST_RESULTS = 1000  # trainings of a network; the file has a dozen
_SCHEDULE = "90"  # epochs; the schedules of 1 and 12 epochs in the file are separate trainings


class _SizeData(NamedTuple):
    """The data set and splits in the official records that make one benchmark."""

    trained_on: str
    valid: str
    test: str


_DATA = {
    "nats-size-cifar10": _SizeData("cifar10-valid", "x-valid", "ori-test"),
    "nats-size-cifar100": _SizeData("cifar100", "x-valid", "x-test"),
    "nats-size-imagenet16": _SizeData("ImageNet16-120", "x-valid", "x-test"),
}


def convert(path: Path, progress: Callable[[int], None]) -> list[TableData]:
    """The tables of the three data sets, from the official file, which is read as plain data.

    Args:
        path: the file.
        progress: called with 1 for each network read.

    Raises UsageError if the file cannot be read, is damaged, or is of another kind.
    """
    check_file(path)
    try:
        with bz2.open(path) as file, little_memory(path):
            raw = plain_pickle.load(unpacked(path, file))
    except MemoryError:
        raise UsageError(f"{path} does not fit into memory, or is damaged") from None
    except (
        OSError,
        EOFError,
        ValueError,
        pickle.UnpicklingError,
        NotPlain,
        AttributeError,
        IndexError,
        KeyError,
        TypeError,
        OverflowError,
    ) as error:
        raise UsageError(f"{path} is damaged, or not a file of NATS-Bench: {str(error)[:160]}") from None
    source = f"NATS-Bench, size space (Dong et al., TPAMI 2021), imported from {path.name}, sha256:{digest_of(path)}"
    networks: dict[str, list[tuple[int, list[Mapping[str, Any]]]]] = {name: [] for name in _DATA}
    seen: set[int] = set()
    try:
        if len(raw["arch2infos"]) > SPACE.size:
            raise ValueError(f"{len(raw['arch2infos']):,} networks, and the space has {SPACE.size:,}")
        for index, record in sorted(raw["arch2infos"].items()):
            row = _row(raw["meta_archs"][index])
            if row in seen:
                raise ValueError("a network is there twice")
            seen.add(row)
            results = record[_SCHEDULE]["all_results"]
            if len(results) > _MOST_RESULTS:
                raise ValueError(f"{len(results):,} trainings of one network")
            for name, data in _DATA.items():
                runs = [results[key] for key in sorted(results.keys()) if key[0] == data.trained_on]
                networks[name] += [(row, runs)] if runs else []
            progress(1)
        return [_table(name, _DATA[name], runs, source) for name, runs in networks.items() if runs]
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError) as error:
        raise UsageError(
            f"{path} does not have the structure of {OFFICIAL}: {type(error).__name__}: {str(error)[:160]}"
        ) from None


def _row(architecture: str) -> int:
    """The row in the grid: `8:16:64:64:8` lists the channels of the stages."""
    if len(architecture) > _LONGEST:  # spaces around a number may be millions
        raise ValueError(f"an architecture of {len(architecture):,} letters")
    return SPACE.index(
        tuple(h.values.index(int(c)) for h, c in zip(SPACE.hyperparameters, architecture.split(":"), strict=True))
    )


def _number(value: Any) -> float:
    """A number of a record. Raises TypeError for a text, which may be so long that reading it takes for ever."""
    if isinstance(value, str | bytes):
        raise TypeError("a text in place of a number")
    return float(value)


def _table(name: str, data: _SizeData, networks: list[tuple[int, list[Mapping[str, Any]]]], source: str) -> TableData:
    epochs, repetitions = int(networks[0][1][0]["epochs"]), max(len(runs) for _, runs in networks)
    if not 1 <= epochs <= int(_SCHEDULE) or repetitions > _MOST_REPETITIONS:
        raise ValueError(f"{epochs:,} epochs, {repetitions:,} trainings of a network")
    curves = np.full((SPACE.size, repetitions, epochs, 3), np.nan, np.float32)
    values = np.full((SPACE.size, repetitions, 6), np.nan)
    for row, runs in networks:
        for repetition, run in enumerate(runs):
            valid, test = (
                [100 - _number(run["eval_acc1es"][f"{split}@{epoch}"]) for epoch in range(epochs)]
                for split in (data.valid, data.test)
            )
            times = np.cumsum([_number(run["train_times"][epoch]) for epoch in range(epochs)])
            curves[row, repetition] = np.stack([valid, test, times], axis=1)
            if len(run["latency"]) > _MOST_LATENCIES:
                raise ValueError(f"{len(run['latency']):,} latencies of a training")
            latency = float(np.mean(list(map(_number, run["latency"])))) if run["latency"] else np.nan
            values[row, repetition] = (
                valid[-1],
                test[-1],
                times[-1],
                _number(run["params"]),
                _number(run["flop"]),
                latency,
            )
    metrics = (
        Metric(f"{data.valid}-error@{epochs}", "%", True, "100 - accuracy", data.valid, epochs),
        Metric(f"{data.test}-error@{epochs}", "%", True, "100 - accuracy", data.test, epochs),
        Metric("train_time", "s", description=f"training time of all {epochs} epochs"),
        Metric("model_size", "M parameters", description="number of parameters", cheap=True),
        Metric("flops", "M", description="floating-point operations of one image", cheap=True),
        Metric("latency", "s", description="latency of one batch, as recorded"),
    )
    return TableData(
        name,
        "nats-bench-size",
        SPACE,
        metrics,
        "train_time",
        source,
        "MIT",
        values,
        curves,
        tuple(metric.name for metric in metrics[:3]),
        tuple(range(1, epochs + 1)),
    )
