"""Many methods ranked together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy import stats

from nasbench.results.curves import Array, Curves
from nasbench.results.statistics.pairs import holm, relative_differences, signed_rank

TARGETS = 10.0 ** np.linspace(-3, 0, 31)
"""Normalised regrets that `targets_reached` counts: 1 is what a random draw gives, 0 the optimum."""

_RESAMPLES = 1000
_ALPHA = 0.05


def average_ranks(values: Array) -> tuple[Array, int]:
    """Average rank of each method over settings, 1 the best, ties sharing their mean rank.

    Args:
        values: shape (settings, methods, points), lower is better.

    Returns:
        Ranks, shape (methods, points), and the number of settings behind them: those where no method is missing.
    """
    complete = ~np.isnan(values).any(axis=(1, 2))
    ranks = stats.rankdata(rounded(values[complete]), axis=1)
    mean: Array = ranks.mean(axis=0) if complete.any() else np.full(values.shape[1:], np.nan)
    return mean, int(complete.sum())


@dataclass(frozen=True)
class Omnibus:
    """Tests of many methods together on the settings where none is missing."""

    ranks: Array
    """Average ranks, shape (methods,)."""
    settings: int
    p: float
    """Of Friedman's test (1937), that all methods are alike; NaN for fewer than three methods or two settings."""
    critical_difference: float
    """Nemenyi's (1963; Demšar, JMLR 2006, section 3.2.2): average ranks farther apart differ at the 5 % level."""
    nemenyi: Array
    """p of every pair by Nemenyi's test, shape (methods, methods)."""
    wilcoxon: Array
    """p of every pair by Wilcoxon's signed-rank test, after Holm's correction over all pairs, same shape."""


def omnibus(values: Array) -> Omnibus:
    """Friedman's test, and Nemenyi's and Wilcoxon's with Holm's correction after it.

    Args:
        values: shape (settings, methods), lower is better; settings with a NaN are left out.
    """
    values = values[~np.isnan(values).any(axis=1)]
    settings, methods = values.shape
    nothing = np.ones((methods, methods))
    if not settings or methods < 2:
        return Omnibus(np.full(methods, np.nan), settings, np.nan, np.nan, nothing, nothing)
    ranks = stats.rankdata(rounded(values), axis=1)
    mean = ranks.mean(axis=0)
    error = np.sqrt(methods * (methods + 1) / (6 * settings))
    gaps = np.abs(mean[:, None] - mean) / error
    nemenyi = stats.studentized_range.sf(gaps * np.sqrt(2), methods, np.inf)
    difference = float(stats.studentized_range.ppf(1 - _ALPHA, methods, np.inf)) / np.sqrt(2) * error
    tested = methods >= 3 and settings >= 2 and bool((ranks != ranks[:, :1]).any())
    p = float(stats.friedmanchisquare(*ranks.T).pvalue) if tested else np.nan
    pairs = list(combinations(range(methods), 2))
    corrected = holm(np.array([signed_rank(relative_differences(values[:, i], values[:, j])).p for i, j in pairs]))
    wilcoxon = nothing.copy()
    for (i, j), value in zip(pairs, corrected, strict=True):
        wilcoxon[i, j] = wilcoxon[j, i] = value
    return Omnibus(mean, settings, p, difference, nemenyi, wilcoxon)


def cliques(ranks: Array, p_values: Array) -> list[tuple[int, ...]]:
    """The largest groups of methods, neighbours by average rank, of which no two differ at the 5 % level."""
    order = np.argsort(ranks, kind="stable")
    found: list[tuple[int, ...]] = []
    reached = 0
    for start in range(len(order)):
        end = start + 1
        while end < len(order) and (p_values[order[end], order[start:end]] >= _ALPHA).all():
            end += 1
        if end - start > 1 and end > reached:
            found.append(tuple(int(m) for m in order[start:end]))
        reached = max(reached, end)
    return found


def bootstrap_ranks(curves: Curves, checkpoint: int) -> Array:
    """Average ranks of hierarchical bootstrap resamples, shape (resamples, methods).

    Families, then the benchmarks of each drawn family, then the seeds of every method on each setting (independently)
    are drawn with replacement; all constraints of a benchmark stay together. What varies between resamples is what
    other families, benchmarks and seeds could have shown. NaN if in every setting some method is missing.
    """
    rng = np.random.default_rng(0)
    methods = range(len(curves.methods))
    complete = curves.complete
    if not complete:
        return np.full((_RESAMPLES, len(curves.methods)), np.nan)
    values = curves.padded[:, checkpoint - 1]
    ranks = np.empty((len(complete), _RESAMPLES, len(curves.methods)))
    for position, setting in enumerate(complete):
        drawn = np.empty(ranks.shape[1:])
        for method in methods:
            own = values[curves.groups[setting, method]]
            drawn[:, method] = np.median(own[rng.integers(len(own), size=(_RESAMPLES, len(own)))], axis=1)
        ranks[position] = stats.rankdata(rounded(drawn), axis=1)
    weights = _setting_weights(curves, complete, rng)
    mean: Array = np.einsum("rs,srm->rm", weights, ranks) / weights.sum(axis=1, keepdims=True)
    return mean


def _setting_weights(curves: Curves, settings: list[int], rng: np.random.Generator) -> Array:
    """How often each setting is drawn: shape (resamples, settings)."""
    chosen = curves.settings.iloc[settings].reset_index(drop=True)
    tasks = [
        [own.index.to_numpy() for _, own in family.groupby("bench", sort=True)]
        for _, family in chosen.groupby("family", sort=True)
    ]
    weights = np.zeros((_RESAMPLES, len(settings)))
    for resample in weights:
        for family in rng.integers(len(tasks), size=len(tasks)):
            for task in rng.integers(len(tasks[family]), size=len(tasks[family])):
                resample[tasks[family][task]] += 1
    return weights


def targets_reached(normalised: Array, curves: Curves) -> Array:
    """Share of (setting, run, target) triples that each method has reached, shape (methods, evaluations).

    The empirical distribution of run lengths to `TARGETS` (Hansen et al., 2021, COCO), over the settings where no
    method is missing and the oracle is known, which weigh the same; an unreached target, or no feasible evaluation yet,
    counts as not reached. NaN where there is no such setting.

    Args:
        normalised: of every run after each evaluation (`summaries.normalised_regret`).
    """
    total = np.zeros((len(curves.methods), normalised.shape[1]))
    count = np.zeros((len(curves.methods), 1))
    for setting, method in product(curves.complete, range(len(curves.methods))):
        runs = curves.groups[setting, method]
        regret = normalised[runs]
        if np.isnan(regret).all():
            continue
        regret = np.where(np.isnan(curves.incumbent[runs]), np.inf, regret)
        total[method] += np.mean(1 - np.searchsorted(TARGETS, regret - 1e-12) / len(TARGETS), axis=0)
        count[method] += 1
    shares: Array = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return shares


def rounded(values: Array) -> Array:
    """To nine significant digits, so that rounding noise ties."""
    usual = np.isfinite(values) & (np.abs(values) > 1e-290)
    exponent = np.floor(np.log10(np.abs(values), where=usual, out=np.zeros_like(values)))
    scale = 10.0 ** (8 - exponent)
    found: Array = np.where(usual, np.round(np.where(usual, values, 0.0) * scale) / scale, values)
    return found
