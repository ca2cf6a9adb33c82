"""What a run leaves behind: one row per evaluation, in the order in which evaluations finish."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, get_type_hints

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SCHEMA_VERSION = 4
"""Version of the columns, of the metadata below, and of how streams are derived; part of a run's identity.

2: a run's streams depend on its benchmark and constraint too, and each row has a score.
3: each row says of which training it is, how long that was, and what it cost.
4: each row says what the incumbent is worth by the repetitions that the run has not observed."""


class Row(NamedTuple):
    """One evaluation of a run. Times are seconds on the run's clock, except `thinking`."""

    evaluation: int
    """From 1, in the order in which evaluations finish (and the method is told)."""
    worker: int
    """From 0."""
    configuration: str | None
    """JSON of names and values; None in the closing row of a run whose method failed before it proposed one."""
    objective: float
    feasible: bool
    incumbent: float
    """Best feasible objective so far, this row included, of those at the highest level that any of them has reached;
    NaN before the first."""
    started: float
    finished: float
    thinking: float
    """Measured seconds the method spent on this row's ask and tell. On the clock only under --charge-thinking."""
    status: str
    """ok, failed, or infeasible (refused before training)."""
    reason: str
    metrics: tuple[float, ...]
    """Every metric of the benchmark, in the setup's order; unless the status is ok, NaN but for what was known before
    training."""
    score: float = math.nan
    """Objective of this row's configuration by the mean over the table's repetitions; never told to a method. NaN where
    there is no such mean: on live benchmarks, and for configurations that the table lacks."""
    score_feasible: bool | None = None
    """Whether this row's configuration satisfies the constraints by the means over the table's repetitions; None where
    the benchmark knows no means."""
    trial: int = 0
    """Number of the training that this row is a piece of: that of the ask which began it, from 0."""
    level: int = 1
    """Level of the benchmark's fidelity up to which it was trained; 1 where there is no choice."""
    cost: float = math.nan
    """Seconds of this evaluation alone; of a continued training, of what was added."""
    spent: float = math.nan
    """Whole evaluations' worth of levels that the run has used so far, this row included."""
    unseen: float = math.nan
    """Objective of the incumbent by the mean over the table's repetitions that the run has not observed of it, this row
    included. NaN where there is no incumbent, all repetitions were observed, or none is known (live benchmarks)."""
    unseen_feasible: bool | None = None
    """Whether the incumbent satisfies the constraints by the means over the same repetitions; None where `unseen` is
    NaN."""


@dataclass(frozen=True)
class Trajectory:
    """All rows of one run, and how it ended."""

    seed: int
    columns: dict[str, NDArray[Any]]
    """An array a field of `Row`, all of the same length; `metrics` has a second axis."""
    failure: str
    """Why the method could not use up its budget; empty if it did."""
    began: str
    """Wall-clock time at the start, ISO 8601, UTC."""
    ended: str
    log: Sequence[tuple[Any, ...]] = ()
    """What the method had to say of its search: rows of `LOG`'s own columns; empty for most methods."""

    def __len__(self) -> int:
        return len(self.columns["evaluation"])


class _Kind(NamedTuple):
    """How the values of a field are held in memory, and stored."""

    array: Any
    column: pa.DataType


_KINDS: dict[Any, _Kind] = {
    int: _Kind(np.int64, pa.int64()),
    float: _Kind(np.float64, pa.float64()),
    bool: _Kind(np.bool_, pa.bool_()),
    bool | None: _Kind(object, pa.bool_()),
    str: _Kind(object, pa.string()),
    str | None: _Kind(object, pa.string()),
    tuple[float, ...]: _Kind(np.float64, pa.float64()),
}
_ROW = {name: _KINDS[annotation] for name, annotation in get_type_hints(Row).items()}
"""The fields of `Row`: where a trajectory's columns are declared."""


