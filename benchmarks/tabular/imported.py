"""Tables that the user has imported, each in a folder `<data>/tables/NAME/`; their sources are no longer needed.

table.json      space, metrics, source, and the SHA-256 of the arrays (see `description`)
<sha256>.npy    values, shape (configurations, repetitions, metrics)
<sha256>.npy    curves, if recorded: values at each level, shape (configurations, repetitions, levels, metrics)
<sha256>.npy    for a listed space, the coordinates of its rows, shape (configurations, hyper-parameters)
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench.base.errors import UsageError
from nasbench.base.files import beside, digest_of
from nasbench.base.metrics import Metric
from nasbench.benchmarks import folders
from nasbench.benchmarks.contract import Benchmark, Evaluation, Status
from nasbench.benchmarks.fidelity import Fidelity, Level
from nasbench.benchmarks.spaces import (
    Categorical,
    Configuration,
    FiniteSpace,
    Float,
    Hyperparameter,
    Integer,
    Ordinal,
)
from nasbench.benchmarks.spaces.listed import ListedSpace, listed
from nasbench.benchmarks.spaces.nasbench101 import ListedCells
from nasbench.benchmarks.spaces.network_grids import grid
from nasbench.benchmarks.tabular import description
from nasbench.benchmarks.tabular.table import Array, TabularBenchmark

NAME = r"[a-z][a-z0-9+_-]{0,59}"
"""Pattern of the names of imported tables."""


@dataclass(frozen=True)
class TableData:
    """The data of an imported table."""

    name: str
    family: str
    space: FiniteSpace
    metrics: tuple[Metric, ...]
    """The objective first. It is minimised, and not measured on a test split."""
    cost: str
    source: str
    licence: str
    values: Array
    """The metrics, shape (configurations, repetitions, metrics); see `TabularBenchmark`."""
    curves: NDArray[np.floating[Any]] | None = None
    """The metrics in `recorded` at each level, shape (configurations, repetitions, levels, metrics)."""
    recorded: tuple[str, ...] = ()
    """The metrics that have curves."""
    levels: tuple[int, ...] = ()
    """The levels of the curves, ascending: numbers of epochs, unless `counted` says otherwise."""
    counted: tuple[str, str] = ("epochs", "1 epoch")
    """Name and unit of the fidelity."""
    continuable: bool = True
    """Whether the levels are points of one training; otherwise each level is a separate training."""
    absent: Status = "failed"
    """The status of an evaluation of a configuration without a value of the objective."""
    absence: str = "the table has no such configuration"
    """The reason of such an evaluation."""
    search_space: str = ""
    """See `Benchmark.search_space`."""
    left_out: int = 0
    """Trainings in the file that lack a value of the objective, of configurations that have others."""
    caution: str = ""
    """See `Benchmark.caution`."""
    levels_left_out: tuple[int, ...] = ()
    """Levels in the file that are no levels of the table, because a training lacks a value of the objective there."""


class ImportedTable(TabularBenchmark):
    """An imported table. If it has the curve of the objective, it has a fidelity, and `at` opens it at lower levels."""

    def __init__(self, folder: Path) -> None:
        facts, digest = description.read(folder / "table.json")
        self._folder, self._facts = folder, facts
        description.check_kinds(facts, _KINDS)
        metrics, space = description.metrics_of(facts["metrics"]), _space(facts, folder)
        values, shape = facts["values"], (space.size, None, len(metrics))
        if facts["cost"] not in [metric.name for metric in metrics]:
            raise ValueError(f"cost: {facts['cost']!r}")
        super().__init__(
            facts["name"],
            facts["family"],
            space,
            metrics,
            lambda: self._array(values, *shape),
            cost=facts["cost"],
            source=facts["source"],
            licence=facts["licence"],
            checksum=f"sha256:{digest}{space.revision}",
            absent=facts.get("absent", "failed"),
            absence=facts.get("absence", TableData.absence),
            search_space=facts.get("search_space", ""),
        )
        self.caution = facts.get("caution", "")
        self.recorded: tuple[str, ...] = tuple(facts["recorded"])
        """The metrics that have curves."""
        if metrics[0].name in self.recorded:
            name, unit = map(str, facts.get("counted", TableData.counted))
            if not facts["epochs"]:
                raise ValueError("no curves")
            if not facts["levels"]:
                raise ValueError("no levels")
            levels = tuple(facts["levels"])
            self.fidelity = Fidelity(name, unit, levels, facts.get("continuable", True))

    @property
    def fidelities(self) -> tuple[int, ...]:
        """The levels at which `at` can open the table."""
        return () if self.fidelity is None else self.fidelity.axes[0].values

    @cached_property
    def curves(self) -> Array:
        """The metrics in `recorded` at each level, shape (configurations, repetitions, levels, metrics)."""
        levels = None if self.fidelity is None else len(self.fidelities)
        return self._array(self._facts["epochs"], self.space.size, None, levels, len(self.recorded))

    def _array(self, digest: str, *shape: int | None) -> Array:
        """An array of the folder, as `read_array` reads it."""
        return read_array(self._folder, digest, *shape)

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        """Looks up the drawn repetition at a level; its cost is the recorded one, or a share of the full cost.

        A training that diverged has values at the levels before that.
        """
        if self.fidelity is None:
            return super().measure(configuration, seed, upto, state)
        place = self.fidelity.rungs[upto]
        if upto == self.fidelity.highest:
            return self._with_curve(super().measure(configuration, seed, upto, state), configuration, seed, place)
        row = self.space.index(configuration)
        repetition = seed % self._count_at(place, configuration)
        values = dict(zip(self.places, self.values[row, repetition].tolist(), strict=True))
        there = dict(zip(self.recorded, self.curves[row, repetition, place].tolist(), strict=True))
        share = upto.work / self.fidelity.highest.work
        for column, metric in enumerate(self.metrics):
            if metric.name in there:
                values[metric.name] = there[metric.name]
            elif column == self.cost_column:
                values[metric.name] *= share
            elif metric.split is not None:  # it was measured at the end
                values[metric.name] = math.nan
        cost = share * self._cost if self.cost_column is None else values[self.metrics[self.cost_column].name]
        if not math.isfinite(values[self.objective.name]):
            return Evaluation({}, cost if math.isfinite(cost) else 0.0, self.absent, self.absence)
        return self._with_curve(Evaluation(values, cost), configuration, seed, place)

    def _count_at(self, place: int, configuration: Configuration) -> int:
        """The number of repetitions at level number `place`: of trainings that are continued it is that at the end."""
        if self.fidelity is None or self.fidelity.continuable:
            return self.repetition_count(configuration)
        objectives = self.curves[self.space.index(configuration), :, place, self.recorded.index(self.objective.name)]
        return int(np.isfinite(objectives).sum()) or self.repetitions

    def _with_curve(self, evaluation: Evaluation, configuration: Configuration, seed: int, place: int) -> Evaluation:
        """An evaluation with the curve of the drawn repetition, up to level number `place` of the ladder."""
        if evaluation.status != "ok" or self.fidelity is None or not self.fidelity.continuable:
            return evaluation
        row = self.space.index(configuration)
        before = self.curves[
            row, seed % self.repetition_count(configuration), :place, self.recorded.index(self.objective.name)
        ]
        return evaluation._replace(curve=(*before.tolist(), evaluation.metrics[self.objective.name]))

    def at(self, epochs: int) -> Benchmark:
        """The table at a lower level of its fidelity, one of `fidelities`.

        A metric with a curve is renamed; a metric that is measured on data, but has no curve, is left out. The cost is
        the recorded one, or a share of the full cost if it has no curve.
        """
        recorded, cost = self.recorded, self.column(self._facts["cost"])
        assert self.fidelity is not None
        axis, place, last = self.fidelity.axes[0].name, self.fidelities.index(epochs), self.fidelities[-1]
        kept = [i for i, m in enumerate(self.metrics) if m.name in recorded or m.split is None]

        def metric_at(metric: Metric) -> Metric:
            if metric is self.metrics[cost]:
                said = f"cost at {axis} {epochs}" if metric.name in recorded else f"{epochs}/{last} of the full cost"
                return replace(metric, description=said)
            if metric.name not in recorded or metric.epoch is None:
                return metric
            return replace(metric, name=f"{metric.name.rpartition('@')[0]}@{epochs}", epoch=epochs)

        def load() -> Array:
            values = np.array(self.values)
            if epochs < last:
                if self.metrics[cost].name not in recorded:
                    values[:, :, cost] *= epochs / last
                for source, name in enumerate(recorded):
                    values[:, :, self.column(name)] = self.curves[:, :, place, source]
            # A repetition is drawn among the first ones: those that have a value at this level.
            order = np.argsort(~np.isfinite(values[:, :, 0]), axis=1, kind="stable")
            return np.take_along_axis(values, order[:, :, None], axis=1)[:, :, kept]

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
            absent=self.absent,
            absence=self.absence,
            search_space=self.search_space,
        )


_KINDS = {
    **dict.fromkeys(("name", "family", "cost", "source", "licence", "values", "epochs", "rows", "kind"), str),
    **dict.fromkeys(("absence", "search_space", "caution"), str),
    **dict.fromkeys(("space", "metrics", "recorded", "levels", "counted"), list),
    "continuable": bool,
}
"""The kinds of what describes a table."""


def _space(facts: dict[str, Any], folder: Path) -> FiniteSpace:
    for entry in facts["space"]:
        description.check_kinds(entry, {"kind": str, "name": str})
    hyperparameters = [_HYPERPARAMETERS[h.pop("kind")](h) for h in map(dict, facts["space"])]
    kind = facts.get("kind", "")
    if "rows" not in facts:
        return grid(kind, [h for h in hyperparameters if isinstance(h, Categorical | Ordinal)])
    points = read_array(folder, facts["rows"], None, len(hyperparameters))
    return ListedCells(points) if kind == ListedCells.table_kind else listed(hyperparameters, points)


def check_objective(table: str, objective: Metric) -> None:
    """Raises UsageError if a metric cannot be the objective of a table."""
    if objective.is_test:
        raise UsageError(
            f"{table} would minimise {objective.name}, which is measured on the test split: a metric used for "
            "selection cannot be reported as test; put another metric first"
        )
    if not objective.minimize:
        raise UsageError(f"{objective.name} of {table} is maximised: an objective is minimised (complement_of)")


def save(table: TableData) -> Path:
    """Writes a table into the user's data folder, replacing an earlier table of that name; returns its folder.

    Raises UsageError if its first metric cannot be the objective.
    """
    folder = folder_of(table.name)
    write(table, folder)
    return folder


def write(table: TableData, folder: Path) -> None:
    """Writes a table into a folder, in place of an earlier one. Raises UsageError if its objective cannot be one."""
    check_objective(table.name, table.metrics[0])
    facts: dict[str, Any] = {
        "name": table.name,
        "family": table.family,
        "space": [{"kind": type(h).__name__, **_fields(h)} for h in table.space.hyperparameters],
        "metrics": [described(metric) for metric in table.metrics],
        "cost": table.cost,
        "source": table.source,
        "licence": table.licence,
        "recorded": table.recorded,
        "levels": table.levels,
        "counted": table.counted,
        "continuable": table.continuable,
        "absent": table.absent,
        "absence": table.absence,
        "search_space": table.search_space,
    }
    if table.caution:
        facts["caution"] = table.caution
    if table.space.table_kind:
        facts["kind"] = table.space.table_kind
    json.dumps(facts)  # raises an error before anything is written, if the facts are not plain data
    folders.made(folder)
    facts["values"] = write_array(folder, table.values)
    facts["epochs"] = "" if table.curves is None else write_array(folder, table.curves)
    if isinstance(table.space, ListedSpace):
        facts["rows"] = write_array(folder, table.space.points)
    description.write(folder / "table.json", facts)
    for path in folder.glob("*.npy"):
        if path.stem not in (facts["values"], facts["epochs"], facts.get("rows")):
            path.unlink()  # of the earlier table


def folder_of(name: str) -> Path:
    """The folder into which a table is imported; an earlier import may be in another folder (`place_of`)."""
    return folders.data_folder() / "tables" / name


def names() -> list[str]:
    """The names of all imported tables."""
    found = {path.parent.name for folder in folders.data_folders() for path in folder.glob("tables/*/table.json")}
    return sorted(name for name in found if re.fullmatch(NAME, name))  # not a copy such as `x.bak`


def place_of(name: str) -> Path:
    """The folder of an imported table."""
    return folders.place_of(Path("tables", name), "table.json")


def open_imported(name: str) -> TabularBenchmark:
    """Opens an imported table. Raises UsageError if its folder is damaged."""
    place = place_of(name)
    try:
        return ImportedTable(place)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise UsageError(
            f"the imported table {place} is damaged ({type(error).__name__}: {error}): import it again"
        ) from None


def write_array(folder: Path, array: NDArray[Any]) -> str:
    """Writes an array into a folder under its SHA-256 sum, and returns the sum."""
    with beside(folder / "table.npy") as aside:  # errors name it so
        with aside.open("wb") as file:
            np.save(file, array)
        digest = digest_of(aside)
        aside.replace(folder / f"{digest}.npy")
    return digest


def described(metric: Metric) -> dict[str, Any]:
    """A metric in a table's description; without its seconds if they are 0."""
    return {name: value for name, value in asdict(metric).items() if name != "seconds" or value}


