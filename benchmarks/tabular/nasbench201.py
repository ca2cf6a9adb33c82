"""The official files of NAS-Bench-201 and NATS-Bench (topology), converted once into compact tables.

The embedded tables have the last epoch only, and no test accuracy. The official files have all repetitions, splits and
epochs, but their readers (`nas-bench-201`, `nats-bench`) need tens of gigabytes, and milliseconds per query.
"""

from __future__ import annotations

import bz2
import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench.base.errors import UsageError, with_extra
from nasbench.base.files import digest_of, little_memory, unpacked
from nasbench.base.metrics import Metric
from nasbench.base.textfile import check_file
from nasbench.benchmarks.tabular import plain_pickle
from nasbench.benchmarks.tabular.embedded import NAS_BENCH_201
from nasbench.benchmarks.tabular.imported import TableData
from nasbench.benchmarks.tabular.plain_pickle import NotPlain

OFFICIAL = ("NAS-Bench-201-v1_0-e61699.pth", "NAS-Bench-201-v1_1-096897.pth", "NATS-tss-v1_0-3ffb9.pickle.pbz2")
"""The released files. By convention of their authors, a name ends in the last digits of the file's MD5 sum."""

_SEEDS = (777, 888, 999)
_MOST_EPOCHS = 200
_LONGEST = 200  # letters of an architecture; the official ones have at most 102
# Measured on 300 architectures: bytes of memory as Python objects per byte of the file, and bytes of the tables.
_EXPANSION = {".pth": 5.5, ".pbz2": 16.0}
_TABLES = 200e6


@dataclass(frozen=True)
class _Data:
    """The data sets in the official records that make one benchmark."""

    trained_on: str
    tested_on: tuple[str, ...]
    retrained_on: str = ""
    """The data set on which networks are trained with training and validation data together, for the test error."""


_DATA = {
    "nb201-cifar10": _Data("cifar10-valid", ("ori-test",), "cifar10"),
    "nb201-cifar100": _Data("cifar100", ("x-test",)),
    "nb201-imagenet16": _Data("ImageNet16-120", ("x-test",)),
}


def peak_memory(path: Path) -> float:
    """Approximate memory in bytes for reading an official file, whose records become Python objects."""
    return path.stat().st_size * _EXPANSION.get(path.suffix, _EXPANSION[".pth"]) + _TABLES


def is_official(path: Path) -> bool:
    """Whether a file seems to be a released one: its MD5 sum ends as its name does."""
    if path.name not in OFFICIAL:
        return False
    digits = path.name.partition(".")[0].rpartition("-")[2]
    return digest_of(path, "md5").endswith(digits)


def convert(path: Path, trust: bool, progress: Callable[[int], None]) -> list[TableData]:
    """The tables of the three data sets, from an official file.

    Args:
        path: the file.
        trust: whether to open a file that is not an official one; its pickle can run any code.
        progress: called with 1 for each architecture read.

    Raises UsageError if the file cannot be read, is neither official nor trusted, or is of another kind.
    """
    check_file(path)
    if not trust and not is_official(path):
        raise UsageError(
            f"{path} is none of the released files ({', '.join(OFFICIAL)}; each name ends in digits of its MD5 sum): "
            "opening a pickle can run any code in it; --trust opens it anyway"
        )
    raw, results_class = _read(path, trust)
    source = f"NAS-Bench-201 (Dong and Yang, ICLR 2020), imported from {path.name}"
    collectors = {name: _Collector(name, data) for name, data in _DATA.items()}
    try:
        strings, infos = list(raw["meta_archs"]), raw["arch2infos"]
        for index in sorted(infos):
            states = infos.pop(index)  # releases memory while reading
            record = results_class.create_from_state_dict(states.get("full") or states.get("200"))
            for collector in collectors.values():
                collector.add(_row(strings[index]), record)
            progress(1)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise UsageError(
            f"{path} does not have the structure of the official files: {type(error).__name__}: {error}"
        ) from None
    tables = [collector.table(source) for collector in collectors.values()]
    return [table for table in tables if table is not None]


def _read(path: Path, trust: bool) -> tuple[dict[str, Any], Any]:
    """The records of a file, and the class that interprets a record.

    Without `trust` only plain data is unpickled: the few digits of the MD5 sum in a name prove nothing.
    """
    try:
        raw, results_class = _read_nats(path, trust) if path.suffix == ".pbz2" else _read_201(path, trust)
    except ImportError as error:
        raise UsageError(f"{error.name} is not installed: {with_extra('nb201')}") from None
    except UsageError:
        raise
    except NotPlain as error:
        raise UsageError(f"{path} cannot be read: {error}; --trust opens it anyway") from None
    except MemoryError:
        raise UsageError(
            f"{path} does not fit into memory: about {peak_memory(path) / 2**30:.0f} GiB are needed"
        ) from None
    except Exception as error:
        text = str(error).splitlines()[0] if str(error) else ""
        raise UsageError(f"{path} cannot be read: {type(error).__name__}: {text[:200]}") from None
    if not isinstance(raw, dict) or not {"meta_archs", "arch2infos"} <= raw.keys():
        raise UsageError(f"{path} does not have the structure of the official files: no meta_archs and arch2infos")
    return raw, results_class


def _read_201(path: Path, trust: bool) -> tuple[Any, Any]:
    import torch
    from nas_201_api import ArchResults

    return torch.load(path, "cpu", pickle if trust else plain_pickle, weights_only=False), ArchResults


def _read_nats(path: Path, trust: bool) -> tuple[Any, Any]:
    from nats_bench.api_utils import ArchResults

    with bz2.open(path) as file:
        if trust:
            return pickle.load(file), ArchResults
        with little_memory(path):
            return plain_pickle.load(unpacked(path, file)), ArchResults


def _row(architecture: str) -> int:
    """The row in the grid: |op~0|+|op~0|op~1|+|op~0|op~1|op~2| lists Op0 to Op5 in this order."""
    space = NAS_BENCH_201.space
    if len(architecture) > _LONGEST:
        raise ValueError(f"an architecture of {len(architecture):,} letters")
    operations = re.findall(r"\|?([^|~+]+)~\d", architecture)
    return space.index(
        tuple(h.values.index(operation) for h, operation in zip(space.hyperparameters, operations, strict=True))
    )


class _Collector:
    """The arrays of one data set, filled architecture by architecture."""

    def __init__(self, name: str, data: _Data) -> None:
        self._name, self._data = name, data
        self._values: NDArray[np.float64] | None = None
        self._epochs: NDArray[np.float32] | None = None
        self._recorded: list[str] = []

    def add(self, row: int, record: Any) -> None:
        """Adds the repetitions of one architecture."""
        if self._data.trained_on not in record.dataset_seed:
            return
        costs = record.get_compute_costs(self._data.trained_on)
        again = self._data.retrained_on
        retrained = 100 - record.get_metrics(again, "ori-test")["accuracy"] if again in record.dataset_seed else np.nan
        trials = sorted(record.query(self._data.trained_on).items())  # by seed: a table's repetitions have no gaps
        for repetition, (_, trial) in enumerate(trials):
            if self._values is None or self._epochs is None:
                self._begin(trial)
            assert self._values is not None and self._epochs is not None
            splits = [self._errors(trial, split) for split in self._splits]
            time = trial.get_times()["T-train@total"] or costs["T-train@total"] or np.nan
            last = [errors[-1] for errors in splits]
            facts = [time, trial.params, trial.flop, costs["latency"] or np.nan]
            self._values[row, repetition] = last + facts + ([retrained] if again else [])
            for i, split in enumerate(self._recorded):
                self._epochs[row, repetition, :, i] = splits[self._splits.index(split)]

    def table(self, source: str) -> TableData | None:
        """The table; None if the file has no records of this data set."""
        if self._values is None:
            return None
        epoch = self._last
        metrics = [Metric(f"{s}-error@{epoch}", "%", True, _WORDS[s.partition("-")[0]], s, epoch) for s in self._splits]
        metrics += [
            Metric("train_time", "s", description=f"training time of all {epoch} epochs"),
            Metric("model_size", "M parameters", description="number of parameters", cheap=True),
            Metric("flops", "M", description="floating-point operations of one image", cheap=True),
            Metric("latency", "s", description="latency of one batch, as recorded"),
        ]
        if self._data.retrained_on:
            words = "test error, mean over seeds, trained on training and validation data together"
            metrics.append(Metric(f"retrained-test-error@{epoch}", "%", True, words, "retrained-test", epoch))
        return TableData(
            self._name,
            NAS_BENCH_201.name,
            NAS_BENCH_201.space,
            tuple(metrics),
            "train_time",
            source,
            "MIT",
            self._values,
            self._epochs,
            tuple(f"{split}-error@{epoch}" for split in self._recorded),
            tuple(range(1, epoch + 1)),
        )

    def _begin(self, trial: Any) -> None:
        """Makes the arrays for the splits and epochs of the first trial."""
        self._last = int(trial.get_total_epoch())
        if not 1 <= self._last <= _MOST_EPOCHS:
            raise ValueError(f"{self._last} epochs")
        self._splits = ["x-valid", "train", *self._data.tested_on]
        size, repetitions = NAS_BENCH_201.space.size, len(_SEEDS)
        metrics = len(self._splits) + 4 + bool(self._data.retrained_on)
        self._values = np.full((size, repetitions, metrics), np.nan)
        self._recorded = [s for s in self._splits if np.isfinite(self._errors(trial, s)).all()]
        self._epochs = np.full((size, repetitions, self._last, len(self._recorded)), np.nan, np.float32)

    def _errors(self, trial: Any, split: str) -> list[float]:
        """100 - accuracy after each epoch; NaN if it is not recorded."""
        if split == "train":
            return [100 - trial.train_acc1es[epoch] for epoch in range(self._last)]
        return [100 - trial.eval_acc1es.get(f"{split}@{epoch}", np.nan) for epoch in range(self._last)]


_WORDS = {"x": "100 - accuracy", "ori": "100 - accuracy on the original test set", "train": "100 - training accuracy"}