def to_columns(rows: list[Row], metrics: int) -> dict[str, NDArray[Any]]:
    """Rows, each with so many metrics, as the columns of a trajectory."""
    values = zip(*rows, strict=True) if rows else ([] for _ in _ROW)
    columns = {name: np.array(v, kind.array) for (name, kind), v in zip(_ROW.items(), values, strict=True)}
    return columns | {"metrics": columns["metrics"].reshape(len(rows), metrics)}


@dataclass(frozen=True)
class Setting:
    """What a report must know of a benchmark under a constraint: it never asks the benchmark itself."""

    family: str
    objective: str
    unit: str
    split: str
    """The data split of the objective."""
    bounds: tuple[str, ...]
    """The constraints as resolved on the benchmark, for people: `model_size <= 0.101306 M parameters`."""
    oracle: float | None
    """Best objective of all that is feasible; None where it cannot be known."""
    worst: float | None
    """Worst objective of all that is feasible: stands in for the incumbent before the first feasible evaluation."""
    feasible_share: float | None
    """Share of the table's rows that are feasible, in [0, 1]; None where it cannot be known."""
    median: float | None = None
    """Median objective of all that is feasible; None where it cannot be known."""
    noise: float | None = None
    """Standard deviation of the objective between repetitions of one good configuration; None where unknown."""
    score_oracle: float | None = None
    """Best score of all configurations that are feasible by their means; None where it cannot be known."""
    score_worst: float | None = None
    """Worst score of all configurations that are feasible by their means; None where it cannot be known."""
    held_out: tuple[str, ...] = ()
    """Metrics measured on a test split: reported at the incumbent, never selected on."""
    reference: bool = False
    """The benchmark is a single network, for orientation: listed apart from the searches."""
    highest: int = 1
    """The highest level of the benchmark's fidelity; 1 where there is no choice."""
    maximised: tuple[str, ...] = ()
    """Metrics of which more is better; empty also in runs of earlier versions, which did not say."""
    space: str = ""
    """Name of the search space with its training code; empty in runs of earlier versions, whose families count as such.
    """
    sealed: bool = False
    """Whether the space is sealed: no default of a method may be chosen on it."""


@dataclass(frozen=True)
class Setup:
    """Everything that determines a run but its seed: one setup of a grid of method × benchmark × constraint."""

    method: str
    """Canonical label: options that differ from their defaults."""
    parameters: tuple[tuple[str, int | float | bool | str], ...]
    """Every option of the method with its value, defaults included, sorted."""
    method_version: int
    bench: str
    data: str
    """Checksum of the benchmark's data."""
    constraint: str
    """Canonical label, `none` if there is none."""
    evals: int | None
    seconds: float | None
    workers: int
    charge_thinking: bool
    metrics: tuple[str, ...]
    """Names of the benchmark's metrics, in the order of `Row.metrics`."""
    setting: Setting
    initial: int = 0
    """Number of configurations that the method draws at random before it uses what it is told."""
    tuned_on: tuple[str, ...] = ()
    """Search spaces on whose results a default of the method was chosen."""
    train_infeasible: bool = False
    """Whether a live evaluation is trained although it violates a constraint that is known before training."""
    schema: int = SCHEMA_VERSION

    @property
    def key(self) -> tuple[Any, ...]:
        """What the user asked for, without the versions of data and code that answered."""
        return (
            self.method,
            self.bench,
            self.constraint,
            self.evals,
            self.seconds,
            self.workers,
            self.charge_thinking,
            self.train_infeasible,
        )

    @cached_property
    def id(self) -> str:
        """Hash of everything that determines the trajectories of this setup."""
        consequences = {"setting", "metrics", "initial", "tuned_on"}  # of the others
        facts = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in consequences}
        if not self.train_infeasible:
            del facts["train_infeasible"]  # stores of schema 2 know no such thing, and their ids stay what they are
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]

    def run_id(self, seed: int) -> str:
        """The identity of a run of this setup."""
        return hashlib.sha256(f"{self.id}:{seed}".encode()).hexdigest()[:16]

    @property
    def protocol(self) -> str:
        """Budget and workers, for people: runs that differ here must not be compared."""
        budget = [f"{self.evals} evaluation{'s' if self.evals > 1 else ''}"] if self.evals is not None else []
        budget += [f"{self.seconds:g} seconds"] if self.seconds is not None else []
        workers = f"{self.workers} worker{'s' if self.workers > 1 else ''}"
        options = ", thinking charged" * self.charge_thinking + ", infeasible ones trained" * self.train_infeasible
        return f"{' or '.join(budget)} on {workers}{options}"

    def to_json(self) -> dict[str, Any]:
        """Everything, as a fragment's metadata stores it."""
        return asdict(self)

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Setup:
        """The inverse of `to_json`. Raises TypeError or KeyError for anything else."""
        known = facts["setting"]
        lists = {name: tuple(known.get(name, ())) for name in ("held_out", "maximised")}
        lists["bounds"] = tuple(known["bounds"])
        setting = Setting(**known | lists)
        parameters = tuple((name, value) for name, value in facts["parameters"])
        lists = {name: tuple(facts.get(name, ())) for name in ("metrics", "tuned_on")}
        return cls(**facts | lists | {"setting": setting, "parameters": parameters})


