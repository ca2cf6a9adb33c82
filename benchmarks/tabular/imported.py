"""Tables the user imported: a folder each, `<data>/tables/NAME/`, read without what they were made from.

table.json      what the table is: space, metrics, source, and the SHA-256 of its arrays
<sha256>.npy    values, shape (configurations, repetitions, metrics)
<sha256>.npy    where recorded, the values after each epoch, shape (configurations, repetitions, epochs, metrics)
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.base import Benchmark, Status
from nasbench.benchmarks.folders import data_folder, data_folders
from nasbench.benchmarks.metrics import Metric
from nasbench.benchmarks.spaces import Categorical, Choice, GridSpace, Ordinal
from nasbench.benchmarks.spaces.errors import UsageError
from nasbench.benchmarks.spaces.network_grids import grid
from nasbench.benchmarks.tabular.table import Array, TabularBenchmark

NAME = r"[a-z][a-z0-9+_-]{0,59}"
"""Pattern of the names that an imported table may have."""


@dataclass(frozen=True)
class Table:
    """A table with everything a benchmark of it needs; `values` as `TabularBenchmark` takes them."""

    name: str
    family: str
    space: GridSpace
    metrics: tuple[Metric, ...]
    """The objective first. It is minimised, and not measured on a test split."""
    cost: str
    source: str
    licence: str
    values: Array
    epochs: NDArray[np.float32] | None = None
    """After epochs 1, 2, … of the metrics in `recorded`, shape (configurations, repetitions, epochs, metrics)."""
    recorded: tuple[str, ...] = ()
    absent: Status = "failed"
    """How an evaluation of a configuration without a row ends."""


class ImportedTable(TabularBenchmark, blockwise=True):
    """A table of the user's; where it has the objective after every epoch, `at` gives it at fewer epochs."""

    def __init__(self, folder: Path) -> None:
        text = (folder / "table.json").read_bytes()
        self._folder, self._facts = folder, json.loads(text)
        facts = self._facts
        metrics = [Metric(**metric) for metric in facts["metrics"]]
        super().__init__(
            facts["name"],
            facts["family"],
            grid(facts.get("kind", ""), [_HYPERPARAMETERS[h.pop("kind")](h) for h in map(dict, facts["space"])]),
            metrics,
            partial(_load, folder, facts["values"]),
            cost=facts["cost"],
            source=facts["source"],
            licence=facts["licence"],
            checksum=f"sha256:{hashlib.sha256(text).hexdigest()}",
            absent=facts.get("absent", "failed"),
        )
        if metrics[0].name in facts["recorded"]:
            self.fidelities = tuple(range(1, facts["epoch_count"] + 1))

    def at(self, epochs: int) -> Benchmark:
        """The table after `epochs` epochs, at the share of the cost that they take; raises UsageError for others.

        A metric that is recorded after every epoch is renamed; one that is measured on data, but known after the last
        epoch only, is left out.
        """
        if epochs not in self.fidelities:
            return super().at(epochs)
        recorded, cost = self._facts["recorded"], self.column(self._facts["cost"])
        kept = [i for i, m in enumerate(self.metrics) if m.name in recorded or m.epoch is None]

        def metric_at(metric: Metric) -> Metric:
            if metric is self.metrics[cost]:
                return replace(metric, description=f"{epochs}/{self.fidelities[-1]} of the cost of all epochs")
            if metric.name not in recorded:
                return metric
            return replace(metric, name=f"{metric.name.rpartition('@')[0]}@{epochs}", epoch=epochs)

        def load() -> Array:
            values = np.array(self.values)
            curves = _load(self._folder, self._facts["epochs"])
            for source, name in enumerate(recorded):
                values[:, :, self.column(name)] = curves[:, :, epochs - 1, source]
            values[:, :, cost] *= epochs / self.fidelities[-1]
            return values[:, :, kept]

        return TabularBenchmark(
            f"{self.name}@{epochs}",
            self.family,
            self.space,
            [metric_at(self.metrics[i]) for i in kept],
            load,
            cost=self.metrics[cost].name,
            source=self.source,
            licence=self.licence,
            checksum=self.checksum,
            absent=self._absent,
        )


