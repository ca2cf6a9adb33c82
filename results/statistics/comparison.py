"""The one analysis of a report: tables, figures, sentences and files all read from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nasbench.results.curves import Array, Curves
from nasbench.results.scores import OBSERVED, SCORES, Score
from nasbench.results.scores.observed import ObservedShare
from nasbench.results.statistics.estimates import FEWEST
from nasbench.results.statistics.improvement import MISSING, Places, improvement, places
from nasbench.results.statistics.nesting import Tasks
from nasbench.results.statistics.ranks import Field, expected_ranks, ranked
from nasbench.results.statistics.summaries import medians
from nasbench.results.statistics.verdicts import Pair, Verdicts, compare, corrected, judge
from nasbench.results.statistics.wilcoxon import RankTests, levels, over_seeds

CONSTRAINTS, CLAIMS, SETTINGS = 0.1, 0.2, 0.1
"""Shares of the 5 % error rate of a report that are spent on verdicts under single constraints, on claims of papers,
and on single settings; the rest is spent on the averages over all settings."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """A comparison of methods on the runs of `curves`, by their score and in their unit of time."""

    curves: Curves
    baseline: int
    """The method that is compared with each other method in tables without room for all pairs."""
    checkpoints: tuple[float, ...]
    """Points of comparison, ascending, in the unit of the curves; the last is the end of the budget."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods for display."""
        return self.curves.names

    @property
    def score(self) -> Score:
        """The score that is compared."""
        return self.curves.score

    @property
    def end(self) -> float:
        """The point at which verdicts are given: the last checkpoint."""
        return self.checkpoints[-1]

    def along(self, points: int) -> Array:
        """At most `points` evenly spaced points of the budget, including its end."""
        if self.curves.seconds is None:
            return np.unique(np.linspace(1, self.end, points).round())
        return np.linspace(0, self.end, points + 1)[1:]

    @cached_property
    def field(self) -> Field:
        """The runs at the end of the budget."""
        return self._fields(self.curves.at((self.end,)))[0]

    @cached_property
    def medians(self) -> Array:
        """Median over seeds at the end of the budget, shape (settings, methods); see `summaries.medians`."""
        return medians(self.curves, self.curves.at((self.end,)))[:, :, 0]

    @cached_property
    def rank_tests(self) -> tuple[RankTests, ...]:
        """Wilcoxon's tests at the end of the budget: over settings, benchmarks and spaces; over the seeds where one
        setting has all methods."""
        complete = np.flatnonzero(~np.isnan(self.medians).any(axis=1))
        if len(complete) != 1:
            return levels(self.medians, self.field.tasks)
        runs = self.curves.runs.assign(value=self.curves.padded(self.curves.at((self.end,)))[:, 0])
        of_seeds = runs[runs["setting"] == complete[0]].pivot(index="seed", columns="method", values="value").dropna()
        return (over_seeds(of_seeds.to_numpy(np.float64), self.field.tasks.of(complete)),)

    def led(self) -> Comparison:
        """The same comparison with the first method by expected rank as its baseline; itself where none has a rank."""
        ranks = self.overall.ranks
        return self._lent(replace(self, baseline=ranks[0].method), "field", "_identity") if ranks else self

    def _lent(self, other: Comparison, *properties: str) -> Comparison:
        """Another comparison, with cached properties of this one that are the same there."""
        vars(other).update({name: getattr(self, name) for name in properties})
        return other

    @cached_property
    def overall(self) -> Verdicts:
        """Verdicts on averages over constraints, benchmarks, families and spaces."""
        every = np.arange(len(self.curves.settings))
        return corrected([judge(self.field, every, self.baseline)], self.share)[0]

    @property
    def share(self) -> float:
        """The share of the 5 % error rate that is spent on `overall`."""
        of_constraints = CONSTRAINTS * (self.curves.settings["constraint"].nunique() > 1)
        return 1 - CLAIMS - of_constraints - SETTINGS * (len(self.curves.settings) > 1)

    @cached_property
    def by_constraint(self) -> dict[str, Verdicts]:
        """Verdicts under each constraint; `overall` if there is only one."""
        scopes = _scopes(self.curves.settings["constraint"])
        if len(scopes) == 1:
            return dict.fromkeys(scopes, self.overall)
        judged = [judge(self.field, scope, self.baseline) for scope in scopes.values()]
        return dict(zip(scopes, corrected(judged, CONSTRAINTS), strict=True))

    @cached_property
    def by_family(self) -> dict[str, Verdicts]:
        """Estimates in each family of benchmarks, without p."""
        return {name: judge(self.field, scope, self.baseline) for name, scope in _scopes(self.families).items()}

    @cached_property
    def by_space(self) -> dict[str, Verdicts]:
        """Estimates in each search space, without p."""
        spaces = self.curves.settings["space"]
        return {name: judge(self.field, scope, self.baseline) for name, scope in _scopes(spaces).items()}

    @cached_property
    def families(self) -> pd.Series[str]:
        """The family of each setting, with its space where a family is in several: a data set may be searched twice."""
        settings = self.curves.settings
        is_in_several = settings.groupby("family")["space"].transform("nunique") > 1
        return settings["family"].where(~is_in_several, settings["family"] + " in " + settings["space"])

    @cached_property
    def by_scope(self) -> dict[str, Verdicts]:
        """Where defaults of methods were chosen, where none were, and on sealed spaces: estimates without p."""
        inside = self.curves.in_sample(range(len(self.methods)))
        sealed = self.curves.settings["sealed"].to_numpy(bool)
        scopes = {"in sample": inside, "out of sample": ~inside, "sealed": sealed}
        return {
            name: judge(self.field, np.flatnonzero(scope), self.baseline)
            for name, scope in scopes.items()
            if scope.any()
        }

    @cached_property
    def spaces(self) -> list[str]:
        """Names of the search spaces, in the order of their numbers."""
        return list(dict.fromkeys(self.curves.settings["space"]))

    def against_baseline(self, verdicts: Verdicts) -> list[Pair]:
        """The pairs of the baseline with every other method that shares a setting with it."""
        others = (m for m in range(len(self.methods)) if m != self.baseline)
        return [pair for m in others if (pair := verdicts.pair(self.baseline, m)) is not None]

    def ranks(self, values: Array) -> Array:
        """Expected rank of each method at some points, shape (methods, points), over settings with all methods.

        Methods whose runs are all the same count once and share their rank. NaN if there is no such setting.

        Args:
            values: value of every run, shape (runs, points), NaN before its first feasible evaluation.
        """
        result = np.full((len(self.methods), values.shape[1]), np.nan)
        settings = self.overall.complete
        if not len(settings):
            return result
        weights = self.field.tasks.of(settings).weights
        firsts = [kind[0] for kind in self.overall.kinds]
        judged = _common(self.field.places[settings][:, firsts])[:, None]
        for point, field in enumerate(self._fields(values)):
            ranks = expected_ranks(np.where(judged, field.places[settings][:, firsts], MISSING), weights)
            for kind, rank in zip(self.overall.kinds, ranks, strict=True):
                result[list(kind), point] = rank
        return result

    def rank_bands(self, values: Array) -> Array:
        """95 % CI of `ranks` over seeds, shape (methods, points, 2); NaN if there are too few seeds."""
        bands = np.full((len(self.methods), values.shape[1], 2), np.nan)
        kinds = self.overall.kinds
        for point, field in enumerate(self._fields(values)):
            for rank in ranked(field, self.overall.complete, [kind[0] for kind in kinds])[0]:
                bands[list(self.overall.kind_of(rank.method)), point] = rank.these.interval(1.0, len(kinds))
        return bands

    def improvements(self, values: Array) -> Array:
        """Probability that the baseline is better than each method at some points, shape (methods, points).

        NaN for the baseline itself, and if no setting has both methods. Seeds are those of the verdicts.
        """
        result = np.full((len(self.methods), values.shape[1]), np.nan)
        pairs = self.against_baseline(self.overall)
        for point, field in enumerate(self._fields(values)):
            for pair in pairs:
                both = on_common_seeds(field.places[pair.settings][:, [pair.a, pair.b]])
                weights = self.field.tasks.of(pair.settings).weights
                result[pair.b, point] = weights @ improvement(both[:, 0], both[:, 1])
        return result

    def against_later(self, method: int, at: float, points: Array) -> list[Pair | None]:
        """The baseline at each of some points, against a method at one point `at`; None if they share no setting."""
        values, ours = self.curves.at(points), self._layout[1] == method
        values[ours] = self.curves.at((at,))[ours]
        settings = np.arange(len(self.curves.settings))
        return [compare(field, settings, self.baseline, method) for field in self._fields(values)]

    @cached_property
    def by_score(self) -> dict[str, Comparison]:
        """The same comparison by each score that the runs have, by the name of the score."""
        scores = {score.name: score for score in SCORES}
        if self.curves.has_several_objectives:
            scores[OBSERVED.name] = ObservedShare()
        return {
            name: self
            if name == self.score.name
            else self._lent(replace(self, curves=self.curves.scored(score)), "_identity")
            for name, score in (scores | {self.score.name: self.score}).items()
            if name in self.curves.by_score
        }

    @cached_property
    def _layout(self) -> tuple[NDArray[np.intp], ...]:
        """Setting, method and number of the seed of each run."""
        runs = self.curves.runs
        seeds = np.unique(runs["seed"].to_numpy(), return_inverse=True)[1]
        return runs["setting"].to_numpy(np.intp), runs["method"].to_numpy(np.intp), seeds.astype(np.intp)

    @cached_property
    def _tasks(self) -> Tasks:
        settings = self.curves.settings
        family = settings["space"] + " " + settings["family"]  # a data set may be searched in several spaces
        levels = (settings["space"], family, settings["bench"])
        return Tasks(*(pd.factorize(level)[0].astype(np.intp) for level in levels))

    @cached_property
    def _identity(self) -> NDArray[np.int64]:
        """`Field.identity`: runs are identical if they observed the same and have the same values by every score.

        Runs without a feasible evaluation are never identical.
        """
        curves = self.curves
        seen = zip(*curves.by_score.values(), curves.feasible, curves.runs["evaluations"], strict=True)
        prints = np.array([hash(tuple(column[:n].tobytes() for column in columns)) for *columns, n in seen])
        numbers = np.unique(prints, return_inverse=True)[1] + 1
        has_feasible = np.any([~np.isnan(values).all(axis=1) for values in curves.by_score.values()], axis=0)
        identity: NDArray[np.int64] = self._spread(np.where(has_feasible, numbers, 0)[:, None])[0]
        return identity

    def _fields(self, values: Array) -> list[Field]:
        """The runs ranked by values of shape (runs, points): one field for each point."""
        setting = self._layout[0]
        ranked = np.empty(values.shape, np.int32)
        order = np.argsort(setting, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(setting[order])) + 1):
            ranked[rows] = places(values[rows])
        return [Field(point_places, self._identity, self._tasks) for point_places in self._spread(ranked)]

    def _spread(self, values: NDArray[np.integer]) -> NDArray[np.integer]:
        """Values of every run, shape (runs, points), as (points, settings, methods, seeds)."""
        setting, method, seed = self._layout
        shape = (values.shape[1], len(self.curves.settings), len(self.methods), int(seed.max()) + 1)
        spread = np.full(shape, MISSING, values.dtype)
        spread[:, setting, method, seed] = values.T
        return spread


def _scopes(names: pd.Series[str]) -> dict[str, NDArray[np.intp]]:
    """The settings of each name (of a constraint, a family, a space), in the order of the settings."""
    return {str(name): np.flatnonzero(names == name) for name in dict.fromkeys(names)}


def on_common_seeds(places_: Places) -> Places:
    """The places on the seeds that are compared in each setting (`_common`), and `MISSING` on others."""
    return np.where(_common(places_)[:, None], places_, MISSING)


def _common(places_: Places) -> NDArray[np.bool_]:
    """The seeds that are compared in each setting: those of all methods, or every seed if these are too few.

    Args:
        places_: shape (settings, methods, seeds), `MISSING` where there is no run.
    """
    common = np.all(places_ >= 0, axis=1)
    return common if common.sum(axis=1).min() >= FEWEST else np.ones_like(common)
