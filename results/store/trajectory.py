"""The trajectory of a run: one row per evaluation, in the order in which evaluations finish."""

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

from nasbench.base.metrics import Scale

SCHEMA_VERSION = 5
"""Version of the columns, of the metadata below, and of how streams are derived; part of a run's identity. No other one
is read."""


ELSEWHERE = "elsewhere"
"""`Setup.data` of runs that were made elsewhere (`nasbench import runs`): what they ran on is not here."""

HYPERVOLUME = "hypervolume"
"""The metric that the harness adds to runs with several objectives: the share of the attainable hypervolume that the
run's evaluations dominate, this row included, by the table's means. NaN before the first evaluation that is feasible by
its means, and where no table knows the exact front."""

MEAN_OF = "mean."
"""The beginning of the names of further metrics that the harness adds to such runs, one per objective: its mean over
the table's repetitions of this row's configuration."""


class Row(NamedTuple):
    """One evaluation of a run. Times are seconds on the run's clock, except `thinking`."""

    evaluation: int
    """Number from 1, in the order in which evaluations finish and the method is told."""
    worker: int
    """Number from 0."""
    configuration: str | None
    """JSON of names and values; None in the closing row of a run whose method failed to propose one."""
    objective: float
    """The observed objective, the first of several."""
    feasible: bool
    incumbent: float
    """Best feasible objective so far, this row included, among rows at the highest level that a feasible one has
    reached; NaN before the first feasible row. With several objectives: 1 - the share of the attainable hypervolume
    that the observed values of all feasible full evaluations so far dominate (see `HYPERVOLUME`)."""
    started: float
    finished: float
    thinking: float
    """Measured seconds of the method for this row's ask and tell; on the clock only with --charge-thinking."""
    status: str
    """ok, failed, or infeasible (refused before training)."""
    reason: str
    metrics: tuple[float, ...]
    """Every metric of the benchmark, in the setup's order. If the status is not ok, metrics that are not known before
    training are NaN."""
    score: float = math.nan
    """Objective of this row's configuration as the mean over the table's repetitions; never told to a method. NaN on
    live benchmarks, for configurations that the table lacks, and with several objectives."""
    score_feasible: bool | None = None
    """Whether this row's configuration satisfies the constraints by the means over the table's repetitions; None if the
    benchmark has no means."""
    trial: int = 0
    """Number of the training that this row belongs to, from 0: the number of the ask that began it."""
    level: int = 1
    """Level of the benchmark's fidelity up to which it was trained; 1 if the benchmark has no fidelity."""
    cost: float = math.nan
    """Seconds of this evaluation; for a continued training, of the additional part only."""
    spent: float = math.nan
    """Training used by the run so far, this row included, in full evaluations; a refused one uses none."""
    hidden: float = math.nan
    """Objective of the incumbent in the repetition that is hidden from the run . NaN if there is
    no incumbent, if its training fails, and where none is hidden."""
    hidden_feasible: bool | None = None
    """Whether the incumbent satisfies the constraints by the same repetitions; False if that training fails, None if
    `hidden` is NaN for another reason."""


@dataclass(frozen=True)
class Trajectory:
    """All rows of one run, and its end."""

    seed: int
    columns: dict[str, NDArray[Any]]
    """One array per field of `Row`, all of the same length; `metrics` has a second axis."""
    failure: str
    """The reason why the method stopped before the end of its budget; empty if it did not."""
    began: str
    """Wall-clock time at the start, ISO 8601, UTC."""
    ended: str
    """Wall-clock time at the end."""
    log: Sequence[tuple[Any, ...]] = ()
    """The search log: rows of the columns `LOG`; empty for most methods."""

    def __len__(self) -> int:
        return len(self.columns["evaluation"])


class _Kind(NamedTuple):
    """The type of a field in memory and in files."""

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
"""The types of the fields of `Row`, which are the columns of a trajectory."""


