"""A store's runs as dense arrays: what every statistic is a pure function of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from numpy.typing import NDArray

from nasbench.results.errors import StoreError
from nasbench.results.selection import EVERYTHING, Selection, check_versions
from nasbench.results.store import Store
from nasbench.results.store.fragment import Fragment, Torn
from nasbench.results.store.trajectory import Cell, Score
from nasbench.results.store.under_way import under_way

Array: TypeAlias = NDArray[np.float64]
_COLUMNS = ("incumbent", "feasible", "finished", "score", "score_feasible")
_OF_LEVELS = ("level", "spent")


@dataclass(frozen=True, eq=False)
class Curves:
    """Incumbent and feasibility of every run after each of its evaluations; all runs follow one protocol.

    Of a method that chooses how long to train, an evaluation is a whole evaluation's worth of levels, in any parts:
    the arrays have its state when that much has been used. Before anything is trained to the end no observed value is a
    final one: the incumbent counts by its score where the table knows it, and else as nothing.

    A setting is a benchmark under a constraint. Settings and methods are numbered by their order in `settings` and
    `methods`. Which configuration is the incumbent is decided by what was observed; what it is worth is another
    question (`score`), so a value may rise where a lucky repetition replaced a better configuration.
    """

    protocol: str
    score: Score
    """What `incumbent` is."""
    seconds: float | None
    """The budget, where it is in seconds alone: then everything is compared at equal seconds; None otherwise."""
    settings: pd.DataFrame
    """A row a setting: bench, constraint, and the fields of `trajectory.Setting`."""
    methods: tuple[str, ...]
    runs: pd.DataFrame
    """A row a run, in the order of the arrays: setting, method (their numbers), seed, evaluations, failure,
    failed_evaluations; `held_out` (dict: metric of a test split → its value at the run's last incumbent); and of all
    that was evaluated, whole or in part: rows, feasible_rows, first_feasible and first_seconds (evaluations, the last
    one perhaps in part, and seconds on the run's clock until the first feasible row; infinite where there is none)."""
    observed: Array
    """Best feasible objective seen after each evaluation, shape (runs, evaluations): NaN before the first feasible one;
    a run that ended early keeps its last."""
    mean: Array
    """The score of that incumbent, same shape: NaN also where it violates the constraints in the mean. What was
    observed where no mean is known, as on live benchmarks."""
    feasible: NDArray[np.bool_]
    """Whether each evaluation was feasible, same shape (of those in parts the last part); False past a run's end."""
    finished: Array
    """Seconds on the run's clock when each evaluation finished, same shape, ascending; infinite past a run's end."""
    labels: tuple[str, ...] = ()
    """What people call the methods, in their order; empty where that is their names."""

    @property
    def incumbent(self) -> Array:
        """What the incumbent after each evaluation is worth, shape (runs, evaluations); NaN where there is none."""
        return self.mean if self.score == "mean" else self.observed

    @property
    def names(self) -> tuple[str, ...]:
        """The methods as people read them: their labels, or else their names with options."""
        return self.labels or self.methods

    def scored(self, score: Score) -> Curves:
        """The same runs by another score."""
        return replace(self, score=score)

    @property
    def has_means(self) -> bool:
        """Whether score and observed value differ anywhere."""
        return self.mean is not self.observed

    @cached_property
    def oracle(self) -> Array:
        """The best that an incumbent can be worth, shape (settings,); NaN where unknown."""
        return self._of_score("oracle")

    def _of_score(self, name: str) -> Array:
        plain = self.settings[name].to_numpy(float)
        means = self.settings[f"score_{name}"].to_numpy(float)
        return plain.copy() if self.score == "observed" else np.where(np.isnan(means), plain, means)

    @property
    def evaluations(self) -> int:
        """Evaluations of the longest run."""
        return int(self.incumbent.shape[1])

    @property
    def unit(self) -> str:
        """What points of comparison count: evaluations, or seconds where the budget is in seconds."""
        return "evaluations" if self.seconds is None else "seconds"

    @property
    def end(self) -> float:
        """The end of the budget, in `unit`."""
        return float(self.evaluations) if self.seconds is None else self.seconds

    def at(self, points: Sequence[float] | Array, rows: NDArray[np.intp] | None = None) -> Array:
        """What incumbents are worth at some points, in `unit`: shape (runs, points).

        Args:
            rows: of the runs; by default all.
        """
        every = np.arange(len(self.runs)) if rows is None else rows
        wanted = np.asarray(points, float)
        if self.seconds is None:
            found: Array = self.incumbent[np.ix_(every, wanted.astype(np.intp) - 1)]
            return found
        return self._at_seconds(every, np.broadcast_to(wanted, (len(every), len(wanted))))

    def _at_seconds(self, rows: NDArray[np.intp], times: Array) -> Array:
        """The incumbents of some runs at times of their own, shape (rows, times); NaN before the first evaluation."""
        clocks = self.finished[rows]
        counts = np.array([np.searchsorted(own, t, side="right") for own, t in zip(clocks, times, strict=True)])
        found: Array = np.take_along_axis(self.incumbent[rows], np.maximum(counts - 1, 0), axis=1)
        return np.where(counts > 0, found, np.nan)

    @cached_property
    def horizons(self) -> Array:
        """Seconds until which most runs of every method still search, shape (settings,); NaN where there are none.

        The shortest, over methods, of the median duration of a run; runs that stopped early do not set it.
        """
        ends = np.max(np.where(np.isfinite(self.finished), self.finished, 0.0), axis=1)
        whole = (self.runs["failure"] == "").to_numpy()
        found = np.full(len(self.settings), np.inf)
        for (setting, _), runs in self.groups.items():
            own = ends[runs[whole[runs]]]
            if len(own):
                found[setting] = min(found[setting], float(np.median(own)))
        return np.where((found > 0) & np.isfinite(found), found, np.nan)

    def at_shares(self, shares: Array) -> Array:
        """The incumbent of every run at shares of its setting's horizon: shape (runs, shares)."""
        times = self.horizons[self.runs["setting"].to_numpy()][:, None] * shares
        return self._at_seconds(np.arange(len(self.runs)), np.where(np.isnan(times), -1.0, times))

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
        """Settings that every method has a run on."""
        methods = range(len(self.methods))
        return [s for s in range(len(self.settings)) if all((s, m) in self.groups for m in methods)]

    @cached_property
    def worst(self) -> Array:
        """What stands in for an incumbent before the first feasible evaluation, shape (settings,).

        The worst value of everything feasible in the table (c-TPE's protocol) or, where there is no table, the worst
        feasible incumbent that any run of the setting saw.
        """
        worst = self._of_score("worst")
        setting = self.runs["setting"].to_numpy()
        for s in np.flatnonzero(np.isnan(worst)):
            seen = self.incumbent[setting == s]
            worst[s] = np.nanmax(seen) if np.isfinite(seen).any() else np.nan
        return worst

    def padded(self, values: Array) -> Array:
        """Values of every run, shape (runs, points), with the setting's worst in place of NaN."""
        worst = self.worst[self.runs["setting"].to_numpy()]
        found: Array = np.where(np.isnan(values), worst[:, None], values)
        return found


def select(
    stores: Sequence[Store],
    protocol: str | None = None,
    selection: Selection = EVERYTHING,
    partial: bool = False,
) -> list[tuple[Store, Fragment]]:
    """The selected fragments of some stores, of one protocol, and the store of each; references are left out.

    Args:
        partial: take runs that are under way too, if they have finished a whole evaluation.

    Raises StoreError if there are none, or they follow several protocols and `protocol` names none of them.
    """
    names = " and ".join(str(store.folder) for store in stores)
    every = [(store, f) for store in stores for f in store.fragments()]
    begun = [(store, run.fragment()) for store in stores for run in under_way(store) if run.spent >= 1]
    every += begun if partial else []
    found = [(store, f) for store, f in every if not f.cell.setting.reference] or every
    found = selection.of(found)
    protocols = sorted({f.cell.protocol for _, f in found})
    if not protocols:
        advice = f"; --partial reports the {len(begun)} under way" if begun else ""
        raise StoreError(f"{names} holds no finished run: `nasbench status {names}` says what is missing{advice}")
    if protocol is None and len(protocols) > 1:
        choices = "; ".join(f"--protocol '{p}'" for p in protocols)
        raise StoreError(f"{names} mixes runs that must not be compared; choose one of {choices}")
    if protocol is not None and protocol not in protocols:
        raise StoreError(f"{names} has no runs of protocol {protocol!r}; allowed: {'; '.join(protocols)}")
    chosen = [(store, f) for store, f in found if f.cell.protocol == (protocol or protocols[0])]
    check_versions([f.cell for _, f in chosen])
    return chosen


def references(stores: Sequence[Store], score: Score = "mean") -> list[Curves]:
    """The runs of single networks, which stand beside searches for orientation: one entry a protocol."""
    found: dict[str, list[tuple[Store, Fragment]]] = {}
    for store in stores:
        for f in store.fragments():
            if f.cell.setting.reference:
                found.setdefault(f.cell.protocol, []).append((store, f))
    return [load(fragments, score) for _, fragments in sorted(found.items())]


def load(fragments: Sequence[tuple[Store, Fragment]], score: Score = "mean") -> Curves:
    """Reads the runs of some fragments (`select`); a run that lies in two of them counts once.

    Raises StoreError if none is readable.
    """
    read = []
    for store, f in fragments:
        held_out = f.cell.setting.held_out
        try:
            levels = _OF_LEVELS if f.cell.setting.highest > 1 else ()
            table = f.table([*_COLUMNS, *levels, *(f"metric.{name}" for name in held_out)])
        except Torn as error:
            store.set_aside(f.path, str(error))
            continue
        columns = {name: table[name].to_numpy() for name in table.column_names if name != "score_feasible"}
        if "score_feasible" in table.column_names:  # stores of the first schema have no scores
            columns["violates"] = pc.fill_null(pc.invert(table["score_feasible"]), False).to_numpy()
        read.append((f, columns | _incumbents(columns, [run.rows for run in f.runs], f.cell.setting.highest)))
    if not any(f.runs for f, _ in read):
        raise StoreError("no run of these stores is readable: `nasbench status STORE` says why")
    order = sorted({(f.cell.setting.family, f.cell.bench, f.cell.constraint) for f, _ in read})
    setting_of = {(bench, constraint): i for i, (_, bench, constraint) in enumerate(order)}
    methods = tuple(sorted({f.cell.method for f, _ in read}))
    settings: dict[int, dict[str, Any]] = {}
    runs: dict[tuple[str, int], dict[str, Any]] = {}
    parts: list[_Run] = []
    for f, columns in read:
        number = setting_of[f.cell.bench, f.cell.constraint]
        known = {name: value for name, value in vars(f.cell.setting).items() if value is not None}
        # Runs made by earlier versions of this project know less of the same setting.
        setting = settings.setdefault(number, {"bench": f.cell.bench, "constraint": f.cell.constraint})
        setting.update({name: None for name in vars(f.cell.setting) if name not in setting} | known)
        end = 0
        for run in f.runs:
            start, end = end, end + run.rows
            if (f.cell.id, run.seed) in runs:
                continue
            own = slice(start, end - bool(run.failure))  # the closing row of a failed run is no evaluation
            found = _Run.of(columns, own, f.cell)
            parts.append(found)
            runs[f.cell.id, run.seed] = {
                "setting": number,
                "method": methods.index(f.cell.method),
                "seed": run.seed,
                "evaluations": len(found.finished),
                "failure": run.failure,
                "failed_evaluations": run.failed_evaluations,
                "held_out": found.held_out,
                **found.feasibility,
            }
    frame = pd.DataFrame([settings[i] for i in range(len(order))])
    numbers = ["oracle", "worst", "score_oracle", "score_worst", "feasible_share", "median", "noise"]
    frame[numbers] = frame[numbers].astype(float)
    cell = fragments[0][1].cell
    seconds = cell.seconds if cell.evals is None else None
    table = pd.DataFrame(list(runs.values()))
    return Curves(cell.protocol, score, seconds, frame, methods, table, *_dense(parts))


@dataclass(frozen=True)
class _Run:
    """One run after each of its evaluations: every array of shape (evaluations,), as `Curves` describes them."""

    observed: Array
    mean: Array | None
    """None where no mean is known."""
    feasible: NDArray[np.bool_]
    finished: Array
    held_out: dict[str, float]
    feasibility: dict[str, float]
    """The columns of `Curves.runs` about it."""

    @classmethod
    def of(cls, columns: dict[str, NDArray[Any]], own: slice, cell: Cell) -> _Run:
        """Reads the rows `own` of a fragment's columns."""
        observed: Array = columns["observed"][own]
        feasible: NDArray[np.bool_] = columns["feasible"][own]
        finished: Array = columns["finished"][own]
        # None where no mean is known at all, as on live benchmarks.
        mean: Array | None = columns["mean"][own] if "mean" in columns and columns["scored"][own].any() else None
        held_out = {}
        if cell.setting.held_out and len(observed) and not np.isnan(observed[-1]):
            row = columns["row"][own][-1]
            held_out = {n: float(columns[f"metric.{n}"][row]) for n in cell.setting.held_out}
        in_parts = "level" in columns and bool((columns["level"][own] < cell.setting.highest).any())
        spent: Array = np.ceil(columns["spent"][own]) if in_parts else np.arange(1.0, len(observed) + 1)
        feasibility = _feasibility(feasible, spent, finished)
        if in_parts and cell.evals is not None:  # the last one is not whole where the next part no longer fitted
            last = np.searchsorted(spent, np.arange(1, spent[-1] + 1), side="right") - 1
            observed, feasible, finished = observed[last], feasible[last], finished[last]
            mean = None if mean is None else mean[last]
        return cls(observed, mean, feasible, finished, held_out, feasibility)


def _feasibility(feasible: NDArray[np.bool_], spent: Array, finished: Array) -> dict[str, float]:
    """How many rows of a run are feasible, and what it had used, in whole evaluations and seconds, at the first."""
    found = {"rows": len(feasible), "feasible_rows": int(feasible.sum())}
    if not feasible.any():
        return found | {"first_feasible": math.inf, "first_seconds": math.inf}
    first = int(feasible.argmax())
    return found | {"first_feasible": float(spent[first]), "first_seconds": float(finished[first])}


def _incumbents(columns: dict[str, NDArray[Any]], lengths: list[int], highest: int) -> dict[str, NDArray[Any]]:
    """More columns of a fragment whose runs have so many rows each: what is known of the incumbent after each row.

    row: where it stands (the run's first row before there is one). observed: its value, NaN before any is trained to
    the highest level. And where scores are stored, scored: whether the row has one; mean: the incumbent's, NaN where
    there is none or it violates a constraint in the mean, and what was observed where its own is not known.
    """
    seen, feasible = columns["incumbent"], columns["feasible"]
    run = np.repeat(np.arange(len(lengths)), lengths)
    level, highest = (columns["level"], highest) if "level" in columns else (np.ones(len(seen), np.int64), 1)
    before = run * (highest + 1)  # so that the highest level so far begins anew with each run
    top = np.maximum.accumulate(np.where(feasible, level, 0) + before)
    new = np.ones(len(seen), bool)
    new[1:] = (top[1:] > top[:-1]) | (run[1:] > run[:-1]) | ~(np.isnan(seen[1:]) | (seen[1:] == seen[:-1]))
    row = np.maximum.accumulate(np.where(new, np.arange(len(seen)), 0))
    observed = np.where(top - before == highest, seen, np.nan)
    if "score" not in columns:
        return {"row": row, "observed": observed}
    score = columns["score"][row]
    found = np.where(np.isnan(score), observed, score)
    mean = np.where(np.isnan(seen) | columns["violates"][row], np.nan, found)
    return {"row": row, "observed": observed, "mean": mean, "scored": np.isfinite(columns["score"])}


def _dense(parts: list[_Run]) -> tuple[Array, Array, NDArray[np.bool_], Array]:
    """Observed, mean, feasible and finished of runs of different lengths, as `Curves` has them."""
    width = max(1, *(len(run.finished) for run in parts))
    observed = np.full((len(parts), width), np.nan)
    known = any(run.mean is not None for run in parts)
    mean = observed.copy() if known else observed
    feasible = np.zeros((len(parts), width), bool)
    finished = np.full((len(parts), width), np.inf)
    for row, run in enumerate(parts):
        length = len(run.finished)
        observed[row, :length] = run.observed
        feasible[row, :length] = run.feasible
        finished[row, :length] = run.finished
        if known:
            mean[row, :length] = run.observed if run.mean is None else run.mean
        for values in (observed, mean):
            values[row, length:] = values[row, length - 1] if length else np.nan
    return observed, mean, feasible, finished
