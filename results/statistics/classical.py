"""Tests of methods over settings as papers do them, which take settings for independent: a secondary part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from nasbench.results.curves import Array, Curves
from nasbench.results.statistics.estimates import holm
from nasbench.results.statistics.improvement import TOLERANCE, places
from nasbench.results.statistics.summaries import medians

_SAMPLES = 20_000
_FEWEST = 5  # settings behind a posterior: with fewer the prior speaks
_LEVEL = 0.05

Alternative: TypeAlias = Literal["two-sided", "greater"]


def compare(curves: Curves, baseline: int, points: Sequence[float]) -> pd.DataFrame:
    """A baseline held against each other method over all settings that have both.

    Per setting the medians over seeds decide: a win is a lower median of the baseline. Wilcoxon's signed-rank test
    (Wilcoxon, 1945; zeros dropped) takes the relative differences of the medians; Holm's correction (1979) runs over
    the other methods at each point.

    Columns: method, point, pairs, wins, losses, ties; p, p_holm (two-sided) and floor (p if these very differences all
    had one sign); p_greater, p_greater_holm (one-sided: the baseline is better); benches, p_benches, p_benches_holm
    (two-sided, one difference a benchmark: the mean of its settings'); noisy (settings whose repetition noise is known)
    and better, equivalent, worse (the posterior probabilities of `bayesian_signed_rank` over those, with a region of
    practical equivalence of one standard deviation of the setting's repetition noise; NaN for fewer than five
    settings, and before the last point). A setting where neither method has found anything feasible says nothing about
    practical equivalence, and is left out there.
    """
    values = curves.at(points)
    middle = medians(curves, values)
    found = np.zeros(middle.shape, bool)
    for (setting, method), runs in curves.groups.items():
        found[setting, method] = np.isfinite(values[runs]).any(axis=0)
    others = [m for m in range(len(curves.methods)) if m != baseline]
    frames = []
    for i, point in enumerate(points):
        is_last = i == len(points) - 1
        rows = [_held(curves, middle[:, :, i], found[:, :, i], baseline, m, is_last) for m in others]
        frame = pd.DataFrame(rows).assign(point=point)
        for name in ("p", "p_greater", "p_benches"):
            frame.insert(list(frame).index(name) + 1, f"{name}_holm", holm(frame[name].to_numpy(float)))
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _held(
    curves: Curves, middle: Array, found: NDArray[np.bool_], baseline: int, method: int, is_last: bool
) -> dict[str, float | int]:
    both = ~np.isnan(middle[:, [method, baseline]]).any(axis=1)
    other, ours = middle[both, method], middle[both, baseline]
    differences = relative_differences(other, ours)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    by_bench = benchmark_means(differences, curves.settings["bench"].to_numpy()[both])
    noise = curves.settings["noise"].to_numpy(float)
    known = both & (noise > 0) & found[:, [method, baseline]].any(axis=1)
    standardised = np.where(differences == 0, 0.0, other - ours)[known[both]] / noise[known]
    enough = is_last and len(standardised) >= _FEWEST  # it takes as long as all the rest
    posterior = bayesian_signed_rank(standardised if enough else standardised[:0], rope=1.0)
    two_sided = signed_rank(differences)
    return {
        "method": method,
        "pairs": len(differences),
        "wins": wins,
        "losses": losses,
        "ties": len(differences) - wins - losses,
        "p": two_sided.p,
        "floor": two_sided.floor,
        "p_greater": signed_rank(differences, "greater").p,
        "benches": len(by_bench),
        "p_benches": signed_rank(by_bench).p,
        "noisy": len(standardised),
        **posterior._asdict(),
    }


def relative_differences(values: Array, baseline: Array) -> Array:
    """(value - baseline) / max(|value|, |baseline|), and exactly 0 within `TOLERANCE`: comparable across settings."""
    scale = np.maximum(np.abs(values), np.abs(baseline))
    differences: Array = np.divide(values - baseline, scale, out=np.zeros_like(scale), where=scale > 0)
    differences[np.abs(differences) <= TOLERANCE] = 0.0
    return differences


def benchmark_means(differences: Array, benches: NDArray[np.object_]) -> Array:
    """Mean difference of each benchmark, shape (benchmarks,)."""
    number, names = pd.factorize(benches)
    found: Array = np.bincount(number, weights=differences) / np.bincount(number) if len(names) else np.zeros(0)
    return found


class SignedRank(NamedTuple):
    """The outcome of Wilcoxon's signed-rank test."""

    p: float
    floor: float
    """p if these differences all had one sign: none of their sizes can give a smaller one."""


def signed_rank(differences: Array, alternative: Alternative = "two-sided") -> SignedRank:
    """Wilcoxon's signed-rank test (Wilcoxon, 1945), zeros dropped; p and floor are 1 where every difference is zero.

    NaN where there are no differences.

    Args:
        alternative: "greater" tests whether the differences tend to be positive.
    """
    if not len(differences):
        return SignedRank(np.nan, np.nan)
    kept = differences[differences != 0]  # scipy's choice between exact and asymptotic would count the zeros
    if not len(kept):
        return SignedRank(1.0, 1.0)
    tied = len(np.unique(np.abs(kept))) < len(kept)
    floor = (
        float(stats.wilcoxon(np.abs(kept), alternative=alternative).pvalue) if tied else _floor(len(kept), alternative)
    )
    return SignedRank(float(stats.wilcoxon(kept, alternative=alternative).pvalue), floor)


@lru_cache(maxsize=1000)
def _floor(pairs: int, alternative: Alternative) -> float:
    """The p of a clean sweep without ties."""
    return float(stats.wilcoxon(np.arange(1.0, pairs + 1), alternative=alternative).pvalue)


class Posterior(NamedTuple):
    """Probabilities that the baseline is practically better, equivalent or worse; they sum to 1."""

    better: float
    equivalent: float
    worse: float


def bayesian_signed_rank(differences: Array, rope: float) -> Posterior:
    """The Bayesian signed-rank test (Benavoli et al., ICML 2014; with a region of practical equivalence, JMLR 2017).

    A Dirichlet process over the differences with a pseudo-observation of weight 1/2 at 0; each draw of the posterior
    weighs the sums of pairs of differences as below, within or above twice the region, and the largest weight wins.

    Args:
        differences: other - baseline, shape (settings,): positive where the baseline is better.
        rope: half the width of the region of practical equivalence, above 0, in the unit of the differences.

    NaN where there are no differences.
    """
    if not len(differences):
        return Posterior(np.nan, np.nan, np.nan)
    values = np.concatenate([[0.0], differences])
    sums = values[:, None] + values
    above, below = (np.heaviside(sign * sums - 2 * rope, 0.5) for sign in (1.0, -1.0))
    prior = np.concatenate([[0.5], np.ones(len(differences))])
    weights = np.random.default_rng(0).dirichlet(prior, _SAMPLES)
    better, worse = (np.einsum("si,si->s", weights @ region, weights) for region in (above, below))
    winner = np.argmax([better, 1 - better - worse, worse], axis=0)
    return Posterior(*(np.bincount(winner, minlength=3) / _SAMPLES).tolist())


@dataclass(frozen=True)
class Omnibus:
    """Tests of many methods together on the settings where none is missing."""

    ranks: Array
    """Average ranks of medians, shape (methods,)."""
    settings: int
    p: float
    """Of Friedman's test (1937), that all methods are alike; NaN for fewer than three methods or two settings."""
    critical_difference: float
    """Nemenyi's (1963; Demšar, JMLR 2006, section 3.2.2) at the 5 % level."""
    nemenyi: Array
    """p of every pair by Nemenyi's test, shape (methods, methods)."""
    wilcoxon: Array
    """p of every pair by Wilcoxon's signed-rank test over settings, after Holm's correction over all, same shape."""
    benches: Array
    """The same with one difference a benchmark, the mean of its settings'."""


def omnibus(values: Array, benches: NDArray[np.object_]) -> Omnibus:
    """Friedman's test, and Nemenyi's and Wilcoxon's with Holm's correction after it.

    Args:
        values: shape (settings, methods), lower is better; settings with a NaN are left out.
        benches: the benchmark of each setting.
    """
    kept = ~np.isnan(values).any(axis=1)
    values, benches = values[kept], benches[kept]
    settings, methods = values.shape
    nothing = np.full((methods, methods), np.nan)
    if not settings or methods < 2:
        return Omnibus(np.full(methods, np.nan), settings, np.nan, np.nan, nothing, nothing, nothing)
    ranks = stats.rankdata(places(values.T), axis=0).T
    mean = ranks.mean(axis=0)
    error = np.sqrt(methods * (methods + 1) / (6 * settings))
    gaps = np.abs(mean[:, None] - mean) / error
    nemenyi = stats.studentized_range.sf(gaps * np.sqrt(2), methods, np.inf)
    difference = float(stats.studentized_range.ppf(1 - _LEVEL, methods, np.inf)) / np.sqrt(2) * error
    tested = methods >= 3 and settings >= 2 and bool((ranks != ranks[:, :1]).any())
    p = float(stats.friedmanchisquare(*ranks.T).pvalue) if tested else np.nan
    differences = {(i, j): relative_differences(values[:, i], values[:, j]) for i, j in combinations(range(methods), 2)}
    of_settings = _symmetric({key: signed_rank(own).p for key, own in differences.items()}, methods)
    of_benches = {key: signed_rank(benchmark_means(own, benches)).p for key, own in differences.items()}
    return Omnibus(mean, settings, p, difference, nemenyi, of_settings, _symmetric(of_benches, methods))


def _symmetric(p_values: dict[tuple[int, int], float], methods: int) -> Array:
    """p of every pair after Holm's correction as a matrix."""
    found = np.ones((methods, methods))
    for (i, j), p in zip(p_values, holm(np.array([*p_values.values()])), strict=True):
        found[i, j] = found[j, i] = p
    return found


def cliques(ranks: Array, apart: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """The largest groups of methods, neighbours by rank, of which no two are told apart.

    Args:
        apart: whether each pair is told apart, shape (methods, methods).
    """
    order = np.argsort(ranks, kind="stable")
    found: list[tuple[int, ...]] = []
    reached = 0
    for start in range(len(order)):
        end = start + 1
        while end < len(order) and not apart[order[end], order[start:end]].any():
            end += 1
        if end - start > 1 and end > reached:
            found.append(tuple(int(m) for m in order[start:end]))
        reached = max(reached, end)
    return found