def are_refused(spent: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows of a run were refused at no part of its budget, from its column `spent`; shape (rows,)."""
    refused: NDArray[np.bool_] = np.diff(spent, prepend=0.0) == 0
    return refused


def to_columns(rows: list[Row], metrics: int) -> dict[str, NDArray[Any]]:
    """The columns of a trajectory from its rows, each with the given number of metrics."""
    values = zip(*rows, strict=True) if rows else ([] for _ in _ROW)
    columns = {name: np.array(v, kind.array) for (name, kind), v in zip(_ROW.items(), values, strict=True)}
    return columns | {"metrics": columns["metrics"].reshape(len(rows), metrics)}


@dataclass(frozen=True)
class Setting:
    """The facts of a benchmark under a constraint that a report needs; it never uses the benchmark itself."""

    family: str
    objective: str
    unit: str
    split: str
    """The data split of the objective."""
    bounds: tuple[str, ...]
    """The constraints as resolved on the benchmark, for display: `model_size <= 0.101306 M parameters`."""
    oracle: float | None
    """Best feasible objective; None if unknown."""
    worst: float | None
    """Worst feasible objective, which replaces the incumbent before the first feasible evaluation; None if unknown."""
    feasible_share: float | None
    """Feasible share of the table's rows, in [0, 1]; None if unknown."""
    median: float | None = None
    """Median feasible objective; None if unknown."""
    noise: float | None = None
    """Repetition noise: standard deviation of the objective between repetitions of a good configuration; None if
    unknown."""
    score_oracle: float | None = None
    """Best mean of all configurations that are feasible by their means; None if unknown."""
    score_worst: float | None = None
    """Worst mean of all configurations that are feasible by their means; None if unknown."""
    test_metrics: tuple[str, ...] = ()
    """Metrics of a test split: reported at the incumbent, never selected on."""
    reference: bool = False
    """Whether the benchmark is a single network, listed separately for orientation."""
    highest: int = 1
    """The highest level of the benchmark's fidelity; 1 if it has none."""
    maximised: tuple[str, ...] = ()
    """Metrics to maximise."""
    space: str = ""
    """Name of the search space with its training code."""
    sealed: bool = False
    """Whether the space is sealed: no default of a method may be chosen on it."""
    caution: str = ""
    """A limit of what the benchmark's scores say, as a clause; empty if there is none."""
    scales: tuple[Scale, ...] = ()
    """The scale of each of several objectives; empty for one."""
    front: tuple[tuple[float, ...], ...] = ()
    """The exact feasible front of several objectives: the mean of each objective at each of its points, in the metrics'
    units. Empty if it is unknown, and for one objective."""


NUMBERS = tuple(field.name for field in fields(Setting) if field.type == "float | None")
"""The facts of a setting that are numbers, or unknown."""


@dataclass(frozen=True)
class Setup:
    """Everything that determines a run except its seed: a method, a benchmark, a constraint, and the protocol."""

    method: str
    """Canonical label: the name, with the options that differ from their defaults."""
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
    """Names of the benchmark's metrics, in the order of `Row.metrics`; with several objectives also those that
    the harness adds (`HYPERVOLUME`, `MEAN_OF`)."""
    setting: Setting
    initial: int = 0
    """Number of random configurations before the method uses its observations."""
    tuned_on: tuple[str, ...] = ()
    """Search spaces on which a default of the method was chosen."""
    train_infeasible: bool = False
    """Whether live configurations are trained that violate a constraint known before training."""
    objectives: tuple[str, ...] = ()
    """Names of the metrics to optimise, if there are several; empty for the benchmark's own objective."""

    @property
    def is_elsewhere(self) -> bool:
        """Whether its runs were made elsewhere: nobody can compute them again here."""
        return self.data == ELSEWHERE

    @property
    def title(self) -> str:
        """Method, benchmark and constraint, for messages."""
        return f"{self.method} on {self.bench}, {self.constraint}"

    @property
    def key(self) -> tuple[Any, ...]:
        """The user's request, without the versions of data and code."""
        return (
            self.method,
            self.bench,
            self.constraint,
            self.evals,
            self.seconds,
            self.workers,
            self.charge_thinking,
            self.train_infeasible,
            self.objectives,
        )

    @cached_property
    def id(self) -> str:
        """Hash of everything that determines the trajectories of this setup."""
        consequences = {"setting", "metrics", "initial", "tuned_on"}  # of the others
        facts = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in consequences}
        facts["schema"] = SCHEMA_VERSION
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def sign(self) -> int:
        """1; -1 if `objective` is to be maximised, as the first of several may be: sign · objective is minimised."""
        return -1 if self.objectives and self.objectives[0] in self.setting.maximised else 1

    def run_id(self, seed: int) -> str:
        """The identity of a run of this setup."""
        return hashlib.sha256(f"{self.id}:{seed}".encode()).hexdigest()[:16]

    @property
    def protocol(self) -> str:
        """Budget and workers as text; runs that differ here must not be compared."""
        budget = [f"{self.evals} evaluation{'s' if self.evals > 1 else ''}"] if self.evals is not None else []
        budget += [f"{str(self.seconds).removesuffix('.0')} seconds"] if self.seconds is not None else []
        workers = f"{self.workers} worker{'s' if self.workers > 1 else ''}"
        options = ", thinking charged" * self.charge_thinking + ", infeasible ones trained" * self.train_infeasible
        options += f", {len(self.objectives)} objectives" if self.objectives else ""
        return f"{' or '.join(budget)} on {workers}{options}"

    def to_json(self) -> dict[str, Any]:
        """All fields, as in a fragment's metadata."""
        return asdict(self)

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Setup:
        """The inverse of `to_json`. Raises TypeError or KeyError for anything else."""
        known = facts["setting"]
        lists = {name: tuple(known[name]) for name in ("bounds", "test_metrics", "maximised")}
        front, scales = tuple(map(tuple, known["front"])), tuple(Scale(*scale) for scale in known["scales"])
        setting = Setting(**known | lists | {"front": front, "scales": scales})
        parameters = tuple((name, value) for name, value in facts["parameters"])
        lists = {name: tuple(facts[name]) for name in ("metrics", "tuned_on", "objectives")}
        return cls(**facts | lists | {"setting": setting, "parameters": parameters})


