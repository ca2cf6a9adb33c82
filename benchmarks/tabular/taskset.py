"""TaskSet (Metz et al., 2020): 1,000 settings of Adam with eight parameters per task, with curves of 51 points."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from nasbench.base.errors import UsageError
from nasbench.base.files import digest_of, unpacked
from nasbench.base.metrics import Metric
from nasbench.base.textfile import check_regular
from nasbench.benchmarks.spaces import Float
from nasbench.benchmarks.spaces.listed import ListedSpace
from nasbench.benchmarks.tabular.imported import NAME, TableData
from nasbench.benchmarks.tabular.table import Array

SPLITS = ("valid", "test", "train")
_STEPS = 200  # between two points of a curve
_COMPLEMENT = "one_minus_"
_RANGES = (  # all log-uniform; 1 - beta instead of beta
    Float("learning_rate", 1e-8, 10.0, log=True),
    Float("one_minus_beta1", 1e-4, 1.0, log=True),
    Float("one_minus_beta2", 1e-6, 1.0, log=True),
    Float("epsilon", 1e-10, 1e3, log=True),
    Float("l1", 1e-8, 10.0, log=True),
    Float("l2", 1e-8, 10.0, log=True),
    Float("linear_decay", 1e-7, 1e-4, log=True),
    Float("exponential_decay", 1e-6, 1e-3, log=True),
)


def read_task(path: Path) -> TableData:
    """The table of one task, from a file of records `{"hp": …, "train": {"loss": […]}, "valid": …, "test": …}`.

    Raises UsageError if the file cannot be read, or is of another kind.
    """
    records = _records(path)
    try:
        points = np.array([[_setting(record["hp"], h.name) for h in _RANGES] for record in records])
        losses = np.array([[record[split]["loss"] for split in SPLITS] for record in records], float)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise UsageError(
            f"{path} is not a task of TaskSet's Adam with eight parameters: {type(error).__name__}: {str(error)[:120]}"
        ) from None
    if losses.ndim != 3 or losses.shape[2] < 2 or not len(losses):
        raise UsageError(f"{path} has no curves of equal length for {', '.join(SPLITS)}")
    for h, column in zip(_RANGES, points.T, strict=True):
        if not ((column >= h.low * (1 - 1e-6)) & (column <= h.high * (1 + 1e-6))).all():
            raise UsageError(f"{h.name} in {path} leaves its range [{h.low:g}, {h.high:g}]")
    points = np.clip(points, [h.low for h in _RANGES], [h.high for h in _RANGES])
    if len(np.unique(points, axis=0)) < len(points):
        raise UsageError(f"{path} has one configuration twice")
    curves = _curves(losses)
    levels = tuple(range(1, losses.shape[2]))
    if not np.isfinite(curves[:, 0, -1, 0]).any():
        raise UsageError(f"{path} has no completed training")
    metrics = (
        *(Metric(f"{s}-loss@{levels[-1]}", "nats", True, _WORDS, s, levels[-1]) for s in SPLITS),
        Metric(
            "cost", "s", description="1 s per point: no time is recorded; of a diverged training, until it diverged"
        ),
    )
    return TableData(
        _name(path),
        "taskset",
        ListedSpace(_RANGES, points),
        metrics,
        "cost",
        "TaskSet (Metz et al., 2020, arXiv 2002.11887), one run per configuration; "
        f"{path.name}, sha256:{digest_of(path)}",
        "Apache-2.0",
        curves[:, :, -1],
        curves,
        tuple(metric.name for metric in metrics),
        levels,
        ("points", f"{_STEPS} steps"),
        absence="the training diverged",
    )


_WORDS = f"mean loss after the point's training steps ({_STEPS} per point)"


def _records(path: Path) -> list[Any]:
    check_regular(path)
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                content = unpacked(path, file).read()
        else:
            content = path.read_bytes()
        records = json.loads(content)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, EOFError, RecursionError, zlib.error) as error:
        raise UsageError(f"{path} is damaged, or not JSON: {str(error)[:120]}") from None
    if not isinstance(records, list) or not records:
        raise UsageError(f"{path} is not a list of records")
    return records


def _setting(parameters: dict[str, float], name: str) -> float:
    if name.startswith(_COMPLEMENT):
        return 1.0 - float(parameters[name.removeprefix(_COMPLEMENT)])
    return float(parameters[name])


def _curves(losses: Array) -> Array:
    """The losses and the cost at all points but the first, which is before training.

    Shape (configurations, 1, points, splits + 1). A training diverges, and ends, at the point from which on its
    validation loss is not finite.
    """
    after = np.where(np.isfinite(losses), losses, np.nan)[:, :, 1:]
    points = np.arange(1, after.shape[2] + 1)
    last = (points * np.isfinite(after[:, 0])).max(
        axis=1, keepdims=True
    )  # the last point with a value of the objective
    costs = np.minimum(points, last + 1).astype(float)
    curves: Array = np.concatenate([after, costs[:, None]], axis=1).transpose(0, 2, 1)[:, None]
    return curves


def _name(path: Path) -> str:
    task = path.name.partition(".")[0].removeprefix("FixedTextRNNClassification_")
    name = f"taskset-{task.lower()}"
    if not re.fullmatch(NAME, name):
        raise UsageError(
            f"{path}: a task is named after its file, and {name[:80]!r} is not a possible name of a benchmark"
        )
    return name
