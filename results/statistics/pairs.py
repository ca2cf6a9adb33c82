"""Two methods held against each other."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from scipy import stats

from nasbench.results.curves import Array, Curves
from nasbench.results.statistics.summaries import medians

TOLERANCE = 1e-9
"""Relative difference below which two values are a tie: rounding noise is not a win."""

_SAMPLES = 20_000
_FEWEST = 5  # settings behind a posterior: with fewer the prior speaks

Alternative: TypeAlias = Literal["two-sided", "greater"]


def compare(curves: Curves, baseline: int, checkpoints: tuple[int, ...]) -> pd.DataFrame:
    """A baseline held against each other method over all settings that have both.

    Per setting the medians over seeds decide: a win is a lower median of the baseline. Wilcoxon's signed-rank test
    (Wilcoxon, 1945; zeros dropped) takes the relative differences of the medians; Holm's correction (1979) runs over
    the other methods at each checkpoint.

    Columns: method, evaluations, pairs, wins, losses, ties; p, p_holm (two-sided) and floor (the smallest p that so
    many pairs without zero can reach, however clear the difference); p_greater, p_greater_holm (one-sided: the baseline
    is better); families, p_family, floor_family (two-sided, one difference a
    family: the median of its settings'); noisy (settings whose repetition noise is known) and better, equivalent, worse
    (the posterior probabilities of `bayesian_signed_rank` over those, with a region of practical equivalence of one
    standard deviation of the setting's repetition noise; NaN for fewer than five settings). A setting where neither
    method has found anything feasible says nothing about practical equivalence, and is left out there.
    """
    all_medians = medians(curves)
    noise = curves.settings["noise"].to_numpy(float)
    family = pd.factorize(curves.settings["family"])[0]
    found = np.zeros(all_medians.shape, bool)
    for (setting, method), runs in curves.groups.items():
        found[setting, method] = np.isfinite(curves.incumbent[runs]).any(axis=0)
    frames = []
    for checkpoint in checkpoints:
        at = all_medians[:, :, checkpoint - 1]
        rows = []
        for method in range(len(curves.methods)):
            if method == baseline:
                continue
            both = ~np.isnan(at[:, [method, baseline]]).any(axis=1)
            other, ours = at[both, method], at[both, baseline]
            differences = relative_differences(other, ours)
            wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
            by_family = np.array([np.median(differences[family[both] == f]) for f in np.unique(family[both])])
            known = both & (noise > 0) & found[:, [method, baseline], checkpoint - 1].any(axis=1)
            standardised = np.where(differences == 0, 0.0, other - ours)[known[both]] / noise[known]
            two_sided, of_family = signed_rank(differences), signed_rank(by_family)
            enough = len(standardised) >= _FEWEST
            posterior = bayesian_signed_rank(standardised if enough else standardised[:0], rope=1.0)
            rows.append(
                {
                    "method": method,
                    "evaluations": checkpoint,
                    "pairs": len(differences),
                    "wins": wins,
                    "losses": losses,
                    "ties": len(differences) - wins - losses,
                    "p": two_sided.p,
                    "floor": two_sided.floor,
                    "p_greater": signed_rank(differences, "greater").p,
                    "families": len(by_family),
                    "p_family": of_family.p,
                    "floor_family": of_family.floor,
                    "noisy": len(standardised),
                    **posterior._asdict(),
                }
            )
        frame = pd.DataFrame(rows)
        for name in ("p", "p_greater"):
            frame.insert(list(frame).index(name) + 1, f"{name}_holm", holm(frame[name].to_numpy(float)))
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


@lru_cache(maxsize=1)
def within(curves: Curves, baseline: int, checkpoint: int) -> pd.DataFrame:
    """A baseline held against each other method inside each setting, paired over the seeds that both have.

    Columns: setting, method, evaluations, pairs, wins, losses, ties (of the baseline), p (Wilcoxon, two-sided), p_holm
    (over the other methods of the setting), floor.
    """
    values, seeds = curves.padded[:, checkpoint - 1], curves.runs["seed"].to_numpy()
    frames = []
    for setting in range(len(curves.settings)):
        ours = curves.groups.get((setting, baseline))
        if ours is None:
            continue
        rows = []
        for method in range(len(curves.methods)):
            theirs = curves.groups.get((setting, method))
            if method == baseline or theirs is None:
                continue
            _, left, right = np.intersect1d(seeds[theirs], seeds[ours], return_indices=True)
            differences = relative_differences(values[theirs[left]], values[ours[right]])
            wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
            ties = len(differences) - wins - losses
            rows.append((setting, method, checkpoint, len(differences), wins, losses, ties, *signed_rank(differences)))
        names = ["setting", "method", "evaluations", "pairs", "wins", "losses", "ties", "p", "floor"]
        frame = pd.DataFrame(rows, columns=names)
        frame.insert(8, "p_holm", holm(frame["p"].to_numpy(float)))
        frames.append(frame)
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def relative_differences(values: Array, baseline: Array) -> Array:
    """(value - baseline) / max(|value|, |baseline|), and exactly 0 within `TOLERANCE`: comparable across settings."""
    scale = np.maximum(np.abs(values), np.abs(baseline))
    differences: Array = np.divide(values - baseline, scale, out=np.zeros_like(scale), where=scale > 0)
    differences[np.abs(differences) <= TOLERANCE] = 0.0
    return differences


class SignedRank(NamedTuple):
    """The outcome of Wilcoxon's signed-rank test."""

    p: float
    floor: float
    """The smallest p that so many non-zero differences can reach."""


def signed_rank(differences: Array, alternative: Alternative = "two-sided") -> SignedRank:
    """Wilcoxon's signed-rank test (Wilcoxon, 1945), zeros dropped; p and floor are 1 where every difference is zero.

    Args:
        alternative: "greater" tests whether the differences tend to be positive.
    """
    kept = differences[differences != 0]  # scipy's choice between exact and asymptotic would count the zeros
    if not len(kept):
        return SignedRank(1.0, 1.0)
    return SignedRank(float(stats.wilcoxon(kept, alternative=alternative).pvalue), _floor(len(kept), alternative))


@lru_cache(maxsize=1000)
def _floor(pairs: int, alternative: Alternative) -> float:
    """The p of a clean sweep."""
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


def holm(p_values: Array) -> Array:
    """p-values corrected for their number (Holm, 1979); empty in, empty out.

    Ours, since statsmodels' (which the tests hold it against) collects garbage at every call: 0.1 s in a large report.
    """
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected
