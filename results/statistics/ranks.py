"""Expected ranks of methods: on these benchmarks, and on new tasks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from nasbench.results.curves import Array
from nasbench.results.statistics.estimates import FEWEST, Estimate, Strata, over_tasks
from nasbench.results.statistics.improvement import Places, improvement, mid_ranks, seed_scores
from nasbench.results.statistics.nesting import Tasks


@dataclass(frozen=True, eq=False)
class Field:
    """The runs of all settings at one point."""

    places: Places
    """Shape (settings, methods, seeds), comparable inside a setting; -1 where there is no run."""
    identity: NDArray[np.int64]
    """Same shape: runs of a setting that are the same have the same number; 0 without any feasible evaluation, -1
    without a run."""
    tasks: Tasks
    """Of all settings."""


@dataclass(frozen=True)
class Rank:
    """Expected rank of a method: 1 + the sum of the probabilities that each other one is better."""

    method: int
    these: Estimate
    new: Estimate
    first: int
    last: int
    """The places it may have: 1 + those that are better, and all but those that are worse."""


def ranked(runs: Field, settings: NDArray[np.intp], methods: list[int]) -> tuple[tuple[Rank, ...], int, str]:
    """Ranks without places, the best first; the seeds behind their intervals; what those for new tasks are over."""
    if not len(settings):
        return (), 0, ""
    places_ = runs.places[settings][:, methods]
    tasks = runs.tasks.of(settings)
    weights = tasks.weights
    common = np.all(places_ >= 0, axis=1)  # the seeds that every method has in a setting
    seeds, count = int(common.sum(axis=1).min()), len(methods)
    if seeds < FEWEST:
        values = expected_ranks(places_, weights)
        order = np.argsort(values, kind="stable")
        bare = [Estimate(float(values[i])) for i in order]
        return tuple(Rank(methods[i], e, e, 1, count) for i, e in zip(order, bare, strict=True)), seeds, ""
    found, unit = [], ""
    for method, strata in zip(methods, _ranks_of_seeds(places_, common), strict=True):
        these = strata.estimate(weights, extra=0.25 * (count - 1))
        new, unit, _ = over_tasks(strata.means, tasks, these)
        found.append(Rank(method, these, new, 1, count))
    return tuple(sorted(found, key=lambda rank: rank.these.value)), seeds, unit


def _ranks_of_seeds(places_: Places, common: NDArray[np.bool_]) -> list[Strata]:
    """The rank of each method by what each seed says of all pairs.

    Args:
        places_: shape (settings, methods, seeds).
        common: the seeds on which a setting is judged, shape (settings, seeds).
    """
    settings, count, _ = places_.shape
    means, variances = np.empty((2, count, settings))
    patterns, number = np.unique(common, axis=0, return_inverse=True)
    for i, seeds in enumerate(patterns):
        rows = np.flatnonzero(number.ravel() == i)
        own = places_[rows][:, :, seeds]
        ranks = np.ones((count, len(rows), own.shape[2]))
        for a, b in combinations(range(count), 2):
            scores = seed_scores(own[:, a], own[:, b])
            ranks[a] += 1 - scores
            ranks[b] += scores
        means[:, rows], variances[:, rows] = ranks.mean(axis=2), ranks.var(axis=2, ddof=1)
    return [Strata(m, v, common.sum(axis=1)) for m, v in zip(means, variances, strict=True)]


def expected_ranks(places_: Places, weights: Array) -> Array:
    """Expected rank of each method, 1 the best, shape (methods,).

    Args:
        places_: shape (settings, methods, seeds), every method present in every setting.
        weights: of the settings, sum 1.
    """
    _, methods, seeds = places_.shape
    if (places_ >= 0).all():  # from the ranks of all runs together, less those among a method's own
        joined = np.array([mid_ranks(own.ravel()) for own in places_]).reshape(places_.shape)
        behind = joined.sum(axis=2) - seeds / 2 - seeds**2 / 2
        found: Array = 1 + weights @ (behind / seeds**2)
        return found
    ranks = np.ones(methods)
    for a, b in combinations(range(methods), 2):
        better = float(weights @ improvement(places_[:, a], places_[:, b]))
        ranks[a] += 1 - better
        ranks[b] += better
    return ranks
