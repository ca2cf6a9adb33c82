"""One method on one setting: medians, regret, constraints, held-out metrics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from nasbench.results.curves import Array, Curves
from nasbench.results.scores import OBSERVED, Score
from nasbench.results.statistics.estimates import FEWEST


def performance(curves: Curves, points: Sequence[float]) -> pd.DataFrame:
    """The incumbents' values of each method on each setting at some points.

    All over seeds, NaN after `Curves.padded`. Columns: setting, method (their numbers), point, runs, found (share of
    the runs that have a feasible incumbent), q1, median, q3, mean, low, high (95 % interval of the median; NaN for
    fewer than five runs), values (of every run, where there are fewer than five), regret (of the median, to the
    oracle), regret_percent (of the oracle; NaN where it is 0), normalised_regret (of the median).
    """
    values, oracle = curves.at(points), curves.oracle
    padded = curves.padded(values)
    normalised = normalised_regret(curves, padded)
    records: list[dict[str, Array]] = []
    for (setting, method), runs in curves.groups.items():
        own = padded[runs]
        q1, median, q3 = np.quantile(own, [0.25, 0.5, 0.75], axis=0)
        low, high = median_interval(own)
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
            "mean": own.mean(axis=0),
            "low": low,
            "high": high,
            "values": [" ".join(f"{v:.6g}" for v in sorted(column)) if few else "" for column in own.T],
            "regret": regret,
            "regret_percent": 100 * regret / oracle[setting] if oracle[setting] > 0 else np.full(len(median), np.nan),
            "normalised_regret": np.median(normalised[runs], axis=0),
        }
        records.append({name: np.broadcast_to(value, len(points)) for name, value in facts.items()})
    return pd.DataFrame({name: np.concatenate([own[name] for own in records]) for name in records[0]})


def median_interval(values: Array) -> tuple[Array, Array]:
    """95 % interval of the median over the first axis, between order statistics (exact: binomial); NaN below 5 values.

    The narrowest symmetric one that covers 95 %; of 5 values lowest to highest, which covers 93.75 %.
    """
    count = len(values)
    if count < FEWEST:
        return np.full(values.shape[1:], np.nan), np.full(values.shape[1:], np.nan)
    outside = int(stats.binom.ppf(0.025, count, 0.5)) - 1  # values beyond it on either side
    outside = max(0, outside)
    ordered = np.sort(values, axis=0)
    return ordered[outside], ordered[count - 1 - outside]


def normalised_regret(curves: Curves, padded: Array) -> Array:
    """(value - oracle) / (reference - oracle) of padded values, shape (runs, points).

    Both ends are fixed by the table, as Ax fixes baseline and optimum of its benchmarks, never by what runs saw: the
    reference is the median of everything feasible, so 1 is what one random feasible draw gives, 0 the optimum. NaN
    where either is unknown or they are equal.
    """
    setting = curves.runs["setting"].to_numpy()
    span = curves.settings["median"].to_numpy(float) - curves.oracle
    span = np.where(span > 0, span, np.nan)
    regret: Array = (padded - curves.oracle[setting][:, None]) / span[setting][:, None]
    return regret


def feasibility(curves: Curves) -> pd.DataFrame:
    """How each method treats the constraints of each setting, as observed.

    Columns: setting, method, runs, feasible_share (feasible rows over all rows: evaluations, whole or in part),
    first_feasible (upper median over seeds of the number of evaluations to the first feasible one, which may be a part;
    infinite where half the runs have none),
    first_seconds (the same in seconds on the run's clock), never (runs without a feasible evaluation),
    failed_evaluations, failed_runs.
    """
    asked, feasible = (curves.runs[name].to_numpy() for name in ("rows", "feasible_rows"))
    failures = (curves.runs["failure"] != "").to_numpy()
    failed = curves.runs["failed_evaluations"].to_numpy()
    waits = curves.runs[["first_feasible", "first_seconds"]].to_numpy(float).T
    rows = []
    for (setting, method), runs in curves.groups.items():
        share = feasible[runs].sum() / max(1, asked[runs].sum())
        # Between a number and infinity lies nothing: an observed value, not a mean of two.
        wait, seconds = np.quantile(waits[:, runs], 0.5, axis=1, method="higher")
        never = int((feasible[runs] == 0).sum())
        counts = (never, int(failed[runs].sum()), int(failures[runs].sum()))
        rows.append((setting, method, len(runs), share, wait, seconds, *counts))
    names = ["setting", "method", "runs", "feasible_share", "first_feasible", "first_seconds", "never"]
    return pd.DataFrame(rows, columns=[*names, "failed_evaluations", "failed_runs"])


def held_out(curves: Curves) -> pd.DataFrame:
    """Metrics of test splits at each run's last incumbent, which was chosen by the objective alone.

    Columns: setting, method, metric, runs (those with a feasible incumbent), q1, median, q3, mean. Empty where no
    benchmark has such a metric.
    """
    rows, tested = [], curves.runs["held_out"].to_numpy()
    for (setting, method), runs in curves.groups.items():
        facts = tested[runs]
        for metric in dict.fromkeys(name for own in facts for name in own):
            values = np.array([own[metric] for own in facts if metric in own], float)
            values = values[~np.isnan(values)]
            if len(values):
                quartiles = np.quantile(values, [0.25, 0.5, 0.75])
                rows.append((setting, method, metric, len(values), *quartiles, values.mean()))
    return pd.DataFrame(rows, columns=["setting", "method", "metric", "runs", "q1", "median", "q3", "mean"])


def medians(curves: Curves, values: Array) -> Array:
    """Median over seeds of padded values, shape (settings, methods, points); NaN where there is no run.

    Args:
        values: of every run, shape (runs, points), NaN where it has found nothing.
    """
    padded = curves.padded(values)
    found = np.full((len(curves.settings), len(curves.methods), values.shape[1]), np.nan)
    for size in set(map(len, curves.groups.values())):  # together, for a call per group takes long where there are many
        same = {place: runs for place, runs in curves.groups.items() if len(runs) == size}
        found[tuple(np.array(list(same)).T)] = np.median(padded[np.array(list(same.values()))], axis=1)
    return found


def luck(curves: Curves, score: Score, point: float) -> pd.DataFrame:
    """How far what was observed of each method's incumbents lies from what they are worth by a score.

    Columns: method, runs (with an incumbent where the two differ in kind), optimism (median of (score - observed) /
    |score|; NaN where there is none), violates (share of them that violate the constraints by the score).
    """
    observed, mean = (curves.scored(own).at((point,))[:, 0] for own in (OBSERVED, score))
    rows = []
    for method in range(len(curves.methods)):
        own = (curves.runs["method"] == method).to_numpy() & np.isfinite(observed)
        worth = np.isfinite(mean) & own & (mean != 0)
        optimism = (mean[worth] - observed[worth]) / np.abs(mean[worth])
        violates = float(np.isnan(mean[own]).mean()) if own.any() else np.nan
        rows.append((method, int(own.sum()), float(np.median(optimism)) if len(optimism) else np.nan, violates))
    return pd.DataFrame(rows, columns=["method", "runs", "optimism", "violates"])
