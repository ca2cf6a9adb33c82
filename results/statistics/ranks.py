"""Expected ranks of methods, on these benchmarks and on new tasks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from nasbench.results.curves import Array
from nasbench.results.statistics.estimates import FEWEST, Estimate, Strata, over_tasks
from nasbench.results.statistics.improvement import Places, by_seeds, improvement, mid_ranks, seed_scores
from nasbench.results.statistics.nesting import Tasks


@dataclass(frozen=True, eq=False)
class Field:
    """The runs of all settings at one point of the budget."""

    places: Places
    """Shape (settings, methods, seeds), comparable inside a setting; -1 where there is no run."""
    identity: NDArray[np.int64]
    """Same shape: identical runs of a setting have the same number; 0 for a run without a feasible evaluation, -1 where
    there is no run."""
    tasks: Tasks
    """The tasks of all settings."""


@dataclass(frozen=True)
class Rank:
    """Expected rank of a method: 1 + the sum of the probabilities that each other method is better."""

    method: int
    these: Estimate
    """The rank on these benchmarks."""
    new: Estimate
    """The rank on new tasks."""
    first: int
    """The best possible place: 1 + the number of significantly better methods."""
    last: int
    """The worst possible place: the number of methods that are not significantly worse."""


def ranked(runs: Field, settings: NDArray[np.intp], methods: list[int]) -> tuple[tuple[Rank, ...], int, str]:
    """Ranks with all places possible, the best first; the number of seeds; and the unit of `Rank.new`."""
    if not len(settings):
        return (), 0, ""
    places_ = runs.places[settings][:, methods]
    tasks = runs.tasks.of(settings)
    weights = tasks.weights
    common = np.all(places_ >= 0, axis=1)  # the seeds of every method in a setting
    seeds, count = int(common.sum(axis=1).min()), len(methods)
    if seeds < FEWEST:
        values = expected_ranks(places_, weights)
        order = np.argsort(values, kind="stable")
        bare = [Estimate(float(values[i])) for i in order]
        return tuple(Rank(methods[i], e, e, 1, count) for i, e in zip(order, bare, strict=True)), seeds, ""
    ranks, unit = [], ""
    for method, strata in zip(methods, _ranks_of_seeds(places_, common), strict=True):
        # The runs of a method enter all of its count - 1 pairs at once: the floor of a pair grows with both factors.
        these = strata.estimate(weights, least=0.25 * count * (count - 1), extra=0.25 * (count - 1))
        new, unit, _ = over_tasks(strata.means, tasks, these)
        ranks.append(Rank(method, these, new, 1, count))
    return tuple(sorted(ranks, key=lambda rank: rank.these.value)), seeds, unit


def _ranks_of_seeds(places_: Places, common: NDArray[np.bool_]) -> list[Strata]:
    """The rank of each method from the contributions of each seed to all pairs.

    Args:
        places_: shape (settings, methods, seeds).
        common: the seeds that count in each setting, shape (settings, seeds).
    """
    settings, count, _ = places_.shape
    means, variances = np.empty((2, count, settings))
    for rows, seeds in by_seeds(common):
        judged = places_[rows][:, :, seeds]
        ranks = np.ones((count, len(rows), judged.shape[2]))
        for a, b in combinations(range(count), 2):
            scores = seed_scores(judged[:, a], judged[:, b])
            ranks[a] += 1 - scores
            ranks[b] += scores
        means[:, rows], variances[:, rows] = ranks.mean(axis=2), ranks.var(axis=2, ddof=1)
    return [Strata(m, v, common.sum(axis=1)) for m, v in zip(means, variances, strict=True)]


def expected_ranks(places_: Places, weights: Array) -> Array:
    """Expected rank of each method, 1 the best, shape (methods,).

    Args:
        places_: shape (settings, methods, seeds), every method present in every setting.
        weights: weights of the settings, sum 1.
    """
    _, methods, seeds = places_.shape
    if (places_ >= 0).all():  # from the ranks among all runs, less the ranks among the method's runs
        joined = np.array([mid_ranks(row.ravel()) for row in places_]).reshape(places_.shape)
        behind = joined.sum(axis=2) - seeds / 2 - seeds**2 / 2
        expected: Array = 1 + weights @ (behind / seeds**2)
        return expected
    ranks = np.ones(methods)
    for a, b in combinations(range(methods), 2):
        better = float(weights @ improvement(places_[:, a], places_[:, b]))
        ranks[a] += 1 - better
        ranks[b] += better
    return ranks
