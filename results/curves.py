"""A store's runs as dense arrays, from which every statistic is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nasbench.results.scores import OBSERVED, Score
from nasbench.results.store.trajectory import Setup

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curves:
    """Incumbent and feasibility of every run after each of its evaluations; all runs follow one protocol.

    For a method that chooses how long to train, one evaluation is the amount of training of one full evaluation, in any
    parts, and the arrays hold the state when that amount has been used. Before any configuration is trained to the end
    no observed value is final: the incumbent then counts by its score if the table knows it, else as NaN.

    A setting is a benchmark under a constraint. Settings and methods are numbered by their order in `settings` and
    `methods`. The incumbent is selected by its observed value and compared by its score (`score`). So a value may rise
    when a lucky repetition replaces a better configuration.
    """

    protocol: str
    score: Score
    """The score of `incumbent`."""
    seconds: float | None
    """The budget if it is in seconds only, so that runs are compared at equal seconds; else None."""
    settings: pd.DataFrame
    """One row per setting: bench, constraint, and the fields of `trajectory.Setting`."""
    methods: tuple[str, ...]
    runs: pd.DataFrame
    """One row per run, in the order of the arrays. Columns: setting, method (their numbers), seed, evaluations,
    failure, failed_evaluations; test_metrics (dict: metric of a test split → its value at the run's last incumbent);
    hidden (whether the last incumbent has an unobserved repetition: 1 or 0, NaN if unknown); rows and feasible_rows
    (numbers of evaluations, full or partial); refused (number of proposals that were refused at no part of the
    budget); first_feasible and first_seconds (evaluations, the last one perhaps partial, and seconds on the run's
    clock until the first feasible row; infinite if there is none)."""
    by_score: Mapping[str, Array]
    """Value of the incumbent after each evaluation, by the name of the score, shape (runs, evaluations). NaN before the
    first feasible evaluation, and if the incumbent does not count; the observed value on live benchmarks, which have no
    other. A run that ended early keeps its last value."""
    feasible: NDArray[np.bool_]
    """Whether each evaluation (or its last part) was feasible, same shape; False after a run's end."""
    finished: Array
    """Seconds on the run's clock when each evaluation finished, same shape, ascending; infinite after a run's end."""
    tuned_on: tuple[frozenset[str], ...] = ()
    """Search spaces on which defaults of each method were chosen, in the order of methods; empty if unknown."""
    labels: tuple[str, ...] = ()
    """Labels of the methods, in their order; empty if they are shown by their names."""
    in_rows: tuple[Mapping[str, Array], Array] | None = None
    """`by_score` and `finished` after every row, full or partial, shape (runs, rows); None where each row is an
    evaluation."""

    @property
    def observed(self) -> Array:
        """Best feasible objective observed after each evaluation, shape (runs, evaluations)."""
        return self.by_score[OBSERVED.name]

    @property
    def incumbent(self) -> Array:
        """Value of the incumbent after each evaluation by `score`, shape (runs, evaluations); NaN if there is none."""
        return self._of_score(self.by_score)

    def _of_score(self, values: Mapping[str, Array]) -> Array:
        return values.get(self.score.name, values[OBSERVED.name])

    @property
    def names(self) -> tuple[str, ...]:
        """The methods for display: their labels, or else their names with options."""
        return self.labels or self.methods

    def place_of(self, setup: Setup) -> tuple[int, int] | None:
        """The numbers of a setup's setting and of its method; None if one of them has no readable run."""
        setting = self._settings.get((setup.bench, setup.constraint))
        if setting is None or setup.method not in self.methods:
            return None
        return setting, self.methods.index(setup.method)

    @cached_property
    def _settings(self) -> dict[tuple[str, str], int]:
        return {(str(b), str(c)): i for i, (b, c) in enumerate(self.settings[["bench", "constraint"]].to_numpy())}

    def scored(self, score: Score) -> Curves:
        """The same runs with another score."""
        return replace(self, score=score)

    def in_sample(self, methods: Iterable[int]) -> NDArray[np.bool_]:
        """Whether defaults of one of these methods were chosen on the space of each setting, shape (settings,)."""
        spaces = frozenset[str]().union(*(self.tuned_on[m] for m in methods if self.tuned_on))
        return self.settings["space"].isin(spaces).to_numpy()

    @property
    def has_several_objectives(self) -> bool:
        """Whether the runs have several objectives."""
        return bool((self.settings["scales"].map(len) > 0).any())

    @property
    def compared(self) -> Score:
        """The score that `incumbent` has: `score`, or the observed value if no run has that score (live benchmarks)."""
        return self.score if self.score.name in self.by_score else OBSERVED

    @cached_property
    def oracle(self) -> Array:
        """The best possible value of an incumbent, shape (settings,); NaN if unknown."""
        return self.score.limit(self.settings, "oracle")

    @cached_property
    def span(self) -> Array:
        """Distance from the oracle to the median of all feasible values, shape (settings,); NaN unless positive."""
        span = self.settings["median"].to_numpy(float) - self.oracle
        return np.where(span > 0, span, np.nan)

    @property
    def evaluations(self) -> int:
        """Number of evaluations of the longest run."""
        return int(self.incumbent.shape[1])

    @property
    def unit(self) -> str:
        """The unit of points of comparison: evaluations, or seconds if the budget is in seconds."""
        return "evaluations" if self.seconds is None else "seconds"

    @property
    def end(self) -> float:
        """The end of the budget, in `unit`."""
        return float(self.evaluations) if self.seconds is None else self.seconds

    def at(self, points: Sequence[float] | Array, rows: NDArray[np.intp] | None = None) -> Array:
        """Values of the incumbents at some points, in `unit`: shape (runs, points).

        Args:
            rows: row numbers of runs; by default all.
        """
        selected = np.arange(len(self.runs)) if rows is None else rows
        columns = np.asarray(points, float)
        if self.seconds is None:
            incumbents: Array = self.incumbent[np.ix_(selected, columns.astype(np.intp) - 1)]
            return incumbents
        return self._at_seconds(selected, np.broadcast_to(columns, (len(selected), len(columns))))

    def _at_seconds(self, rows: NDArray[np.intp], times: Array) -> Array:
        """Values of the incumbents of some runs at times given for each run, shape (rows, times).

        NaN before the first evaluation.
        """
        every, finished = self.in_rows or (self.by_score, self.finished)
        clocks = finished[rows]
        counts = np.array([np.searchsorted(clock, t, side="right") for clock, t in zip(clocks, times, strict=True)])
        values: Array = np.take_along_axis(self._of_score(every)[rows], np.maximum(counts - 1, 0), axis=1)
        return np.where(counts > 0, values, np.nan)

    @cached_property
    def horizons(self) -> Array:
        """Shortest median duration of a run over methods, in seconds, shape (settings,); NaN without runs.

        Until then most runs of every method still search. Runs that stopped early do not count.
        """
        ends = np.max(np.where(np.isfinite(self.finished), self.finished, 0.0), axis=1)
        whole = (self.runs["failure"] == "").to_numpy()
        shortest = np.full(len(self.settings), np.inf)
        for (setting, _), runs in self.groups.items():
            durations = ends[runs[whole[runs]]]
            if len(durations):
                shortest[setting] = min(shortest[setting], float(np.median(durations)))
        return np.where((shortest > 0) & np.isfinite(shortest), shortest, np.nan)

    def at_shares(self, shares: Array) -> Array:
        """Values of the incumbents at shares of the setting's horizon: shape (runs, shares)."""
        times = self.horizons[self.runs["setting"].to_numpy()][:, None] * shares
        return self._at_seconds(np.arange(len(self.runs)), np.where(np.isnan(times), -1.0, times))

    @cached_property
    def reached(self) -> NDArray[np.intp]:
        """Number of evaluations of the longest run of each setting, shape (settings,), at least 1."""
        longest: NDArray[np.intp] = np.ones(len(self.settings), np.intp)
        np.maximum.at(longest, self.runs["setting"].to_numpy(), self.runs["evaluations"].to_numpy())
        return longest

    @cached_property
    def by_bench(self) -> dict[str, list[int]]:
        """The numbers of the settings of each benchmark."""
        settings: dict[str, list[int]] = {}
        for setting, bench in enumerate(self.settings["bench"]):
            settings.setdefault(bench, []).append(setting)
        return settings

    @property
    def spaces(self) -> int:
        """Number of search spaces of the settings; settings of one space are not independent."""
        return int(self.settings["space"].nunique())

    @cached_property
    def groups(self) -> dict[tuple[int, int], NDArray[np.intp]]:
        """Row numbers of the runs of each (setting, method) with runs, in the order of their seeds."""
        setting, method, seed = (self.runs[name].to_numpy() for name in ("setting", "method", "seed"))
        order = np.lexsort((seed, method, setting))
        keys = setting[order] * len(self.methods) + method[order]
        parts = np.split(order, np.flatnonzero(np.diff(keys)) + 1)
        return {(int(setting[rows[0]]), int(method[rows[0]])): rows for rows in parts}

    @property
    def seeds(self) -> str:
        """The number of runs per method and setting as text: one number, or a range."""
        counts = sorted(map(len, self.groups.values()))
        return f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"

    @property
    def complete(self) -> list[int]:
        """Settings on which every method has a run."""
        methods = range(len(self.methods))
        return [s for s in range(len(self.settings)) if all((s, m) in self.groups for m in methods)]

    @cached_property
    def worst(self) -> Array:
        """The value that replaces a missing incumbent (before the first feasible evaluation), shape (settings,).

        It is the worst feasible value of the table (c-TPE's protocol) or, without a table, the worst incumbent of any
        run of the setting.
        """
        worst = self.score.limit(self.settings, "worst")
        setting = self.runs["setting"].to_numpy()
        for s in np.flatnonzero(np.isnan(worst)):
            seen = self.incumbent[setting == s]
            worst[s] = np.nanmax(seen) if np.isfinite(seen).any() else np.nan
        return worst

    def padded(self, values: Array) -> Array:
        """Values of every run, shape (runs, points), with the setting's worst in place of NaN."""
        worst = self.worst[self.runs["setting"].to_numpy()]
        filled: Array = np.where(np.isnan(values), worst[:, None], values)
        return filled