def _fields(h: Hyperparameter) -> dict[str, Any]:
    """A hyper-parameter in a table's description; without its prior if it has none."""
    return {name: value for name, value in asdict(h).items() if name != "prior" or value}


def read_array(folder: Path, digest: str, *shape: int | None) -> Array:
    """Maps the array with this SHA-256 sum into memory.

    Args:
        shape: the size of each axis, None for any.

    Raises UsageError if it is missing or damaged, or does not have this shape.
    """
    path = folder / f"{digest}.npy"
    if not path.is_file() or digest_of(path) != digest:
        raise UsageError(f"{path} is missing or damaged: import the table again")
    try:
        array = np.asarray(np.load(path, mmap_mode="r"))
    except (ValueError, EOFError, OSError) as error:
        raise UsageError(f"{path} holds no array ({str(error)[:120]}): import the table again") from None
    return fitting(array, path, shape)


def fitting(array: Array, path: Path, shape: Sequence[int | None]) -> Array:
    """An array of numbers from a file. Raises UsageError if it does not have this shape; None is any size."""
    fits = array.ndim == len(shape) and all(want in (None, size) for want, size in zip(shape, array.shape, strict=True))
    if not fits or array.dtype.kind not in "iuf":
        raise UsageError(
            f"{path} has the shape {array.shape} and the type {array.dtype}, which is not that of its description: "
            "import the table again"
        )
    return array


_HYPERPARAMETERS: dict[str, Callable[[dict[str, Any]], Hyperparameter]] = {
    "Categorical": lambda facts: Categorical(facts["name"], tuple(facts["values"]), tuple(facts.get("prior", ()))),
    "Ordinal": lambda facts: Ordinal(
        facts["name"], tuple(facts["values"]), facts["log"], tuple(facts.get("prior", ()))
    ),
    "Float": lambda facts: Float(**facts),
    "Integer": lambda facts: Integer(**facts),
}
