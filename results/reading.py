"""Reads the selected runs of stores as `Curves`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nasbench.base.errors import StoreError
from nasbench.base.fronts import Front, losses
from nasbench.results.curves import Array, Curves
from nasbench.results.scores import DEFAULT, HIDDEN, OBSERVED, SCORES, Incumbents, Score, values_of
from nasbench.results.selection import EVERYTHING, Selection
from nasbench.results.store import Store
from nasbench.results.store.archive import Archive
from nasbench.results.store.fragment import Fragment, Gone, Torn
from nasbench.results.store.trajectory import HYPERVOLUME, NUMBERS, Setup, are_refused, incumbent_steps
from nasbench.results.store.under_way import under_way

_COLUMNS = ("incumbent", "feasible", "finished")
_OF_LEVELS = ("level", "spent")


def select(
    stores: Sequence[Store],
    protocol: str | None = None,
    selection: Selection = EVERYTHING,
    partial: bool = False,
) -> list[tuple[Store, Fragment]]:
    """The selected fragments of some stores, all of one protocol, each with its store; references are left out.

    Args:
        partial: include runs under way that have finished a full evaluation, but for those that another store has.

    Raises StoreError if there are none, or they follow several protocols and `protocol` names none of them.
    """
    names = " and ".join(str(store.folder) for store in stores)
    every = [(store, f) for store in stores for f in store.fragments()]
    stored = {(f.setup.id, seed) for _, f in every for seed in f.seeds}  # here, or in another of the stores
    begun = [
        (store, run.fragment())
        for store in stores
        for run in under_way(store)
        if run.spent >= 1 and (run.setup.id, run.seed) not in stored
    ]
    every += begun if partial else []
    if not every:
        advice = f"; --partial reports the {len(begun)} under way" if begun else ""
        status = " and ".join(f"`nasbench status {store.folder}`" for store in stores)
        holds = "holds no finished run" if len(stores) == 1 else "hold no finished run"
        says = "says" if len(stores) == 1 else "say"
        raise StoreError(f"{names} {holds}: {status} {says} what is missing{advice}")
    selected = selection.of([(store, f) for store, f in every if not f.setup.setting.reference] or every)
    protocols = sorted({f.setup.protocol for _, f in selected})
    if protocol is None and len(protocols) > 1:
        choices = "; ".join(f"--protocol '{p}'" for p in protocols)
        raise StoreError(f"{names}: runs that must not be compared with each other; choose one of {choices}")
    if protocol is not None and protocol not in protocols:
        raise StoreError(f"{names} has no runs of protocol {protocol!r}; allowed: {'; '.join(protocols)}")
    return [(store, f) for store, f in selected if f.setup.protocol == (protocol or protocols[0])]


def references(stores: Sequence[Store], score: Score = DEFAULT) -> list[Curves]:
    """The runs of single reference networks, shown with the searches for orientation: one entry per protocol."""
    by_protocol: dict[str, list[tuple[Store, Fragment]]] = {}
    for store in stores:
        for f in store.fragments():
            if f.setup.setting.reference:
                by_protocol.setdefault(f.setup.protocol, []).append((store, f))
    return [load(fragments, score) for _, fragments in sorted(by_protocol.items())]


def load(fragments: Sequence[tuple[Store, Fragment]], score: Score = DEFAULT) -> Curves:
    """Reads the runs of some fragments (`select`); a run that is in two of them counts once.

    It is that of a store rather than that of an archive, and of several one that has not failed.

    Raises StoreError if none is readable, or one is no longer there.
    """
    fragments = sorted(fragments, key=lambda found: (isinstance(found[0], Archive), found[1].setup.is_elsewhere))
    unions = union_fronts(fragments)
    gathered = _Gathered(fragments, score)
    for store, f in fragments:
        try:
            gathered.add(store, f, _read(f, gathered.scores, unions.get(_place(f))))
        except Gone:
            raise StoreError(
                f"{store.folder} is being changed by another command: give the same command again"
            ) from None
        except Torn as error:
            store.set_aside(f.path, str(error))
    return gathered.curves()


def _place(fragment: Fragment) -> tuple[str, str]:
    return fragment.setup.bench, fragment.setup.constraint


class _Gathered:
    """The runs of some fragments, added one fragment after the other.

    Args:
        fragments: all of them, in their order.
        score: the score to compare by; those that are built in are read, too.
    """

    def __init__(self, fragments: Sequence[tuple[Store, Fragment]], score: Score) -> None:
        self.scores = {s.name: s for s in (*SCORES, score)}
        self._score, self._fragments = score, [f for _, f in fragments]
        self._sound = {(type(store), f.setup.id, r.seed) for store, f in fragments for r in f.runs if not r.failure}
        rows = [run.rows for f in self._fragments for run in f.runs]
        shape = len(rows), max((1, *rows))
        may_have_parts = any(f.counts_spending and f.setup.evals is not None for f in self._fragments)
        self._dense, self._in_rows = _Dense(*shape), _Dense(*shape) if may_have_parts else None
        self._runs: dict[tuple[str, int], dict[str, Any]] = {}
        self._tuned: dict[str, frozenset[str]] = {}
        self._known_scores: list[set[str]] = []

    def add(self, store: Store, f: Fragment, incumbents: Incumbents) -> None:
        """Adds the runs of a fragment that were not added before, but for failed ones that another store has whole."""
        read = {name: values_of(score, incumbents) for name, score in self.scores.items()}
        by_score = {name: values for name, values in read.items() if values is not None}
        self._known_scores.append(set(by_score))
        self._tuned[f.setup.method] = self._tuned.get(f.setup.method, frozenset()) | set(f.setup.tuned_on)
        for run, span in f.spans():
            key = f.setup.id, run.seed
            if key in self._runs or (run.failure and (type(store), *key) in self._sound):
                continue
            part = _Run.of(incumbents, by_score, span, f.setup)
            self._dense.add(part.states)
            if self._in_rows is not None:
                self._in_rows.add(part.rows)
            failures = {"failure": run.failure, "failed_evaluations": run.failed_evaluations}
            marks = {"setting": _place(f), "method": f.setup.method, "seed": run.seed}
            self._runs[key] = marks | failures | part.facts()

    def curves(self) -> Curves:
        """Everything that was added. Raises StoreError if that is nothing."""
        if not self._runs:
            raise StoreError("no run of these stores is readable: `nasbench status STORE` says why")
        settings, methods = _settings(self._fragments), sorted(self._tuned)
        places = {run["setting"] for run in self._runs.values()}
        order = sorted(places, key=lambda place: (settings[place]["family"], *place))
        frame = pd.DataFrame([settings[place] for place in order])
        frame[[*NUMBERS]] = frame[[*NUMBERS]].astype(float)
        table = pd.DataFrame(list(self._runs.values()))
        table["setting"] = table["setting"].map({place: number for number, place in enumerate(order)})
        table["method"] = table["method"].map({name: number for number, name in enumerate(methods)})
        setup = self._fragments[0].setup
        seconds = setup.seconds if setup.evals is None else None
        tuned_on = tuple(self._tuned[method] for method in methods)
        kept, frame = self._kept(), self._score.described(frame)
        arrays = self._dense.arrays(kept)
        curves = Curves(setup.protocol, self._score, seconds, frame, tuple(methods), table, *arrays, tuned_on)
        if self._in_rows is None:
            return curves
        by_score, _, finished = self._in_rows.arrays(kept)
        return replace(curves, in_rows=(by_score, finished))

    def _kept(self) -> list[str]:
        """The scores that all fragments have; those that have the observed one alone do not count."""
        compared = set.intersection(*([s for s in self._known_scores if len(s) > 1] or self._known_scores))
        return [name for name in self.scores if name in compared]


def _settings(fragments: Sequence[Fragment]) -> dict[tuple[str, str], dict[str, Any]]:
    """The facts of each benchmark under a constraint; where runs from outside stand beside ours, with their caution."""
    settings: dict[tuple[str, str], dict[str, Any]] = {}
    for setup in (f.setup for f in fragments):
        place = setup.bench, setup.constraint
        setting = settings.setdefault(place, {"bench": place[0], "constraint": place[1], **vars(setup.setting)})
        if setup.is_elsewhere:
            setting["caution"] = setup.setting.caution
    return settings


def _read(fragment: Fragment, scores: Mapping[str, Score], union: Front | None) -> Incumbents:
    """The incumbent after each row of a fragment, with the columns that scores need. Raises Torn if it is damaged."""
    setup = fragment.setup
    of_scores = dict.fromkeys(column for score in scores.values() for column in score.columns)
    levels = _OF_LEVELS if fragment.counts_spending else ()
    metrics = [f"metric.{name}" for name in (*setup.setting.test_metrics, *setup.objectives)]
    table = fragment.table([*_COLUMNS, *of_scores, *levels, *metrics])
    columns = {name: _plain(table[name]) for name in table.column_names}
    if union is not None:
        columns |= _by_union(columns, fragment, union)
    return _incumbents(columns, [run.rows for run in fragment.runs], setup.setting.highest)


def union_fronts(fragments: Sequence[tuple[Store, Fragment]]) -> dict[tuple[str, str], Front]:
    """The fronts of all runs of settings with several objectives where no table knows the exact front.

    By benchmark and constraint; settings without a feasible full evaluation are left out.
    """
    points: dict[tuple[str, str], list[Array]] = {}
    for _, f in fragments:
        if f.setup.objectives and not f.setup.setting.front:
            with suppress(Torn):  # `load` sets it aside
                table = f.table(["feasible", "level", *(f"metric.{name}" for name in f.setup.objectives)])
                columns = {name: _plain(table[name]) for name in table.column_names}
                kept = columns["feasible"] & (columns["level"] == f.setup.setting.highest)
                points.setdefault((f.setup.bench, f.setup.constraint), []).append(_losses(columns, f)[kept])
    joined = {setting: np.concatenate(parts) for setting, parts in points.items()}
    return {setting: Front.of(every) for setting, every in joined.items() if len(every)}


def _losses(columns: Mapping[str, NDArray[Any]], fragment: Fragment) -> Array:
    values = np.stack([columns[f"metric.{name}"] for name in fragment.setup.objectives], axis=1)
    return losses(values, fragment.setup.setting.scales)


def _by_union(columns: Mapping[str, NDArray[Any]], fragment: Fragment, union: Front) -> dict[str, NDArray[Any]]:
    """The columns that runs would have if the front of all runs were the exact one."""
    level, highest = columns.get("level", np.ones(len(columns["feasible"]))), fragment.setup.setting.highest
    points, counts = _losses(columns, fragment), columns["feasible"] & (level == highest)
    ends = np.cumsum([run.rows for run in fragment.runs])[:-1]
    parts = zip(np.split(points, ends), np.split(counts, ends), strict=True)
    shares = np.concatenate([union.shares(own, counted) for own, counted in parts])
    return {"incumbent": 1.0 - shares, f"metric.{HYPERVOLUME}": shares}


def _plain(column: pa.ChunkedArray) -> NDArray[Any]:
    """A stored column as an array; a Boolean column with unknown values as 1, 0 and -1."""
    if pa.types.is_boolean(column.type) and column.null_count:
        column = pc.fill_null(pc.cast(column, pa.int8()), -1)
    plain: NDArray[Any] = column.to_numpy()
    return plain


class _States(NamedTuple):
    """A run at some of its points: arrays of shape (points,), described in `Curves`."""

    by_score: dict[str, Array]
    feasible: NDArray[np.bool_]
    finished: Array

    def at(self, points: NDArray[np.intp]) -> _States:
        by_score = {name: values[points] for name, values in self.by_score.items()}
        return _States(by_score, self.feasible[points], self.finished[points])


@dataclass(frozen=True, eq=False)
class _Run:
    """One run after each of its evaluations, and after each of its rows, which are more where trainings have parts."""

    states: _States
    rows: _States
    test_metrics: dict[str, float]
    hidden: float
    evaluations: int
    """Number of evaluations, each the training of a full one; with a budget in seconds, of rows not refused."""
    feasibility: dict[str, float]
    """The columns of `Curves.runs` about feasibility."""

    def facts(self) -> dict[str, Any]:
        """Its columns of `Curves.runs`."""
        facts = {"evaluations": self.evaluations, "test_metrics": self.test_metrics, "hidden": self.hidden}
        return facts | self.feasibility

    @classmethod
    def of(cls, incumbents: Incumbents, by_score: Mapping[str, Array], rows: slice, setup: Setup) -> _Run:
        """The run in some rows of a fragment.

        Args:
            by_score: value of the incumbent after each row by each score that the fragment has, shape (rows,).
        """
        columns = incumbents.columns
        by_score = {name: values[rows] for name, values in by_score.items()}
        states = every = _States(by_score, columns["feasible"][rows], columns["finished"][rows])
        observed = by_score[OBSERVED.name]
        test_metrics = {}
        if setup.setting.test_metrics and len(observed) and not np.isnan(observed[-1]):
            row = incumbents.row[rows][-1]
            test_metrics = {n: float(columns[f"metric.{n}"][row]) for n in setup.setting.test_metrics}
        hidden = math.nan
        if HIDDEN.name in by_score and len(observed) and incumbents.exists[rows][-1]:
            hidden = float(columns["hidden_feasible"][rows][-1] in (0, 1))  # neither where nothing is hidden
        whole = np.arange(1.0, len(observed) + 1)
        spent: Array = np.ceil(columns["spent"][rows]) if "spent" in columns else whole
        refused = int(are_refused(columns["spent"][rows]).sum()) if "spent" in columns else 0
        feasibility = _feasibility(every.feasible, spent, every.finished, refused)
        if setup.evals is None:
            return cls(states, every, test_metrics, hidden, len(observed) - refused, feasibility)
        if not np.array_equal(spent, whole):  # the last evaluation is partial if its next part exceeds the budget
            ends = np.arange(1, max(spent, default=0.0) + 1)
            states = every.at(np.searchsorted(spent, ends, side="right") - 1)
        return cls(states, every, test_metrics, hidden, len(states.finished), feasibility)


def _feasibility(feasible: NDArray[np.bool_], spent: Array, finished: Array, refused: int) -> dict[str, float]:
    """The number of feasible rows of a run, and the evaluations and seconds used until the first of them."""
    counts = {"rows": len(feasible) - refused, "feasible_rows": int(feasible.sum()), "refused": refused}
    if not feasible.any():
        return counts | {"first_feasible": math.inf, "first_seconds": math.inf}
    first = int(feasible.argmax())
    return counts | {"first_feasible": float(spent[first]), "first_seconds": float(finished[first])}


def _incumbents(columns: Mapping[str, NDArray[Any]], lengths: list[int], highest: int) -> Incumbents:
    """The incumbent after each row of a fragment, whose runs have `lengths` rows each."""
    seen = columns["incumbent"]
    level, highest = (columns["level"], highest) if "level" in columns else (np.ones(len(seen), np.int64), 1)
    new, top = incumbent_steps(seen, columns["feasible"], level, lengths)
    starts = np.repeat(np.cumsum([0, *lengths[:-1]]), lengths)
    row = np.maximum.accumulate(np.where(new, np.arange(len(seen)), starts))
    return Incumbents(columns, ~np.isnan(seen), row, np.where(top == highest, seen, np.nan), level == highest)


class _Dense:
    """The arrays `by_score`, `feasible` and `finished` of `Curves`, filled run by run.

    Args:
        runs: the largest number of runs.
        points: the largest number of points of a run.
    """

    def __init__(self, runs: int, points: int) -> None:
        shape = runs, points
        self._scores = {OBSERVED.name: np.full(shape, np.nan)}
        self._feasible, self._finished = np.zeros(shape, bool), np.full(shape, np.inf)
        self._runs, self._points = 0, 1

    def add(self, run: _States) -> None:
        """Adds a run; where it lacks a score that others have, its observed values count."""
        row, length = self._runs, len(run.finished)
        self._runs, self._points = row + 1, max(self._points, length)
        self._feasible[row, :length], self._finished[row, :length] = run.feasible, run.finished
        observed = self._scores[OBSERVED.name]
        for name in run.by_score.keys() - self._scores.keys():
            self._scores[name] = observed.copy()
        for name, values in self._scores.items():
            values[row, :length] = run.by_score.get(name, run.by_score[OBSERVED.name])
            values[row, length:] = values[row, length - 1] if length else np.nan

    def arrays(self, scores: Sequence[str]) -> tuple[dict[str, Array], NDArray[np.bool_], Array]:
        """The arrays of the added runs, with these scores; shapes (runs, points)."""
        part = slice(self._runs), slice(self._points)
        return {name: self._scores[name][part] for name in scores}, self._feasible[part], self._finished[part]
