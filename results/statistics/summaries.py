"""One method on one setting."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from nasbench.results.curves import Array, Curves

_RESAMPLES = 1000


def performance(curves: Curves, checkpoints: tuple[int, ...]) -> pd.DataFrame:
    """The best feasible objective of each method on each setting at some evaluation counts.

    All over seeds, after `Curves.padded`. Columns: setting, method (their numbers), evaluations, runs, found (share of
    the runs that have a feasible incumbent), q1, median, q3, mean, low, high (95 % bootstrap interval of the median),
    regret (of the median, to the oracle), regret_percent (of the oracle; NaN where it is 0), normalised_regret (of the
    median), area (median area under the curve of the normalised regret, divided by the evaluations). NaN where the
    oracle is unknown.
    """
    padded, oracle = curves.padded, curves.settings["oracle"].to_numpy(float)
    normalised = normalised_regret(curves)
    at = np.array(checkpoints) - 1
    frames = []
    for (setting, method), runs in curves.groups.items():
        values = padded[np.ix_(runs, at)]
        q1, median, q3 = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        low, high = median_interval(values)
        regret = median - oracle[setting]
        areas = np.cumsum(normalised[runs], axis=1)[:, at] / (at + 1)
        percent = 100 * regret / oracle[setting] if oracle[setting] > 0 else np.full(len(at), np.nan)
        facts = {
            "setting": setting,
            "method": method,
            "evaluations": checkpoints,
            "runs": len(runs),
            "found": np.isfinite(curves.incumbent[np.ix_(runs, at)]).mean(axis=0),
            "q1": q1,
            "median": median,
            "q3": q3,
            "mean": values.mean(axis=0),
            "low": low,
            "high": high,
            "regret": regret,
            "regret_percent": percent,
            "normalised_regret": np.median(normalised[np.ix_(runs, at)], axis=0),
            "area": np.median(areas, axis=0),
        }
        frames.append(pd.DataFrame(facts))
    return pd.concat(frames, ignore_index=True)


def median_interval(values: Array) -> tuple[Array, Array]:
    """95 % percentile-bootstrap interval of the median over the first axis (Efron, 1979); a point for one run."""
    if len(values) == 1 or np.isnan(values).all():
        return values[0], values[0]
    found = stats.bootstrap(
        (values,), np.median, axis=0, n_resamples=_RESAMPLES, method="percentile", rng=np.random.default_rng(0)
    )
    return np.asarray(found.confidence_interval.low), np.asarray(found.confidence_interval.high)


@lru_cache(maxsize=1)
def normalised_regret(curves: Curves) -> Array:
    """(value - oracle) / (reference - oracle) of every run after each evaluation, after `Curves.padded`.

    Both ends are fixed by the table, as Ax fixes baseline and optimum of its benchmarks, never by what runs saw: the
    reference is the median of everything feasible, so 1 is what one random feasible draw gives, 0 the optimum. NaN
    where either is unknown or they are equal.
    """
    setting = curves.runs["setting"].to_numpy()
    oracle = curves.settings["oracle"].to_numpy(float)
    span = curves.settings["median"].to_numpy(float) - oracle
    span[~(span > 0)] = np.nan
    regret: Array = (curves.padded - oracle[setting][:, None]) / span[setting][:, None]
    return regret


def feasibility(curves: Curves) -> pd.DataFrame:
    """How each method treats the constraints of each setting.

    Columns: setting, method, runs, feasible_share (feasible evaluations over all evaluations), first_feasible (upper
    median over seeds of the number of evaluations to the first feasible one; infinite where half the runs have none),
    first_seconds (the same in seconds on the run's clock), never (runs without a feasible evaluation),
    failed_evaluations, failed_runs.
    """
    evaluations = curves.runs["evaluations"].to_numpy()
    failures = (curves.runs["failure"] != "").to_numpy()
    failed = curves.runs["failed_evaluations"].to_numpy()
    any_feasible: NDArray[np.bool_] = np.any(curves.feasible, axis=1)
    first = curves.feasible.argmax(axis=1)
    waits = np.where(any_feasible, [first + 1.0, curves.finished[np.arange(len(first)), first]], np.inf)
    rows = []
    for (setting, method), runs in curves.groups.items():
        share = curves.feasible[runs].sum() / max(1, evaluations[runs].sum())
        # Between a number and infinity lies nothing: an observed value, not a mean of two.
        wait, seconds = np.quantile(waits[:, runs], 0.5, axis=1, method="higher")
        never = int((~any_feasible[runs]).sum())
        counts = (never, int(failed[runs].sum()), int(failures[runs].sum()))
        rows.append((setting, method, len(runs), share, wait, seconds, *counts))
    names = ["setting", "method", "runs", "feasible_share", "first_feasible", "first_seconds", "never"]
    return pd.DataFrame(rows, columns=[*names, "failed_evaluations", "failed_runs"])


def held_out(curves: Curves) -> pd.DataFrame:
    """Metrics of test splits at each run's last incumbent, which was chosen by the objective alone.

    Columns: setting, method, metric, runs (those with a feasible incumbent), q1, median, q3, mean. Empty where no
    benchmark has such a metric.
    """
    rows = []
    for (setting, method), runs in curves.groups.items():
        found = pd.DataFrame([facts for facts in curves.runs["held_out"].iloc[runs] if facts])
        for metric in found.columns:
            values = found[metric].dropna().to_numpy(float)
            if len(values):
                quartiles = np.quantile(values, [0.25, 0.5, 0.75])
                rows.append((setting, method, metric, len(values), *quartiles, values.mean()))
    return pd.DataFrame(rows, columns=["setting", "method", "metric", "runs", "q1", "median", "q3", "mean"])


@lru_cache(maxsize=1)
def medians(curves: Curves) -> Array:
    """Median over seeds of the padded incumbents, shape (settings, methods, evaluations); NaN where there is no run."""
    found = np.full((len(curves.settings), len(curves.methods), curves.evaluations), np.nan)
    for (setting, method), runs in curves.groups.items():
        found[setting, method] = np.median(curves.padded[runs], axis=0)
    return found


def medians_over_seconds(curves: Curves, shares: Array) -> Array:
    """As `medians`, at shares of each setting's time horizon: shape (settings, methods, shares).

    The horizon of a setting is the shortest, over methods, of the median duration of a run: until then most runs of
    every method are still searching. Runs that stopped early do not set it; where there is no other run, or it is 0,
    the setting is NaN.
    """
    found = np.full((len(curves.settings), len(curves.methods), len(shares)), np.nan)
    ends = np.max(np.where(np.isfinite(curves.finished), curves.finished, 0.0), axis=1)
    horizons = np.full(len(curves.settings), np.inf)
    whole = (curves.runs["failure"] == "").to_numpy()
    for (setting, _), runs in curves.groups.items():
        own = ends[runs[whole[runs]]]
        if len(own):
            horizons[setting] = min(horizons[setting], float(np.median(own)))
    worst = curves.worst
    for (setting, method), runs in curves.groups.items():
        if not 0 < horizons[setting] < np.inf:
            continue
        times = shares * horizons[setting]
        values = np.array(
            [
                np.concatenate([[worst[setting]], padded])[np.searchsorted(finished, times, side="right")]
                for padded, finished in zip(curves.padded[runs], curves.finished[runs], strict=True)
            ]
        )
        found[setting, method] = np.median(values, axis=0)
    return found
