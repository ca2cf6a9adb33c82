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


def target_scores(regret: Array) -> Array:
    """Share of the targets 1 … 10⁻³ of normalised regret, even in the logarithm, that are reached; in [0, 1].

    0 where the regret is NaN (nothing feasible yet) or above 1, so that padding cannot dominate an average of it.
    """
    with np.errstate(divide="ignore"):
        share = -np.log10(np.maximum(regret, 0.0)) / _DECADES
    return np.where(np.isnan(regret), 0.0, np.clip(share, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class Targets:
    """Target scores of every run, on the settings that all methods have and whose oracle is known."""

    settings: NDArray[np.intp]
    """Their numbers."""
    weights: Array
    """Theirs, nested: shape (settings,)."""
    final: Array
    """At the end of the budget, shape (methods, settings, seeds): the seeds that all have."""
    area: Array
    """Mean over the budget, same shape."""


def with_oracle(curves: Curves) -> NDArray[np.intp]:
    """The settings whose oracle and median are known, and differ."""
    return np.flatnonzero(curves.settings["median"].to_numpy(float) - curves.oracle > 0)


def known(comparison: Comparison) -> list[int]:
    """Those of them that every method has."""
    return sorted(set(comparison.curves.complete) & set(with_oracle(comparison.curves).tolist()))


def scores(comparison: Comparison, points: Sequence[float] | Array) -> Array:
    """Target score of every run at some points, shape (runs, points)."""
    curves = comparison.curves
    return target_scores(normalised_regret(curves, curves.at(points)))


def reached(comparison: Comparison, points: Sequence[float] | Array) -> Array:
    """Mean target score of each method, shape (methods, points), weights nested; NaN where none is known."""
    settings = known(comparison)
    found = np.full((len(comparison.methods), len(points)), np.nan)
    if settings:
        weights = comparison.field.tasks.of(np.array(settings)).weights
        own = scores(comparison, points)
        groups = comparison.curves.groups
        for method in range(len(comparison.methods)):
            found[method] = weights @ np.array([own[groups[s, method]].mean(axis=0) for s in settings])
    return found


def profiles(comparison: Comparison, taus: Array) -> Array:
    """Share of runs whose normalised regret at the end is at most tau, shape (methods, taus): performance profiles.

    After Agarwal et al. (NeurIPS 2021); settings have nested weights. NaN where no oracle is known.
    """
    settings, curves = known(comparison), comparison.curves
    found = np.full((len(comparison.methods), len(taus)), np.nan)
    if settings:
        weights = comparison.field.tasks.of(np.array(settings)).weights
        regret = normalised_regret(curves, curves.at((comparison.end,)))[:, 0]
        regret = np.where(np.isnan(regret), np.inf, regret)
        for method in range(len(comparison.methods)):
            own = [regret[curves.groups[s, method]] for s in settings]
            found[method] = weights @ np.array([(r[:, None] <= taus).mean(axis=0) for r in own])
    return found


def table(comparison: Comparison) -> Targets | None:
    """The target scores that means and areas are made of; None where no oracle is known or no seed is common."""
    curves, settings = comparison.curves, known(comparison)
    seeds = curves.runs["seed"].to_numpy()
    methods = range(len(comparison.methods))
    owned = [set(seeds[curves.groups[s, m]].tolist()) for s in settings for m in methods]
    common = sorted(set.intersection(*owned)) if owned else []
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
    return Targets(numbers, comparison.field.tasks.of(numbers).weights, finals, means)


def interquartile_mean(values: Array) -> float:
    """Mean of the middle half of all values (Agarwal et al., NeurIPS 2021)."""
    cut = values.size // 4
    middle = np.partition(values.ravel(), (cut, values.size - cut - 1))[cut : values.size - cut]
    return float(middle.mean())


def jackknife(values: Array, statistic: Callable[[Array], float]) -> Estimate:
    """A statistic of runs with its delete-one-seed jackknife: pseudo-values S θ - (S - 1) θ₋ₖ, t with S - 1 df.

    Args:
        values: last axis: seeds. Seed k is left out everywhere at once.
    """
    count = values.shape[-1]
    whole = statistic(values)
    if count < FEWEST:
        return Estimate(whole)
    without = np.array([statistic(np.delete(values, k, axis=-1)) for k in range(count)])
    pseudo = count * whole - (count - 1) * without
    return Estimate(whole, float(np.std(pseudo, ddof=1) / np.sqrt(count)), count - 1)


def areas(comparison: Comparison) -> Array:
    """Mean target score of every run over the budget, shape (runs,)."""
    curves = comparison.curves
    if curves.seconds is not None:  # at instants, evenly spaced
        instants = np.arange(1, _INSTANTS + 1) / _INSTANTS * comparison.end
        mean: Array = scores(comparison, instants).mean(axis=1)
        return mean
    points = np.arange(1.0, round(comparison.end) + 1)
    chunks = np.array_split(points, max(1, len(points) // 50))  # a share of the runs' rows at a time
    total: Array = sum((scores(comparison, c).sum(axis=1) for c in chunks), start=np.zeros(len(curves.runs)))
    found: Array = total / len(points)
    return found