def save(table: Table) -> Path:
    """Writes a table into the user's data folder, in place of an earlier one of that name; returns its folder.

    Raises UsageError if its objective cannot be one.
    """
    objective = table.metrics[0]
    if objective.held_out:
        raise UsageError(
            f"{table.name} would minimise {objective.name}, which is measured on the test split: a metric used for "
            "selection cannot be reported as test; put another metric first"
        )
    if not objective.minimize:
        raise UsageError(f"{objective.name} of {table.name} is maximised: an objective is minimised (complement_of)")
    folder = folder_of(table.name)
    facts: dict[str, Any] = {
        "name": table.name,
        "family": table.family,
        "space": [{"kind": type(h).__name__, **_fields(h)} for h in table.space.hyperparameters],
        "metrics": [asdict(metric) for metric in table.metrics],
        "cost": table.cost,
        "source": table.source,
        "licence": table.licence,
        "recorded": table.recorded,
        "absent": table.absent,
        "epoch_count": 0 if table.epochs is None else table.epochs.shape[2],
    }
    if table.space.table_kind:
        facts["kind"] = table.space.table_kind
    json.dumps(facts)  # what is no plain data fails here, before anything is written
    folder.mkdir(parents=True, exist_ok=True)
    facts["values"] = _write(folder, table.values)
    facts["epochs"] = "" if table.epochs is None else _write(folder, table.epochs)
    aside = folder / ".table.json.tmp"
    aside.write_text(json.dumps(facts, indent=1))
    aside.replace(folder / "table.json")
    for path in folder.glob("*.npy"):
        if path.stem not in (facts["values"], facts["epochs"]):
            path.unlink()  # of the table that stood here before
    return folder


def folder_of(name: str) -> Path:
    """Where the imported table called `name` is kept by this command; an earlier one may have kept it elsewhere."""
    return data_folder() / "tables" / name


def names() -> list[str]:
    """All tables the user imported."""
    found = {path.parent.name for folder in data_folders() for path in folder.glob("tables/*/table.json")}
    return sorted(name for name in found if re.fullmatch(NAME, name))  # a copy `x.bak` is none


def open_imported(name: str) -> TabularBenchmark:
    """Opens an imported table. Raises UsageError if its folder is damaged."""
    places = [folder / "tables" / name for folder in data_folders()]
    place = next((place for place in places if (place / "table.json").exists()), places[0])
    try:
        return ImportedTable(place)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"the imported table {place} is damaged ({type(error).__name__}: {error}): import it again"
        ) from None


def _write(folder: Path, array: NDArray[Any]) -> str:
    aside = folder / ".array.tmp"
    with aside.open("wb") as file:
        np.save(file, array)
    digest = _digest(aside)
    aside.replace(folder / f"{digest}.npy")
    return digest


def _fields(h: Choice) -> dict[str, Any]:
    """What a table's description says of a hyper-parameter; of a prior nothing where there is none."""
    return {name: value for name, value in asdict(h).items() if name != "prior" or value}


def _load(folder: Path, digest: str) -> Array:
    path = folder / f"{digest}.npy"
    if not path.is_file() or _digest(path) != digest:
        raise UsageError(f"{path} is missing or damaged: import the table again")
    return np.asarray(np.load(path, mmap_mode="r"))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_HYPERPARAMETERS: dict[str, Callable[[dict[str, Any]], Categorical | Ordinal]] = {
    "Categorical": lambda facts: Categorical(facts["name"], tuple(facts["values"])),
    "Ordinal": lambda facts: Ordinal(facts["name"], tuple(facts["values"]), facts["log"]),
}
