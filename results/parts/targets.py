"""Targets of regret: reached shares, areas, interquartile means, and performance profiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nasbench.base.numbers import count, fixed, intervals, point
from nasbench.results.curves import Array
from nasbench.results.display.panels import Chart, Panel, Series
from nasbench.results.display.table import Table
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.statistics import targets
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.estimates import Estimate
from nasbench.results.subject import Subject

_TARGETS = "Targets reached: the mean share of the targets of regret that runs have reached; higher is better."
_PROFILES = "Performance profiles: the share of runs that end at or below a normalised regret; higher is better."


@PARTS.register("targets")
@plain()
def part(subject: Subject) -> Part | None:
    """The part; None if no setting with all methods has an oracle."""
    comparison = subject.comparison
    if not targets.known(comparison):
        return None
    table = targets.table(comparison)
    tables = [reached(comparison), *([] if table is None else [aggregates(comparison, table)])]
    charts = [
        Chart("targets", lambda points: [over_budget(comparison, points)], note=_TARGETS),
        Chart("profiles", lambda points: [profiles(comparison, points)], note=_PROFILES),
    ]
    told = [] if table is None else _disagreement(comparison, *tables)
    return Part("targets", "Targets reached", tables, charts, sentences=told)


def _disagreement(comparison: Comparison, shares: Table, means: Table) -> list[str]:
    """A sentence on why summaries name different methods first; none if they agree."""
    if not comparison.overall.ranks:
        return []
    by_rank = comparison.overall.ranks[0].method
    kind = comparison.overall.kind_of(by_rank)
    by_share, by_mean = (_first(data, kind) for data in (shares.data.iloc[:, -1], means.data["iqm"]))
    if by_share in kind and by_mean in kind:
        return []
    names = [comparison.methods[m] for m in (by_rank, by_share, by_mean)]
    return [
        f"Summaries disagree on who is first: {names[0]} by expected rank, {names[1]} by the share of targets reached, "
        f"{names[2]} by the interquartile mean of that share. A rank counts how often a run is the better one, not by "
        "how much. The share of targets counts how near a run comes to the oracle, and search spaces have equal "
        "weights. The interquartile mean leaves out the best and the worst quarter of all runs, so the settings where "
        "a method fails do not count, and each setting has the same weight. Verdicts rest on the first alone."
    ]


def _first(values: pd.Series, preferred: Sequence[int]) -> int:
    """The method with the highest value: one of the preferred, if they have it as well."""
    best = np.flatnonzero(values.to_numpy(float) >= values.max() - 1e-9)
    return int(next((m for m in best if m in preferred), best[0]))


def reached(comparison: Comparison) -> Table:
    """Share of targets reached at the checkpoints."""
    shares = targets.reached(comparison, comparison.checkpoints)
    names = [point(at, comparison.curves.unit) for at in comparison.checkpoints]
    data = pd.DataFrame({"method": comparison.methods} | {name: shares[:, i] for i, name in enumerate(names)})
    shown = data.map(lambda value: fixed(value) if isinstance(value, float) else value)
    bold = np.zeros(shown.shape, bool)
    bold[:, 1:] = np.isclose(shares, shares.max(axis=0), rtol=0, atol=1e-9)
    note = (
        "The share of the targets from 1 (the median of everything feasible) to 0.001 of normalised regret, even in "
        "the logarithm, that a run has reached (0 is the oracle); mean over runs, with spaces, families, benchmarks "
        "and constraints with equal weights, over the settings that all methods have and whose oracle is known. "
        "Before its first feasible evaluation a run has reached none."
    )
    return Table("targets", "Share of targets reached", note, data, shown, bold)


def aggregates(comparison: Comparison, scores: targets.Targets) -> Table:
    """Interquartile mean and mean of the target score at the end, and its area over the budget, with intervals."""

    def weighted(values: Array) -> float:
        return float(scores.weights @ values.mean(axis=1))

    def weighted_without(values: Array) -> Array:
        means: Array = scores.weights @ targets.means_without(values)
        return means

    middle = targets.interquartile_mean, targets.interquartile_means_without
    average = weighted, weighted_without
    base = comparison.baseline
    records: list[dict[str, float | str]] = []
    for method, name in enumerate(comparison.methods):
        row: dict[str, float | str] = {"method": name}
        row |= _facts("iqm", targets.jackknife(scores.final[method], *middle))
        if method != base:
            both = np.stack([scores.final[method], scores.final[base]])
            row |= _facts("difference", targets.jackknife(both, _difference, _differences_without), -1.0)
        row |= _facts("mean", targets.jackknife(scores.final[method], *average))
        row |= _facts("area", targets.jackknife(scores.area[method], *average))
        records.append(row)
    data = pd.DataFrame(records)
    shown = data[["method"]].copy()
    for name, label in (("iqm", "iqm"), ("difference", "to baseline"), ("mean", "mean"), ("area", "area")):
        if name in data:
            shown[label] = data[name].map(fixed)
            shown[f"95 % of {label}"] = intervals(data[f"{name}_low"], data[f"{name}_high"])
    note = (
        f"Of the share of targets reached by each run, over {count(scores.final.shape[2], 'seed')} that all methods "
        "have. iqm: mean of the middle half of all runs of all settings (Agarwal et al., 2021), which leaves out the "
        "settings where a method fails, so the mean stands beside it. area: mean over the budget of the share reached "
        "so far; padding before the first feasible evaluation cannot dominate it, for it counts as 0. Intervals: "
        "delete-one-seed jackknife, t over seeds, for the listed benchmarks. to baseline: the difference of iqm to "
        f"{comparison.methods[base]}, seeds paired. No verdict rests on these."
    )
    marks = (
        "iqm: interquartile mean; area: mean over the budget; to baseline: difference of iqm. 95 %: confidence "
        "interval on these benchmarks, over seeds; rough below five settings, or where most runs reach the same."
    )
    return Table("aggregates", "Means of the share of targets reached", note, data, shown, None, marks)


def _difference(values: Array) -> float:
    """The difference of the interquartile means of two methods."""
    return targets.interquartile_mean(values[0]) - targets.interquartile_mean(values[1])


def _differences_without(values: Array) -> Array:
    """`_difference` without each seed."""
    ours, theirs = map(targets.interquartile_means_without, values)
    return ours - theirs


def _facts(label: str, estimate: Estimate, lowest: float = 0.0) -> dict[str, float | str]:
    low, high = estimate.interval(lowest)
    return {label: estimate.value, f"{label}_low": low, f"{label}_high": high}


def over_budget(comparison: Comparison, points: int, family: str | None = None) -> Panel:
    """Share of targets reached against the budget, in one family or in all."""
    curves = comparison.curves
    at = comparison.along(points)
    shares = targets.reached(comparison, at, family)
    series = tuple(Series(m, shares[m]) for m in range(len(comparison.methods)))
    return Panel(family or "Targets reached", curves.unit, "share of targets reached", at, series, (0.0, 1.0))


def profiles(comparison: Comparison, points: int) -> Panel:
    """Performance profiles: share of runs that end at or below a normalised regret."""
    regrets = np.logspace(-3, 0.5, points)
    shares = targets.profiles(comparison, regrets)
    series = tuple(Series(m, shares[m]) for m in range(len(comparison.methods)))
    label = "share of runs at or below"
    return Panel("Performance profiles", "normalised regret", label, regrets, series, (0.0, 1.02), xlog=True)
