"""Targets of normalised regret: shares reached, areas, performance profiles, and interquartile means by jackknife."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nasbench.results.curves import Array, Curves
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.estimates import FEWEST, Estimate
from nasbench.results.statistics.summaries import normalised_regret

_DECADES = 3.0
_INSTANTS = 200
_MOST_ANEW = 500
"""Largest number of seeds for which a jackknife computes its statistic anew without each of them."""


def target_scores(regret: Array) -> Array:
    """Reached share of the targets 1 … 10⁻³ of normalised regret, evenly spaced on a log scale; in [0, 1].

    0 if the regret is NaN (nothing feasible yet) or above 1, so that padding cannot dominate an average.
    """
    with np.errstate(divide="ignore"):
        share = -np.log10(np.maximum(regret, 0.0)) / _DECADES
    return np.where(np.isnan(regret), 0.0, np.clip(share, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class Targets:
    """Target scores of every run, on settings with all methods and a known oracle."""

    weights: Array
    """Nested weights of the settings, shape (settings,)."""
    final: Array
    """Target score at the end of the budget, shape (methods, settings, seeds), for the seeds of all methods."""
    area: Array
    """Mean target score over the budget, same shape."""


def with_oracle(curves: Curves) -> NDArray[np.intp]:
    """The settings whose oracle and median are known and differ."""
    return np.flatnonzero(~np.isnan(curves.span))


def known(comparison: Comparison) -> list[int]:
    """The settings with an oracle (`with_oracle`) on which every method has runs."""
    return sorted(set(comparison.curves.complete) & set(with_oracle(comparison.curves).tolist()))


def scores(comparison: Comparison, points: Sequence[float] | Array) -> Array:
    """Target score of every run at some points, shape (runs, points)."""
    curves = comparison.curves
    return target_scores(normalised_regret(curves, curves.at(points)))


def reached(comparison: Comparison, points: Sequence[float] | Array, family: str | None = None) -> Array:
    """Mean target score of each method with nested weights, shape (methods, points); NaN without known oracles.

    Args:
        family: the family of benchmarks to average over; by default all.
    """
    families = comparison.families
    settings = [s for s in known(comparison) if family in (None, families.iloc[s])]
    shares = np.full((len(comparison.methods), len(points)), np.nan)
    if settings:
        weights = comparison.field.tasks.of(np.array(settings)).weights
        run_scores = scores(comparison, points)
        groups = comparison.curves.groups
        for method in range(len(comparison.methods)):
            shares[method] = weights @ np.array([run_scores[groups[s, method]].mean(axis=0) for s in settings])
    return shares


def profiles(comparison: Comparison, taus: Array) -> Array:
    """Share of runs whose normalised regret at the end is at most tau, shape (methods, taus): performance profiles.

    After Agarwal et al. (NeurIPS 2021); settings have nested weights. NaN if no oracle is known.
    """
    settings, curves = known(comparison), comparison.curves
    shares = np.full((len(comparison.methods), len(taus)), np.nan)
    if settings:
        weights = comparison.field.tasks.of(np.array(settings)).weights
        regret = normalised_regret(curves, curves.at((comparison.end,)))[:, 0]
        regret = np.where(np.isnan(regret), np.inf, regret)
        for method in range(len(comparison.methods)):
            regrets = [regret[curves.groups[s, method]] for s in settings]
            shares[method] = weights @ np.array([(r[:, None] <= taus).mean(axis=0) for r in regrets])
    return shares


def table(comparison: Comparison) -> Targets | None:
    """The target scores of all runs; None if no oracle is known or no seed is common to all methods."""
    curves, settings = comparison.curves, known(comparison)
    seeds = curves.runs["seed"].to_numpy()
    methods = range(len(comparison.methods))
    of_groups = [set(seeds[curves.groups[s, m]].tolist()) for s in settings for m in methods]
    common = sorted(set.intersection(*of_groups)) if of_groups else []
    if not common:
        return None
    area, final = areas(comparison), scores(comparison, (comparison.end,))[:, 0]
    shape = (len(methods), len(settings), len(common))
    finals, means = np.empty(shape), np.empty(shape)
    for m in methods:
        for i, s in enumerate(settings):
            rows = curves.groups[s, m]
            rows = rows[np.isin(seeds[rows], common)]
            finals[m, i], means[m, i] = final[rows], area[rows]
    numbers = np.array(settings)
    return Targets(comparison.field.tasks.of(numbers).weights, finals, means)


def interquartile_mean(values: Array) -> float:
    """Mean of the middle half of all values (Agarwal et al., NeurIPS 2021)."""
    cut = values.size // 4
    middle = np.partition(values.ravel(), (cut, values.size - cut - 1))[cut : values.size - cut]
    return float(middle.mean())


def interquartile_means_without(values: Array) -> Array:
    """`interquartile_mean` without each seed, from one sorting, shape (seeds,).

    Args:
        values: shape (settings, seeds).
    """
    settings, seeds = values.shape
    order = np.argsort(values, axis=None, kind="stable")
    place = np.empty(values.size, np.intp)
    place[order] = np.arange(values.size)
    removed = np.sort(place.reshape(values.shape), axis=0)  # places of a seed's values among all, ascending
    ordered = values.ravel()[order]
    sums = np.concatenate([[0.0], np.cumsum(ordered)])

    def lowest(number: int) -> Array:
        """The sum of that many lowest values that remain without each seed."""
        below = removed - np.arange(settings)[:, None] < number
        rest: Array = sums[number + below.sum(axis=0)] - np.where(below, ordered[removed], 0.0).sum(axis=0)
        return rest

    kept = settings * (seeds - 1)
    cut = kept // 4
    means: Array = (lowest(kept - cut) - lowest(cut)) / (kept - 2 * cut)
    return means


def means_without(values: Array) -> Array:
    """The mean over seeds without each seed, shape (settings, seeds).

    Args:
        values: shape (settings, seeds).
    """
    seeds = values.shape[1]
    means: Array = (seeds * values.mean(axis=1, keepdims=True) - values) / (seeds - 1)
    return means


def jackknife(
    values: Array, statistic: Callable[[Array], float], without: Callable[[Array], Array] | None = None
) -> Estimate:
    """A statistic of runs with a delete-one-seed jackknife: pseudo-values S θ - (S - 1) θ₋ₖ, t with S - 1 df.

    Args:
        values: the last axis is the seeds; seed k is left out everywhere at once.
        without: the statistic without each seed, all at once, for more than `_MOST_ANEW` seeds: to compute it anew for
            each of them takes steps by the square of their number.
    """
    count = values.shape[-1]
    whole = statistic(values)
    if count < FEWEST:
        return Estimate(whole)
    if without is None or count <= _MOST_ANEW:
        lacking = np.array([statistic(np.delete(values, k, axis=-1)) for k in range(count)])
    else:
        lacking = without(values)
    pseudo = count * whole - (count - 1) * lacking
    return Estimate(whole, float(np.std(pseudo, ddof=1) / np.sqrt(count)), count - 1)


def areas(comparison: Comparison) -> Array:
    """Mean target score of every run over the budget, shape (runs,)."""
    curves = comparison.curves
    if curves.seconds is not None:  # at evenly spaced instants
        instants = np.arange(1, _INSTANTS + 1) / _INSTANTS * comparison.end
        mean: Array = scores(comparison, instants).mean(axis=1)
        return mean
    points = np.arange(1.0, round(comparison.end) + 1)
    chunks = np.array_split(points, max(1, len(points) // 50))  # limits memory
    total: Array = sum((scores(comparison, c).sum(axis=1) for c in chunks), start=np.zeros(len(curves.runs)))
    area: Array = total / len(points)
    return area
