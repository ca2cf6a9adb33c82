"""Metrics that a user adds to an existing table, such as latencies on devices: `<data>/columns/NAME/`.

columns.json    the metrics, the number of configurations of the table and a digest of them in their order, and the
                SHA-256 of the values (see `description`)
<sha256>.npy    values, shape (configurations, metrics), NaN for missing values
"""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nasbench.base.errors import UsageError
from nasbench.base.metrics import Metric
from nasbench.benchmarks.folders import data_folder, made, place_of
from nasbench.benchmarks.spaces import FiniteSpace
from nasbench.benchmarks.spaces.listed import ListedSpace
from nasbench.benchmarks.tabular import description
from nasbench.benchmarks.tabular.imported import described, read_array, write_array
from nasbench.benchmarks.tabular.table import Array, TabularBenchmark

_FILE = "columns.json"


class Columns(NamedTuple):
    """Metrics for every configuration of a table."""

    metrics: tuple[Metric, ...]
    values: Array
    """Shape (configurations, metrics); NaN for missing values."""
    rows: str
    """The digest of these configurations (`digest_of`)."""


def digest_of(space: FiniteSpace) -> str:
    """A digest of the configurations of a table in their order: values belong to them by number."""
    points = space.points.tobytes() if isinstance(space, ListedSpace) else b""
    return hashlib.sha256(json.dumps(space.describe()).encode() + points).hexdigest()[:32]


def save(name: str, columns: Columns) -> Path:
    """Adds metrics of a table to the user's data folder; returns the folder.

    Metrics that were added before remain, except those with the same names.
    """
    from filelock import FileLock

    folder = data_folder() / "columns" / name
    made(folder)
    with FileLock(folder / ".lock"):  # of two commands at once, both add theirs
        _save(folder, name, columns)
    return folder


def _save(folder: Path, name: str, columns: Columns) -> None:
    before = _kept(name)
    if before is not None and len(before[1]["metrics"]) and before[1]["rows"] == columns.rows:
        earlier = description.metrics_of(before[1]["metrics"])
        names = {metric.name for metric in columns.metrics}
        stay = [i for i, metric in enumerate(earlier) if metric.name not in names]
        values = np.concatenate(
            [read_array(before[0], before[1]["values"], None, len(earlier))[:, stay], columns.values], axis=1
        )
        columns = Columns((*(earlier[i] for i in stay), *columns.metrics), values, columns.rows)
    facts: dict[str, Any] = {"size": len(columns.values), "rows": columns.rows}
    facts["metrics"] = [described(metric) for metric in columns.metrics]
    facts["values"] = write_array(folder, columns.values)
    description.write(folder / _FILE, facts)
    for path in folder.glob("*.npy"):
        if path.stem != facts["values"]:
            path.unlink()


def add_to(table: TabularBenchmark) -> None:
    """Adds the user's metrics to a table. Raises UsageError if they are damaged, or belong to another table."""
    if (kept := _kept(table.name)) is None:
        return
    place, facts = kept
    if facts.pop("rows") != digest_of(table.space):  # it is no part of the checksum: the table's own stands for it
        raise UsageError(
            f"{place} was made for other rows of {table.name}, or by an earlier nasbench: delete that folder, and "
            "import again"
        )
    metrics = description.metrics_of(facts["metrics"])
    checksum = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    table.add_metrics(
        metrics, partial(read_array, place, facts["values"], table.space.size, len(metrics)), f"sha256:{checksum}"
    )


def names(table: str) -> set[str]:
    """The names of the metrics that the user has added to a table."""
    kept = _kept(table)
    return {metric["name"] for metric in kept[1]["metrics"]} if kept else set()


def _kept(table: str) -> tuple[Path, dict[str, Any]] | None:
    """The folder of the metrics that were added to a table, and what describes them; None if there are none."""
    folder = place_of(Path("columns", table), _FILE)
    try:
        facts = description.read(folder / _FILE).facts
        description.check_kinds(facts, {"size": int, "rows": str, "values": str, "metrics": list})
        description.metrics_of(facts["metrics"])
        return folder, {name: facts[name] for name in ("size", "metrics", "values")} | {"rows": facts.get("rows")}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{folder} is damaged ({type(error).__name__}: {error}): delete it, and import again"
        ) from None