_OF_SETUP = ("method", "bench", "constraint")
"""Columns that are the same in every row of a setup, from its fields of those names."""


def schema(metrics: tuple[str, ...]) -> pa.Schema:
    """The columns of a fragment: public and stable, then one `metric.<name>` each."""
    of_setup = [(name, pa.string()) for name in _OF_SETUP]
    of_row = [(name, kind.column) for name, kind in _ROW.items() if name != "metrics"]
    of_metrics = [(f"metric.{name}", _ROW["metrics"].column) for name in metrics]
    return pa.schema([*of_setup, ("seed", pa.int64()), *of_row, ("run", pa.string()), *of_metrics])


LOG = pa.schema(
    [
        ("epoch", pa.int64()),
        ("quantity", pa.string()),
        ("value", pa.float64()),
        ("stage", pa.int64()),
        ("edge", pa.string()),
        ("choice", pa.string()),
        ("step", pa.int64()),
    ]
)
"""The columns of a search's log: a number a row, named by its quantity and by what it is about."""


def log_table(setup: Setup, trajectory: Trajectory) -> pa.Table:
    """A run's log, with columns that say of which run."""
    values = zip(*trajectory.log, strict=True) if trajectory.log else ([] for _ in LOG)
    own = [pa.array(column, field.type) for column, field in zip(values, LOG, strict=True)]
    ids = _identity(setup, [trajectory.seed], [len(trajectory.log)])
    return pa.table([*ids.values(), *own], names=[*ids, *LOG.names])


def to_table(setup: Setup, trajectories: list[Trajectory]) -> pa.Table:
    """The trajectories of one setup as columns, run after run."""
    columns = {name: np.concatenate([t.columns[name] for t in trajectories]) for name in _ROW}
    columns |= {f"metric.{name}": columns["metrics"][:, i] for i, name in enumerate(setup.metrics)}
    ids = _identity(setup, [t.seed for t in trajectories], [len(t) for t in trajectories])
    stored = schema(setup.metrics)
    arrays = [ids[c.name] if c.name in ids else pa.array(columns[c.name], c.type) for c in stored]
    return pa.table(arrays, schema=stored)


def tells_of(table: pa.Table, setup: Setup, seeds: list[int], rows: list[int]) -> bool:
    """Whether each row of a table says that it is of this setup, and of these runs, with so many rows each."""
    expected = _identity(setup, seeds, rows)
    return all(table[name].combine_chunks().equals(array) for name, array in expected.items())


def _identity(setup: Setup, seeds: list[int], rows: list[int]) -> dict[str, pa.Array]:
    """The columns that say of which run a row is."""
    of_setup = {name: pa.repeat(pa.scalar(getattr(setup, name), pa.string()), sum(rows)) for name in _OF_SETUP}
    runs = pa.array([setup.run_id(seed) for seed in seeds], pa.string())
    which = np.repeat(np.arange(len(seeds)), rows)
    return of_setup | {"seed": pa.array(np.repeat(np.array(seeds, np.int64), rows)), "run": runs.take(which)}
