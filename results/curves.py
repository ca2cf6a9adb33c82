"""A store's runs as dense arrays: what every statistic is a pure function of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from results.errors import StoreError
from results.fragment import Fragment, Torn
from results.store import Store
from results.trajectory import Cell

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Curves:
    """Incumbent and feasibility of every run after each of its evaluations; all runs follow one protocol.

    A setting is a benchmark under a constraint. Settings and methods are numbered by their order in `settings` and
    `methods`.
    """

    protocol: str
    settings: pd.DataFrame
    """A row a setting: bench, constraint, family, objective, unit, split, bounds, oracle, worst."""
    methods: tuple[str, ...]
    runs: pd.DataFrame
    """A row a run, in the order of the arrays: setting, method (their numbers), seed, evaluations, failure,
    failed_evaluations."""
    incumbent: Array
    """Best feasible objective after each evaluation, shape (runs, evaluations): NaN before the first feasible one; a
    run that ended early keeps its last."""
    feasible: NDArray[np.bool_]
    """Whether each evaluation was feasible, same shape; False past a run's end."""

    @property
    def evaluations(self) -> int:
        """Of the longest run."""
        return int(self.incumbent.shape[1])

    def of(self, setting: int, method: int) -> NDArray[np.intp]:
        """The rows of the runs of one method on one setting, in the order of their seeds."""
        runs = self.runs
        rows = np.flatnonzero((runs["setting"] == setting) & (runs["method"] == method))
        return rows[np.argsort(runs["seed"].to_numpy()[rows], kind="stable")]

    def padded(self) -> Array:
        """The incumbents, with the setting's worst value in place of NaN before the first feasible evaluation.

        The worst value is that of everything feasible in the table (c-TPE's protocol) or, where there is no table,
        the worst feasible incumbent that any run of the setting saw.
        """
        worst = self.settings["worst"].to_numpy(float, copy=True)
        setting = self.runs["setting"].to_numpy()
        for s in np.flatnonzero(np.isnan(worst)):
            seen = self.incumbent[setting == s]
            worst[s] = np.nanmax(seen) if np.isfinite(seen).any() else np.nan
        padded: Array = np.where(np.isnan(self.incumbent), worst[setting][:, None], self.incumbent)
        return padded


def load(store: Store, protocol: str | None = None) -> Curves:
    """Reads the runs of a store.

    Raises StoreError if there are none, or if they follow several protocols and `protocol` names none of them.
    """
    fragments = store.fragments()
    cells = {f.cell.id: f.cell for f in fragments}
    protocols = sorted({cell.protocol for cell in cells.values()})
    if not protocols:
        raise StoreError(f"{store.folder} holds no finished run: `nasbench status {store.folder}` says what is missing")
    if protocol is None and len(protocols) > 1:
        choices = "; ".join(f"--protocol '{p}'" for p in protocols)
        raise StoreError(f"{store.folder} mixes runs that must not be compared; choose one of {choices}")
    if protocol is not None and protocol not in protocols:
        raise StoreError(f"{store.folder} has no runs of protocol {protocol!r}; allowed: {'; '.join(protocols)}")
    chosen = protocol or protocols[0]
    fragments = [f for f in fragments if f.cell.protocol == chosen]
    _check_versions([f.cell for f in fragments])
    return _assemble(store, chosen, fragments)


def _check_versions(cells: list[Cell]) -> None:
    seen: dict[tuple[Any, ...], str] = {}
    for cell in cells:
        if seen.setdefault(cell.key, cell.id) != cell.id:
            raise StoreError(
                f"the store holds {cell.method} on {cell.bench} under {cell.constraint} from two versions of its data "
                "or code: give its `nasbench run` again, which sets the stale runs aside"
            )


def _assemble(store: Store, protocol: str, fragments: list[Fragment]) -> Curves:
    read = []
    for f in fragments:
        try:
            read.append((f, f.table(["incumbent", "feasible"])))
        except Torn as error:
            store.set_aside(f.path, str(error))
    if not any(f.runs for f, _ in read):
        raise StoreError(f"no run of {store.folder} is readable; `nasbench status {store.folder}` says why")
    order = sorted({(f.cell.setting.family, f.cell.bench, f.cell.constraint) for f, _ in read})
    setting_of = {(bench, constraint): i for i, (_, bench, constraint) in enumerate(order)}
    methods = tuple(sorted({f.cell.method for f, _ in read}))
    settings: dict[int, dict[str, Any]] = {}
    runs: list[dict[str, Any]] = []
    parts: list[tuple[Array, NDArray[np.bool_]]] = []
    for f, table in read:
        number = setting_of[f.cell.bench, f.cell.constraint]
        settings[number] = {"bench": f.cell.bench, "constraint": f.cell.constraint, **vars(f.cell.setting)}
        incumbent, feasible = table["incumbent"].to_numpy(), table["feasible"].to_numpy()
        end = 0
        for run in f.runs:
            start, end = end, end + run.rows
            evaluations = run.rows - bool(run.failure)  # the closing row of a failed run is no evaluation
            own = slice(start, start + evaluations)
            parts.append((incumbent[own], feasible[own]))
            facts = {"seed": run.seed, "evaluations": evaluations, "failure": run.failure}
            method = methods.index(f.cell.method)
            runs.append({"setting": number, "method": method, **facts, "failed_evaluations": run.failed_evaluations})
    width = max(1, *(len(values) for values, _ in parts))
    incumbents = np.full((len(parts), width), np.nan)
    feasibles = np.zeros((len(parts), width), bool)
    for row, (values, flags) in enumerate(parts):
        incumbents[row, : len(values)], feasibles[row, : len(values)] = values, flags
        if len(values):
            incumbents[row, len(values) :] = values[-1]
    frame = pd.DataFrame([settings[i] for i in range(len(order))])
    known = ["oracle", "worst", "feasible_share"]
    frame[known] = frame[known].astype(float)
    return Curves(protocol, frame, methods, pd.DataFrame(runs), incumbents, feasibles)
