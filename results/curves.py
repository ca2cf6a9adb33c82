"""A store's runs as dense arrays: what every statistic is a pure function of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nasbench.results.errors import StoreError
from nasbench.results.store import Store
from nasbench.results.store.fragment import Fragment, Torn
from nasbench.results.store.trajectory import Cell

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curves:
    """Incumbent and feasibility of every run after each of its evaluations; all runs follow one protocol.

    A setting is a benchmark under a constraint. Settings and methods are numbered by their order in `settings` and
    `methods`.
    """

    protocol: str
    settings: pd.DataFrame
    """A row a setting: bench, constraint, and the fields of `trajectory.Setting`."""
    methods: tuple[str, ...]
    runs: pd.DataFrame
    """A row a run, in the order of the arrays: setting, method (their numbers), seed, evaluations, failure,
    failed_evaluations; and `held_out` (dict: metric of a test split → its value at the run's last incumbent)."""
    incumbent: Array
    """Best feasible objective after each evaluation, shape (runs, evaluations): NaN before the first feasible one; a
    run that ended early keeps its last."""
    feasible: NDArray[np.bool_]
    """Whether each evaluation was feasible, same shape; False past a run's end."""
    finished: Array
    """Seconds on the run's clock when each evaluation finished, same shape, ascending; infinite past a run's end."""

    @property
    def evaluations(self) -> int:
        """Of the longest run."""
        return int(self.incumbent.shape[1])

    @cached_property
    def reached(self) -> NDArray[np.intp]:
        """Evaluations of the longest run of each setting, shape (settings,), at least 1."""
        longest: NDArray[np.intp] = np.ones(len(self.settings), np.intp)
        np.maximum.at(longest, self.runs["setting"].to_numpy(), self.runs["evaluations"].to_numpy())
        return longest

    @property
    def families(self) -> int:
        """Benchmark families behind the settings: settings of one family are not independent."""
        return int(self.settings["family"].nunique())

    @cached_property
    def groups(self) -> dict[tuple[int, int], NDArray[np.intp]]:
        """The rows of the runs of each (setting, method) that has any, in the order of their seeds."""
        setting, method, seed = (self.runs[name].to_numpy() for name in ("setting", "method", "seed"))
        order = np.lexsort((seed, method, setting))
        keys = setting[order] * len(self.methods) + method[order]
        parts = np.split(order, np.flatnonzero(np.diff(keys)) + 1)
        return {(int(setting[rows[0]]), int(method[rows[0]])): rows for rows in parts}

    @property
    def seeds(self) -> str:
        """How many runs each method has on each setting, for people: one number, or a range."""
        counts = sorted(map(len, self.groups.values()))
        return f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"

    @property
    def complete(self) -> list[int]:
        """Settings that every method has a run on, with anything feasible in them."""
        methods = range(len(self.methods))
        known = np.isfinite(self.worst)
        return [s for s in range(len(self.settings)) if known[s] and all((s, m) in self.groups for m in methods)]

    @cached_property
    def worst(self) -> Array:
        """What stands in for an incumbent before the first feasible evaluation, shape (settings,).

        The worst value of everything feasible in the table (c-TPE's protocol) or, where there is no table, the worst
        feasible incumbent that any run of the setting saw.
        """
        worst: Array = self.settings["worst"].to_numpy(float, copy=True)
        setting = self.runs["setting"].to_numpy()
        for s in np.flatnonzero(np.isnan(worst)):
            seen = self.incumbent[setting == s]
            worst[s] = np.nanmax(seen) if np.isfinite(seen).any() else np.nan
        return worst

    @cached_property
    def padded(self) -> Array:
        """The incumbents, with the setting's worst value in place of NaN before the first feasible evaluation."""
        worst = self.worst[self.runs["setting"].to_numpy()]
        padded: Array = np.where(np.isnan(self.incumbent), worst[:, None], self.incumbent)
        return padded


def select(stores: Sequence[Store], protocol: str | None = None) -> list[tuple[Store, Fragment]]:
    """The fragments of some stores whose runs follow one protocol, and the store of each; references are left out.

    Raises StoreError if there are none, or they follow several protocols and `protocol` names none of them.
    """
    names = " and ".join(str(store.folder) for store in stores)
    every = [(store, f) for store in stores for f in store.fragments()]
    found = [(store, f) for store, f in every if not f.cell.setting.reference] or every
    protocols = sorted({f.cell.protocol for _, f in found})
    if not protocols:
        raise StoreError(f"{names} holds no finished run: `nasbench status {names}` says what is missing")
    if protocol is None and len(protocols) > 1:
        choices = "; ".join(f"--protocol '{p}'" for p in protocols)
        raise StoreError(f"{names} mixes runs that must not be compared; choose one of {choices}")
    if protocol is not None and protocol not in protocols:
        raise StoreError(f"{names} has no runs of protocol {protocol!r}; allowed: {'; '.join(protocols)}")
    chosen = [(store, f) for store, f in found if f.cell.protocol == (protocol or protocols[0])]
    _check_versions([f.cell for _, f in chosen])
    return chosen


def references(stores: Sequence[Store]) -> list[Curves]:
    """The runs of single networks, which stand beside searches for orientation: one entry a protocol."""
    found: dict[str, list[tuple[Store, Fragment]]] = {}
    for store in stores:
        for f in store.fragments():
            if f.cell.setting.reference:
                found.setdefault(f.cell.protocol, []).append((store, f))
    return [load(fragments) for _, fragments in sorted(found.items())]


def load(fragments: Sequence[tuple[Store, Fragment]]) -> Curves:
    """Reads the runs of some fragments (`select`); a run that lies in two of them counts once.

    Raises StoreError if none is readable.
    """
    read = []
    for store, f in fragments:
        held_out = f.cell.setting.held_out
        try:
            table = f.table(["incumbent", "feasible", "finished", *(f"metric.{name}" for name in held_out)])
        except Torn as error:
            store.set_aside(f.path, str(error))
            continue
        read.append((f, {name: table[name].to_numpy() for name in table.column_names}))
    if not any(f.runs for f, _ in read):
        raise StoreError("no run of these stores is readable: `nasbench status STORE` says why")
    order = sorted({(f.cell.setting.family, f.cell.bench, f.cell.constraint) for f, _ in read})
    setting_of = {(bench, constraint): i for i, (_, bench, constraint) in enumerate(order)}
    methods = tuple(sorted({f.cell.method for f, _ in read}))
    settings: dict[int, dict[str, Any]] = {}
    runs: dict[tuple[str, int], dict[str, Any]] = {}
    parts: list[tuple[dict[str, NDArray[Any]], slice]] = []
    for f, columns in read:
        number = setting_of[f.cell.bench, f.cell.constraint]
        known = {name: value for name, value in vars(f.cell.setting).items() if value is not None}
        # Runs made by earlier versions of this project know less of the same setting.
        setting = settings.setdefault(number, {"bench": f.cell.bench, "constraint": f.cell.constraint})
        setting.update(dict.fromkeys(vars(f.cell.setting).keys() - setting.keys()) | known)
        end = 0
        for run in f.runs:
            start, end = end, end + run.rows
            if (f.cell.id, run.seed) in runs:
                continue
            own = slice(start, end - bool(run.failure))  # the closing row of a failed run is no evaluation
            parts.append((columns, own))
            runs[f.cell.id, run.seed] = {
                "setting": number,
                "method": methods.index(f.cell.method),
                "seed": run.seed,
                "evaluations": own.stop - own.start,
                "failure": run.failure,
                "failed_evaluations": run.failed_evaluations,
                "held_out": _at_incumbent(columns, own, f.cell.setting.held_out),
            }
    frame = pd.DataFrame([settings[i] for i in range(len(order))])
    numbers = ["oracle", "worst", "feasible_share", "median", "noise"]
    frame[numbers] = frame[numbers].astype(float)
    return Curves(fragments[0][1].cell.protocol, frame, methods, pd.DataFrame(list(runs.values())), *_dense(parts))


def _dense(parts: list[tuple[dict[str, NDArray[Any]], slice]]) -> tuple[Array, NDArray[np.bool_], Array]:
    """Incumbent, feasible and finished of runs of different lengths, as `Curves` has them."""
    width = max(1, *(own.stop - own.start for _, own in parts))
    incumbent = np.full((len(parts), width), np.nan)
    feasible = np.zeros((len(parts), width), bool)
    finished = np.full((len(parts), width), np.inf)
    for row, (columns, own) in enumerate(parts):
        length = own.stop - own.start
        incumbent[row, :length] = columns["incumbent"][own]
        feasible[row, :length] = columns["feasible"][own]
        finished[row, :length] = columns["finished"][own]
        if length:
            incumbent[row, length:] = incumbent[row, length - 1]
    return incumbent, feasible, finished


def _at_incumbent(columns: dict[str, NDArray[Any]], own: slice, held_out: tuple[str, ...]) -> dict[str, float]:
    """Metrics of a test split where the last incumbent was found; nothing if none was."""
    incumbent = columns["incumbent"][own]
    if not held_out or not len(incumbent) or np.isnan(incumbent[-1]):
        return {}
    row = own.start + int(np.argmax(incumbent == incumbent[-1]))
    return {name: float(columns[f"metric.{name}"][row]) for name in held_out}


def _check_versions(cells: list[Cell]) -> None:
    seen: dict[tuple[Any, ...], str] = {}
    data: dict[str, str] = {}
    for cell in cells:
        if data.setdefault(cell.bench, cell.data) != cell.data:
            raise StoreError(
                f"there are runs on two versions of the data of {cell.bench}, which must not be compared: give their "
                "`nasbench run` again, which sets the stale runs aside (`nasbench status` names them)"
            )
        if seen.setdefault(cell.key, cell.id) != cell.id:
            raise StoreError(
                f"there are runs of {cell.method} on {cell.bench} under {cell.constraint} from two versions of its "
                "code: give their `nasbench run` again, which sets the stale runs aside"
            )
