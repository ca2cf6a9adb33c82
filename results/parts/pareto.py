"""Two metrics at once: hypervolume of what runs evaluated, and median attainment surfaces. An optional part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nasbench.base.errors import StoreError, suggestion
from nasbench.base.numbers import constraint_name, fixed, intervals
from nasbench.results.curves import Array, Curves
from nasbench.results.display.panels import Chart, Panel, Series
from nasbench.results.display.table import Table
from nasbench.results.parts.part import PARTS, Part
from nasbench.results.scores.metric import name_in
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.fronts import attained, median_surface
from nasbench.results.statistics.targets import jackknife
from nasbench.results.subject import Subject, of_seeds, rows_of

_LINES = (
    "Line: the median attainment surface. For a value of the first metric it tells the value of the second that half "
    "of a method's runs have reached or undercut, both by feasible evaluations; lower and further left is better."
)


@dataclass(frozen=True, eq=False)
class Fronts:
    """The non-dominated evaluations of runs, in two metrics that are minimised."""

    metrics: tuple[str, str]
    """Names of the metrics, without epochs."""
    points: dict[tuple[int, int, int], Array]
    """(setting, method, seed) → the non-dominated feasible evaluations, shape (points, 2)."""
    ideal: dict[int, Array]
    """Setting → the lowest value of each metric in any run, shape (2,)."""
    worst: dict[int, Array]
    """Setting → the highest value of each metric on any front, shape (2,)."""


@PARTS.register("pareto")
def part(subject: Subject, metrics: Sequence[str]) -> Part:
    """Two metrics at once, and the front of each method: pareto:METRIC,METRIC.

    Raises StoreError unless there are two metrics that some benchmark has.
    """
    evaluated = fronts(subject, metrics)
    first, second = evaluated.metrics
    curves = subject.curves
    charts = [
        Chart(f"attainment-{bench}", _panels(evaluated, curves, bench), bench, _LINES)
        for bench in dict.fromkeys(curves.settings["bench"].iloc[s] for s in sorted(evaluated.ideal))
    ]
    title = f"{first} and {second} at once"
    return Part("pareto", title, [hypervolumes(evaluated, subject.comparison)], charts)


def fronts(subject: Subject, metrics: Sequence[str]) -> Fronts:
    """Reads two metrics of every run's full evaluations.

    A name stands for the metric of that name in each benchmark that has it (`name_in`). Raises StoreError for a metric
    that is maximised.
    """
    import moocore

    if len(set(metrics)) != 2 or len(metrics) != 2:
        raise StoreError("the part pareto needs two metrics, for example --part pareto:x-valid-error,latency")
    for name in metrics:
        if not any(name_in(f.setup, name) for _, f in subject.fragments):
            known = sorted({name for _, f in subject.fragments for name in f.setup.metrics})
            allowed = f"{suggestion(name, known)}; allowed: {', '.join(known)}"
            raise StoreError(f"no benchmark here has the metric {name!r}{allowed}")
    curves = subject.curves
    points: dict[tuple[int, int, int], Array] = {}
    for _, f in subject.fragments:
        columns = [name_in(f.setup, name) for name in metrics]
        place = curves.place_of(f.setup)
        if None in columns or place is None:
            continue
        if columns[0] == columns[1]:
            raise StoreError(f"{metrics[0]} and {metrics[1]} are one metric of {f.setup.bench}: name two")
        table = rows_of(f, ["seed", "feasible", *(f"metric.{column}" for column in columns)])
        if table is None:
            continue
        values = np.stack([table[f"metric.{column}"].to_numpy() for column in columns], axis=1)
        kept = table["feasible"].to_numpy() & np.all(np.isfinite(values), axis=1)
        seeds = table["seed"].to_numpy()
        for seed, candidates in of_seeds(seeds[kept], values[kept], f.seeds):
            front: Array = np.asarray(moocore.filter_dominated(candidates)) if len(candidates) else candidates
            points[*place, seed] = front
    ends: dict[int, list[Array]] = {}
    for (setting, _, _), candidates in points.items():
        ends.setdefault(setting, []).append(candidates)
    joined = {setting: np.concatenate(candidates) for setting, candidates in ends.items() if any(map(len, candidates))}
    return Fronts(
        (metrics[0], metrics[1]),
        points,
        {setting: candidates.min(axis=0) for setting, candidates in joined.items()},
        {setting: candidates.max(axis=0) for setting, candidates in joined.items()},
    )


def hypervolumes(evaluated: Fronts, comparison: Comparison) -> Table:
    """Mean hypervolume of each method over settings and seeds, with a CI over seeds."""
    values = _hypervolumes(evaluated, comparison)
    rows = []
    for method, name in enumerate(comparison.methods):
        kept, seeds = _common(values, method)
        seed_values = values[kept, method][:, seeds]
        weights = comparison.field.tasks.of(kept).weights
        estimate = jackknife(seed_values, partial(_mean, weights)) if seed_values.size else None
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
    first, second = evaluated.metrics
    note = (
        f"Share of the rectangle between the best and the worst of {first} and {second} on the fronts of all runs of a "
        "setting that a run's feasible evaluations dominate, as observed (moocore); mean over runs, with search "
        "spaces, families, benchmarks and constraints with equal weights. CI (these): 95 % confidence interval on "
        "these benchmarks, delete-one-seed jackknife, t over seeds. The rectangle depends on which methods take part, "
        "and no verdict rests on it."
    )
    return Table("pareto", f"Hypervolume of {first} and {second}", note, data, shown)


def _mean(weights: Array, values: Array) -> float:
    """The mean over seeds, and over settings by their weights."""
    return float(weights @ values.mean(axis=1))


def _hypervolumes(evaluated: Fronts, comparison: Comparison) -> Array:
    """The hypervolume of every run, shape (settings, methods, seeds); NaN where there is no run."""
    import moocore

    seeds = {seed: i for i, seed in enumerate(sorted({seed for *_, seed in evaluated.points}))}
    values = np.full((len(comparison.curves.settings), len(comparison.methods), len(seeds)), np.nan)
    for (setting, method, seed), front in evaluated.points.items():
        if setting in evaluated.ideal:
            low, high = evaluated.ideal[setting], evaluated.worst[setting]
            scaled = (front - low) / np.where(high > low, high - low, 1.0)
            values[setting, method, seeds[seed]] = moocore.hypervolume(scaled, ref=[1.0, 1.0]) if len(front) else 0.0
    return values


def _common(values: Array, method: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The settings on which every method has runs, and the seeds of this method on all of them."""
    there = np.isfinite(values).any(axis=2)
    settings = np.flatnonzero(np.all(there, axis=1))
    if not len(settings):
        return settings, settings
    return settings, np.flatnonzero(np.all(np.isfinite(values[settings, method]), axis=0))


def _panels(evaluated: Fronts, curves: Curves, bench: str) -> Callable[[int], list[Panel]]:
    settings = [s for s in curves.by_bench[bench] if s in evaluated.ideal]
    return lambda points: [_panel(evaluated, curves, setting, points) for setting in settings]


def _panel(evaluated: Fronts, curves: Curves, setting: int, points: int) -> Panel:
    """Median attainment surfaces of one setting."""
    low, high = evaluated.ideal[setting], evaluated.worst[setting]
    x = np.linspace(low[0], high[0] if high[0] > low[0] else low[0] + 1, points)
    series = []
    for method in range(len(curves.methods)):
        runs = [front for (s, m, _), front in evaluated.points.items() if (s, m) == (setting, method)]
        surface = median_surface(runs)
        if len(surface):
            series.append(Series(method, attained(surface, x)))
    margin = 0.05 * (high[1] - low[1]) or 1.0
    facts = curves.settings.iloc[setting]
    title = constraint_name(facts["constraint"]).replace("+", " + ")
    place = facts["family"], facts["bench"], facts["constraint"]
    limits = (float(low[1] - margin), float(high[1] + margin))
    return Panel(title, evaluated.metrics[0], evaluated.metrics[1], x, tuple(series), limits, place=place)
