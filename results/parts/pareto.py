"""Two metrics at once: hypervolume of what runs evaluated, and median attainment surfaces. An optional part."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nasbench.results.curves import Array, Curves
from nasbench.results.display.numbers import fixed, intervals
from nasbench.results.display.panels import Chart, Panel, Series
from nasbench.results.display.table import Table
from nasbench.results.errors import StoreError, nearest
from nasbench.results.parts.part import Part, Subject
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.targets import jackknife
from nasbench.results.store.fragment import Torn

_LINES = (
    "Line: the median attainment surface. For a value of the first metric it tells the value of the second that half "
    "of a method's runs have reached or undercut, both by feasible evaluations; lower and further left is better."
)


@dataclass(frozen=True, eq=False)
class Fronts:
    """What runs evaluated, in two metrics that are minimised."""

    metrics: tuple[str, str]
    """As the benchmarks call them, without epochs."""
    points: dict[tuple[int, int, int], Array]
    """(setting, method, seed) → the feasible evaluations that none dominates, shape (points, 2)."""
    ideal: dict[int, Array]
    """Setting → the lowest value of each metric that any run saw, shape (2,)."""
    worst: dict[int, Array]
    """Setting → the highest value of each metric on any front, shape (2,)."""


def part(subject: Subject, metrics: Sequence[str]) -> Part:
    """Two metrics at once, and the front of each method: pareto:METRIC,METRIC.

    Raises StoreError unless there are two metrics that some benchmark has, or without moocore.
    """
    found = fronts(subject, metrics)
    first, second = found.metrics
    curves = subject.curves
    charts = [
        Chart(f"attainment-{bench}", _panels(found, curves, bench), bench, _LINES)
        for bench in dict.fromkeys(curves.settings["bench"].iloc[s] for s in sorted(found.ideal))
    ]
    title = f"{first} and {second} at once"
    return Part("pareto", title, [hypervolumes(found, subject.comparison)], charts)


def fronts(subject: Subject, metrics: Sequence[str]) -> Fronts:
    """Reads two metrics of every run's whole evaluations.

    A name stands for the metric of each benchmark that is called so, with or without epochs. Raises StoreError for one
    of which more is better.
    """
    moocore = _moocore()
    if len(metrics) != 2:
        raise StoreError("the part pareto needs two metrics, for example --part pareto:x-valid-error,latency")
    known = sorted({name for _, f in subject.fragments for name in f.setup.metrics})
    for name in metrics:
        if not any(_is_called(metric, name) for metric in known):
            allowed = f"{nearest(name, known)}; allowed: {', '.join(known)}"
            raise StoreError(f"no benchmark here has the metric {name!r}{allowed}")
    curves = subject.curves
    for metrics_here in {f.setup.metrics for _, f in subject.fragments}:
        for name in metrics:
            called = [metric for metric in metrics_here if _is_called(metric, name)]
            if len(called) > 1:
                raise StoreError(f"{name} may be {' or '.join(called)} of one benchmark: name one of them")
    numbers = {(bench, c): i for i, (bench, c) in enumerate(curves.settings[["bench", "constraint"]].to_numpy())}
    points: dict[tuple[int, int, int], Array] = {}
    for _, f in subject.fragments:
        columns = [next((m for m in f.setup.metrics if _is_called(m, name)), None) for name in metrics]
        setting = numbers.get((f.setup.bench, f.setup.constraint))
        if None in columns or setting is None or f.setup.method not in curves.methods:
            continue
        for column in columns:
            if column in f.setup.setting.maximised:
                raise StoreError(f"of {column} more is better: the part pareto takes metrics that are minimised")
        try:
            table = f.whole(["seed", "feasible", *(f"metric.{column}" for column in columns)])
        except Torn:  # the store has said so when the curves were read
            continue
        values = np.stack([table[f"metric.{column}"].to_numpy() for column in columns], axis=1)
        kept = table["feasible"].to_numpy() & np.all(np.isfinite(values), axis=1)
        seeds = table["seed"].to_numpy()
        for seed in f.seeds:
            own = values[kept & (seeds == seed)]
            front: Array = np.asarray(moocore.filter_dominated(own)) if len(own) else own
            points[setting, curves.methods.index(f.setup.method), seed] = front
    ends: dict[int, list[Array]] = {}
    for (setting, _, _), own in points.items():
        ends.setdefault(setting, []).append(own)
    joined = {setting: np.concatenate(own) for setting, own in ends.items() if any(map(len, own))}
    return Fronts(
        (metrics[0], metrics[1]),
        points,
        {setting: own.min(axis=0) for setting, own in joined.items()},
        {setting: own.max(axis=0) for setting, own in joined.items()},
    )


def hypervolumes(found: Fronts, comparison: Comparison) -> Table:
    """Mean hypervolume of each method over settings and seeds, with its interval over seeds."""
    values = _hypervolumes(found, comparison)
    rows = []
    for method, name in enumerate(comparison.methods):
        kept, seeds = _common(values, method)
        own = values[kept, method][:, seeds]
        weights = comparison.field.tasks.of(kept).weights
        estimate = jackknife(own, partial(_mean, weights)) if own.size else None
        low, high = estimate.interval() if estimate else (np.nan, np.nan)
        mean = estimate.value if estimate else np.nan
        rows.append((name, len(kept), len(seeds), mean, low, high))
    data = pd.DataFrame(rows, columns=["method", "settings", "seeds", "hypervolume", "low", "high"])
    data = data.sort_values("hypervolume", ascending=False, ignore_index=True)
    shown = pd.DataFrame(
        {
            "method": data["method"],
            "hypervolume": data["hypervolume"].map(lambda v: fixed(v, 3)),
            "CI (these)": intervals(data["low"], data["high"], 3),
            "settings": data["settings"].astype(str),
        }
    )
    first, second = found.metrics
    note = (
        f"Share of the rectangle between the best and the worst of {first} and {second} on the fronts of all runs of a "
        "setting that a run's feasible evaluations dominate, as observed (moocore); mean over runs, with families, "
        "benchmarks and constraints with equal weights. CI (these): 95 % confidence interval on these benchmarks, "
        "delete-one-seed jackknife, t over seeds. The rectangle depends on which methods take part, and no verdict "
        "rests on it."
    )
    return Table("pareto", f"Hypervolume of {first} and {second}", note, data, shown, place="terminal")


def _mean(weights: Array, values: Array) -> float:
    """Over seeds, and over settings by their weights."""
    return float(weights @ values.mean(axis=1))


def _hypervolumes(found: Fronts, comparison: Comparison) -> Array:
    """Shape (settings, methods, seeds); NaN where there is no run."""
    moocore = _moocore()
    seeds = {seed: i for i, seed in enumerate(sorted({seed for *_, seed in found.points}))}
    values = np.full((len(comparison.curves.settings), len(comparison.methods), len(seeds)), np.nan)
    for (setting, method, seed), own in found.points.items():
        if setting in found.ideal:
            low, high = found.ideal[setting], found.worst[setting]
            scaled = (own - low) / np.where(high > low, high - low, 1.0)
            values[setting, method, seeds[seed]] = moocore.hypervolume(scaled, ref=[1.0, 1.0]) if len(own) else 0.0
    return values


def _common(values: Array, method: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The settings on which every method has runs, and the seeds that this one has on all of them."""
    there = np.isfinite(values).any(axis=2)
    settings = np.flatnonzero(np.all(there, axis=1))
    if not len(settings):
        return settings, settings
    return settings, np.flatnonzero(np.all(np.isfinite(values[settings, method]), axis=0))


