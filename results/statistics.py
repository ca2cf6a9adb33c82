"""The statistics of a report, each a pure function of the curves or of what another returned."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

from results.curves import Array, Curves

TOLERANCE = 1e-9
"""Relative difference below which two values are a tie: rounding noise is not a win."""


def performance(curves: Curves, checkpoints: tuple[int, ...]) -> pd.DataFrame:
    """The best feasible objective of each method on each setting at some evaluation counts.

    Columns: setting, method (their numbers), evaluations, runs, found (share of the runs that have a feasible
    incumbent), q1, median, q3, mean (over seeds, after `Curves.padded`), regret (of the median, in % of the oracle; NaN
    where the oracle is unknown or 0).
    """
    padded = curves.padded()
    oracle = curves.settings["oracle"].to_numpy(float)
    rows = []
    for setting, method, runs in _groups(curves):
        for checkpoint in checkpoints:
            values = padded[runs, checkpoint - 1]
            q1, median, q3 = np.quantile(values, [0.25, 0.5, 0.75])
            found = float(np.mean(np.isfinite(curves.incumbent[runs, checkpoint - 1])))
            known = oracle[setting] > 0
            regret = 100 * (median - oracle[setting]) / oracle[setting] if known else np.nan
            rows.append((setting, method, checkpoint, len(runs), found, q1, median, q3, values.mean(), regret))
    names = ["setting", "method", "evaluations", "runs", "found", "q1", "median", "q3", "mean", "regret"]
    return pd.DataFrame(rows, columns=names)


def feasibility(curves: Curves) -> pd.DataFrame:
    """How each method treats the constraints of each setting.

    Columns: setting, method, runs, feasible_share (feasible evaluations over all evaluations), first_feasible (upper
    median over seeds of the number of evaluations to the first feasible one; infinite where half the runs have none),
    never (runs without a feasible evaluation), failed_evaluations, failed_runs.
    """
    evaluations = curves.runs["evaluations"].to_numpy()
    failures = (curves.runs["failure"] != "").to_numpy()
    failed = curves.runs["failed_evaluations"].to_numpy()
    any_feasible: NDArray[np.bool_] = np.any(curves.feasible, axis=1)
    first = np.where(any_feasible, curves.feasible.argmax(axis=1) + 1.0, np.inf)
    rows = []
    for setting, method, runs in _groups(curves):
        share = curves.feasible[runs].sum() / max(1, evaluations[runs].sum())
        median = np.quantile(first[runs], 0.5, method="higher")  # between a number and infinity lies nothing
        never = int((~any_feasible[runs]).sum())
        rows.append(
            (setting, method, len(runs), share, median, never, int(failed[runs].sum()), int(failures[runs].sum()))
        )
    names = ["setting", "method", "runs", "feasible_share", "first_feasible", "never"]
    return pd.DataFrame(rows, columns=[*names, "failed_evaluations", "failed_runs"])


def medians(curves: Curves) -> Array:
    """Median over seeds of the padded incumbents, shape (settings, methods, evaluations); NaN where there is no run."""
    padded = curves.padded()
    found = np.full((len(curves.settings), len(curves.methods), curves.evaluations), np.nan)
    for setting, method, runs in _groups(curves):
        found[setting, method] = np.median(padded[runs], axis=0)
    return found


def average_ranks(values: Array) -> tuple[Array, int]:
    """Average rank of each method over settings, 1 the best, ties sharing their mean rank.

    Args:
        values: shape (settings, methods, evaluations), lower is better.

    Returns:
        Ranks, shape (methods, evaluations), and the number of settings behind them: those where no method is missing.
    """
    complete = ~np.isnan(values).any(axis=(1, 2))
    ranks = stats.rankdata(_rounded(values[complete]), axis=1)
    mean: Array = ranks.mean(axis=0) if complete.any() else np.full(values.shape[1:], np.nan)
    return mean, int(complete.sum())


def relative_differences(values: Array, baseline: Array) -> Array:
    """(value - baseline) / max(|value|, |baseline|), and exactly 0 within `TOLERANCE`: comparable across settings."""
    scale = np.maximum(np.abs(values), np.abs(baseline))
    differences: Array = np.divide(values - baseline, scale, out=np.zeros_like(scale), where=scale > 0)
    differences[np.abs(differences) <= TOLERANCE] = 0.0
    return differences


def compare(curves: Curves, baseline: int, checkpoints: tuple[int, ...]) -> pd.DataFrame:
    """A baseline held against each other method over all settings that have both.

    Per setting the medians over seeds decide: a win is a lower median of the baseline. Wilcoxon's signed-rank test
    (Wilcoxon, 1945; two-sided, zeros dropped) takes the relative differences of the medians; Holm's correction (1979)
    runs over the other methods at each checkpoint.

    Columns: method, evaluations, pairs, wins, losses, ties, p, p_holm, floor (the smallest p that so many pairs without
    zero can reach: no smaller p is possible, however clear the difference).
    """
    all_medians = medians(curves)
    frames = []
    for checkpoint in checkpoints:
        at = all_medians[:, :, checkpoint - 1]
        rows = []
        for method in range(len(curves.methods)):
            if method == baseline:
                continue
            both = ~np.isnan(at[:, [method, baseline]]).any(axis=1)
            differences = relative_differences(at[both, method], at[both, baseline])
            wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
            p, floor = signed_rank(differences)
            rows.append(
                (method, checkpoint, len(differences), wins, losses, len(differences) - wins - losses, p, floor)
            )
        names = ["method", "evaluations", "pairs", "wins", "losses", "ties", "p", "floor"]
        frame = pd.DataFrame(rows, columns=names)
        frame.insert(7, "p_holm", holm(frame["p"].to_numpy(float)))
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def signed_rank(differences: Array) -> tuple[float, float]:
    """Two-sided p of Wilcoxon's signed-rank test, and the smallest p that so many non-zero differences can reach.

    Both are 1 where every difference is zero.
    """
    kept = differences[differences != 0]  # scipy's choice between exact and asymptotic would count the zeros
    if not len(kept):
        return 1.0, 1.0
    return float(stats.wilcoxon(kept).pvalue), float(2.0 ** (1 - len(kept)))


def holm(p_values: Array) -> Array:
    """p-values corrected for their number (Holm, 1979); empty in, empty out."""
    if not len(p_values):
        return p_values
    corrected: Array = multipletests(p_values, method="holm")[1]
    return corrected


def _groups(curves: Curves) -> list[tuple[int, int, NDArray[np.intp]]]:
    """(setting, method, rows of its runs, by seed) of every pair that has runs, in order."""
    setting, method, seed = (curves.runs[name].to_numpy() for name in ("setting", "method", "seed"))
    order = np.lexsort((seed, method, setting))
    keys = setting[order] * len(curves.methods) + method[order]
    parts = np.split(order, np.flatnonzero(np.diff(keys)) + 1)
    return [(int(setting[rows[0]]), int(method[rows[0]]), rows) for rows in parts]


def _rounded(values: Array) -> Array:
    """To nine significant digits, so that rounding noise ties."""
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log10(np.abs(values), where=values != 0, out=np.zeros_like(values)))
    scale = 10.0 ** (8 - exponent)
    rounded: Array = np.round(values * scale) / scale
    return rounded
