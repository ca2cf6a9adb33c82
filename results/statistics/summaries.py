"""Summaries of one method on one setting: medians, regret, constraints, held-out metrics."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd
from scipy import stats

from nasbench.results.curves import Array, Curves
from nasbench.results.scores import OBSERVED, Score
from nasbench.results.statistics.estimates import FEWEST


def performance(curves: Curves, points: Sequence[float]) -> pd.DataFrame:
    """Values of the incumbents of each method on each setting at some points, over seeds, after `Curves.padded`.

    Columns: setting, method (their numbers), point, runs, found (share of the runs with a feasible incumbent), q1,
    median, q3, mean, low, high (95 % CI of the median; NaN for fewer than five runs), values (of every run, if there
    are fewer than five), regret (median - oracle), regret_percent (of the oracle; NaN if it is 0), normalised_regret
    (median).
    """
    values, oracle = curves.at(points), curves.oracle
    padded = curves.padded(values)
    normalised = normalised_regret(curves, padded)
    records: list[dict[str, Array]] = []
    for (setting, method), runs in curves.groups.items():
        seed_values = padded[runs]
        q1, median, q3 = np.quantile(seed_values, [0.25, 0.5, 0.75], axis=0)
        low, high = median_interval(seed_values)
        regret = median - oracle[setting]
        few = len(runs) < FEWEST
        facts = {
            "setting": setting,
            "method": method,
            "point": points,
            "runs": len(runs),
            "found": np.isfinite(values[runs]).mean(axis=0),
            "q1": q1,
            "median": median,
            "q3": q3,
            "mean": seed_values.mean(axis=0),
            "low": low,
            "high": high,
            "values": [" ".join(f"{v:.6g}" for v in sorted(column)) if few else "" for column in seed_values.T],
            "regret": regret,
            "regret_percent": 100 * regret / oracle[setting] if oracle[setting] > 0 else np.full(len(median), np.nan),
            "normalised_regret": np.median(normalised[runs], axis=0),
        }
        records.append({name: np.broadcast_to(value, len(points)) for name, value in facts.items()})
    return pd.DataFrame({name: np.concatenate([record[name] for record in records]) for name in records[0]})


def median_interval(values: Array) -> tuple[Array, Array]:
    """95 % CI of the median over the first axis, between order statistics (exact: binomial); NaN below 5 values.

    The narrowest symmetric interval that covers 95 %; for 5 values from lowest to highest, which covers 93.75 %.
    """
    count = len(values)
    if count < FEWEST:
        return np.full(values.shape[1:], np.nan), np.full(values.shape[1:], np.nan)
    outside = _outside(count)
    ordered = np.sort(values, axis=0)
    return ordered[outside], ordered[count - 1 - outside]


@lru_cache
def _outside(count: int) -> int:
    """The number of values beyond the interval on either side."""
    return max(0, int(stats.binom.ppf(0.025, count, 0.5)) - 1)


def normalised_regret(curves: Curves, padded: Array) -> Array:
    """(value - oracle) / (reference - oracle) of padded values, shape (runs, points).

    Both ends are fixed by the table, as Ax fixes baseline and optimum of its benchmarks, never by what runs saw: the
    reference is the median of everything feasible, so 1 is what one random feasible draw gives, 0 the optimum. NaN
    where either is unknown or they are equal.
    """
    setting = curves.runs["setting"].to_numpy()
    regret: Array = (padded - curves.oracle[setting][:, None]) / curves.span[setting][:, None]
    return regret


def feasibility(curves: Curves) -> pd.DataFrame:
    """Observed feasibility of each method on each setting.

    Columns: setting, method, runs, feasible_share (feasible rows over all rows, full or partial evaluations),
    first_feasible (upper median over seeds of the number of evaluations up to the first feasible one, which may be
    partial; infinite if half the runs have none), first_seconds (the same in seconds on the run's clock), never (runs
    without a feasible evaluation), refused (proposals refused at no part of the budget, in all), failed_evaluations,
    failed_runs.
    """
    asked, feasible, refused = (curves.runs[name].to_numpy() for name in ("rows", "feasible_rows", "refused"))
    failures = (curves.runs["failure"] != "").to_numpy()
    failed = curves.runs["failed_evaluations"].to_numpy()
    waits = curves.runs[["first_feasible", "first_seconds"]].to_numpy(float).T
    rows = []
    for (setting, method), runs in curves.groups.items():
        share = feasible[runs].sum() / max(1, asked[runs].sum())
        # An observed value, not the mean of two: one of them may be infinite.
        wait, seconds = np.quantile(waits[:, runs], 0.5, axis=1, method="higher")
        never = int((feasible[runs] == 0).sum())
        counts = (never, int(refused[runs].sum()), int(failed[runs].sum()), int(failures[runs].sum()))
        rows.append((setting, method, len(runs), share, wait, seconds, *counts))
    names = ["setting", "method", "runs", "feasible_share", "first_feasible", "first_seconds", "never", "refused"]
    return pd.DataFrame(rows, columns=[*names, "failed_evaluations", "failed_runs"])


def test_metrics(curves: Curves) -> pd.DataFrame:
    """Metrics of test splits at each run's last incumbent, which was selected by the objective alone.

    Columns: setting, method, metric, runs (with a feasible incumbent), q1, median, q3, mean. Empty if no benchmark has
    such a metric.
    """
    rows, tested = [], curves.runs["test_metrics"].to_numpy()
    for (setting, method), runs in curves.groups.items():
        facts = tested[runs]
        for metric in dict.fromkeys(name for tests in facts for name in tests):
            values = np.array([tests[metric] for tests in facts if metric in tests], float)
            values = values[~np.isnan(values)]
            if len(values):
                quartiles = np.quantile(values, [0.25, 0.5, 0.75])
                rows.append((setting, method, metric, len(values), *quartiles, values.mean()))
    return pd.DataFrame(rows, columns=["setting", "method", "metric", "runs", "q1", "median", "q3", "mean"])


def medians(curves: Curves, values: Array) -> Array:
    """Median over seeds of padded values, shape (settings, methods, points); NaN where there is no run.

    Args:
        values: value of every run, shape (runs, points), NaN before its first feasible evaluation.
    """
    padded = curves.padded(values)
    result = np.full((len(curves.settings), len(curves.methods), values.shape[1]), np.nan)
    for size in set(map(len, curves.groups.values())):  # groups of one size together: a call per group would be slow
        same = {place: runs for place, runs in curves.groups.items() if len(runs) == size}
        result[tuple(np.array(list(same)).T)] = np.median(padded[np.array(list(same.values()))], axis=1)
    return result


def luck(curves: Curves, score: Score, point: float) -> pd.DataFrame:
    """Difference between the observed values of each method's incumbents and their values by a score.

    Columns: method, runs (with an observed incumbent), optimism (median of (score - observed) / |score|; NaN if there
    is none), violates (share of these runs whose incumbents violate the constraints by the score).
    """
    observed, mean = (curves.scored(s).at((point,))[:, 0] for s in (OBSERVED, score))
    rows = []
    for method in range(len(curves.methods)):
        has_incumbent = (curves.runs["method"] == method).to_numpy() & np.isfinite(observed)
        scored = np.isfinite(mean) & has_incumbent & (mean != 0)
        optimism = (mean[scored] - observed[scored]) / np.abs(mean[scored])
        violates = float(np.isnan(mean[has_incumbent]).mean()) if has_incumbent.any() else np.nan
        middle = float(np.median(optimism)) if len(optimism) else np.nan
        rows.append((method, int(has_incumbent.sum()), middle, violates))
    return pd.DataFrame(rows, columns=["method", "runs", "optimism", "violates"])