_OF_SETUP = ("method", "bench", "constraint")
"""Columns with the same value in every row of a setup, from its fields of these names."""


def schema(metrics: tuple[str, ...]) -> pa.Schema:
    """The columns of a fragment: the public and stable ones, then one `metric.<name>` per metric."""
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
"""The columns of a search log: one number per row, with its quantity and what it describes."""


def incumbent_steps(
    incumbent: NDArray[np.float64], feasible: NDArray[np.bool_], level: NDArray[np.int64], lengths: Sequence[int]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Whether runs have another incumbent after each row than before it, and the highest feasible level until then.

    An incumbent at a higher level is another one, even with the same value.

    Args:
        incumbent: its value after each row, NaN if there is none, shape (rows,); like `feasible` and `level`, of runs
            with `lengths` rows, one after the other.
    """
    run = np.repeat(np.arange(len(lengths)), lengths)
    before = run * (level.max(initial=0) + 1)  # an offset per run: the cumulative maximum restarts with each run
    top = np.maximum.accumulate(np.where(feasible, level, 0) + before) - before
    is_new = ~np.isnan(incumbent)
    same = (run[1:] == run[:-1]) & (incumbent[1:] == incumbent[:-1]) & (top[1:] == top[:-1])
    is_new[1:] &= ~same
    return is_new, top


def log_arrays(log: Sequence[tuple[Any, ...]]) -> list[pa.Array]:
    """The columns `LOG` of rows of a log. Raises an error of PyArrow for a value of another type."""
    values = zip(*log, strict=True) if log else ([] for _ in LOG)
    return [pa.array(column, field.type) for column, field in zip(values, LOG, strict=True)]


def log_table(setup: Setup, trajectory: Trajectory) -> pa.Table:
    """A run's search log, with columns that identify the run."""
    ids = _identity(setup, [trajectory.seed], [len(trajectory.log)])
    return pa.table([*ids.values(), *log_arrays(trajectory.log)], names=[*ids, *LOG.names])


def to_table(setup: Setup, trajectories: list[Trajectory]) -> pa.Table:
    """The trajectories of one setup as columns, run after run."""
    columns = {name: np.concatenate([t.columns[name] for t in trajectories]) for name in _ROW}
    columns |= {f"metric.{name}": columns["metrics"][:, i] for i, name in enumerate(setup.metrics)}
    ids = _identity(setup, [t.seed for t in trajectories], [len(t) for t in trajectories])
    stored = schema(setup.metrics)
    arrays = [ids[c.name] if c.name in ids else pa.array(columns[c.name], c.type) for c in stored]
    return pa.table(arrays, schema=stored)


def identifies(table: pa.Table, setup: Setup, seeds: list[int], rows: list[int]) -> bool:
    """Whether the identity columns of a table are those of a setup's runs, with the given numbers of rows."""
    expected = _identity(setup, seeds, rows)
    return all(table[name].combine_chunks().equals(array) for name, array in expected.items())


def _identity(setup: Setup, seeds: list[int], rows: list[int]) -> dict[str, pa.Array]:
    """The columns that identify the run of each row."""
    of_setup = {name: pa.repeat(pa.scalar(getattr(setup, name), pa.string()), sum(rows)) for name in _OF_SETUP}
    runs = pa.array([setup.run_id(seed) for seed in seeds], pa.string())
    which = np.repeat(np.arange(len(seeds)), rows)
    return of_setup | {"seed": pa.array(np.repeat(np.array(seeds, np.int64), rows)), "run": runs.take(which)}