def _panels(found: Fronts, curves: Curves, bench: str) -> Callable[[int], list[Panel]]:
    settings = [s for s in sorted(found.ideal) if curves.settings["bench"].iloc[s] == bench]
    return lambda points: [_panel(found, curves, setting, points) for setting in settings]


def _panel(found: Fronts, curves: Curves, setting: int, points: int) -> Panel:
    """Median attainment surfaces of one setting."""
    low, high = found.ideal[setting], found.worst[setting]
    x = np.linspace(low[0], high[0] if high[0] > low[0] else low[0] + 1, points)
    series = []
    for method in range(len(curves.methods)):
        runs = [own for (s, m, _), own in found.points.items() if (s, m) == (setting, method)]
        surface = _median_surface(runs)
        if len(surface):
            reached = np.where(surface[:, 0] <= x[:, None], surface[:, 1], np.inf).min(axis=1)
            series.append(Series(method, np.where(np.isfinite(reached), reached, np.nan)))
    margin = 0.05 * (high[1] - low[1]) or 1.0
    facts = curves.settings.iloc[setting]
    title = facts["constraint"].replace("none", "no constraint").replace("+", " + ")
    place = facts["family"], facts["bench"], facts["constraint"]
    limits = (float(low[1] - margin), float(high[1] + margin))
    return Panel(title, found.metrics[0], found.metrics[1], x, tuple(series), limits, place=place)


def _median_surface(runs: Sequence[Array]) -> Array:
    """Points of the surface that half of the runs attain, shape (points, 2); none where fewer have anything."""
    sets = np.repeat(np.arange(len(runs)), [len(own) for own in runs])
    if len(set(sets.tolist())) * 2 < len(runs) or not len(sets):
        return np.zeros((0, 2))
    # A run without a point attains nothing: the share that half of all runs is of those that have some.
    share = min(100.0, 50.0 * len(runs) / len(set(sets.tolist())))
    found: Array = np.asarray(_moocore().eaf(np.concatenate(runs), sets, percentiles=[share]))
    return found[:, :2]


def _is_called(metric: str, name: str) -> bool:
    return name in (metric, metric.partition("@")[0])


def _moocore() -> Any:
    try:
        return importlib.import_module("moocore")
    except ImportError:
        raise StoreError("the part pareto needs moocore: pip install moocore") from None
