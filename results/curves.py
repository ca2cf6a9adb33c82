"""A store's runs as dense arrays: what every statistic is a pure function of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nasbench.results.scores import OBSERVED, Score

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curves:
    """Incumbent and feasibility of every run after each of its evaluations; all runs follow one protocol.

    Of a method that chooses how long to train, an evaluation is a whole evaluation's worth of levels, in any parts:
    the arrays have its state when that much has been used. Before anything is trained to the end no observed value is a
    final one: the incumbent counts by its score where the table knows it, and otherwise as nothing.

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
    failed_evaluations; `held_out` (dict: metric of a test split → its value at the run's last incumbent); unseen
    (whether the run has not observed all repetitions of its last incumbent: 1 or 0, NaN where that is not known); and
    of all that was evaluated, whole or in part: rows, feasible_rows, first_feasible and first_seconds (evaluations, the
    last one perhaps in part, and seconds on the run's clock until the first feasible row; infinite where there is
    none)."""
    worth: Mapping[str, Array]
    """What the incumbent after each evaluation is worth by each score that can be compared, by its name, shape (runs,
    evaluations): NaN before the first feasible evaluation, and where the incumbent does not count; what was observed on
    live benchmarks, which tell nothing else. A run that ended early keeps its last."""
    feasible: NDArray[np.bool_]
    """Whether each evaluation was feasible, same shape (of those in parts the last part); False past a run's end."""
    finished: Array
    """Seconds on the run's clock when each evaluation finished, same shape, ascending; infinite past a run's end."""
    tuned_on: tuple[frozenset[str], ...] = ()
    """Search spaces on whose results defaults of each method were chosen, in their order; empty where unknown."""
    labels: tuple[str, ...] = ()
    """What people call the methods, in their order; empty where that is their names."""

    @property
    def observed(self) -> Array:
        """Best feasible objective seen after each evaluation, shape (runs, evaluations)."""
        return self.worth[OBSERVED.name]

    @property
    def incumbent(self) -> Array:
        """What the incumbent after each evaluation is worth, shape (runs, evaluations); NaN where there is none."""
        return self.worth.get(self.score.name, self.observed)

    @property
    def names(self) -> tuple[str, ...]:
        """The methods as people read them: their labels, or else their names with options."""
        return self.labels or self.methods

    def scored(self, score: Score) -> Curves:
        """The same runs by another score."""
        return replace(self, score=score)

    def in_sample(self, methods: Iterable[int]) -> NDArray[np.bool_]:
        """Whether defaults of one of these methods were chosen on the space of each setting, shape (settings,)."""
        spaces = frozenset[str]().union(*(self.tuned_on[m] for m in methods if self.tuned_on))
        return self.settings["space"].isin(spaces).to_numpy()

    @property
    def compared(self) -> Score:
        """What `incumbent` really is: where no run tells the score, as on live benchmarks, what was observed."""
        return self.score if self.score.name in self.worth else OBSERVED

    @cached_property
    def oracle(self) -> Array:
        """The best that an incumbent can be worth, shape (settings,); NaN where unknown."""
        return self.score.limit(self.settings, "oracle")

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
        """Benchmark families behind the settings."""
        return int(self.settings["family"].nunique())

    @property
    def spaces(self) -> int:
        """Search spaces behind the settings: settings of one space are not independent."""
        return int(self.settings["space"].nunique())

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
        worst = self.score.limit(self.settings, "worst")
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
