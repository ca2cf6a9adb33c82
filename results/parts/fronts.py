"""Several objectives: how near the fronts of runs come to the exact ones, and median attainment surfaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from nasbench.base.fronts import losses
from nasbench.base.numbers import constraint_name, fixed, with_unit
from nasbench.results.curves import Array, Curves
from nasbench.results.display.panels import Chart, Panel, Series
from nasbench.results.display.table import Table
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.fronts import attained, median_surface, quality
from nasbench.results.store.trajectory import MEAN_OF
from nasbench.results.subject import Subject, of_seeds, rows_of

Runs = dict[tuple[int, int, int], Array]
"""(setting, method, seed) → the objectives of a run's feasible evaluations by their means, in the metrics' units, shape
(evaluations, objectives)."""

_LINES = (
    "Line: the median attainment surface at the end of the budget. For a value of the first objective it tells the "
    "value of the second that half of a method's runs have reached, both by the table's means. Dotted: the exact "
    "feasible front, which no run can pass."
)


@PARTS.register("fronts")
@plain(45)
def part(subject: Subject) -> Part | None:
    """The part; None unless the runs have several objectives and some table knows its front."""
    curves = subject.curves
    known = [s for s, front in enumerate(curves.settings["front"]) if front]
    runs = _runs(subject)
    if not known or not runs:
        return None
    charts = [
        Chart(f"fronts-{bench}", _panels(runs, curves, bench), bench, _LINES)
        for bench in dict.fromkeys(curves.settings["bench"].iloc[s] for s in known)
        if all(len(curves.settings["scales"].iloc[s]) == 2 for s in curves.by_bench[bench])
    ]
    return Part("fronts", "The fronts that were found", [qualities(runs, subject.comparison)], charts)


def _runs(subject: Subject) -> Runs:
    curves = subject.curves
    runs: Runs = {}
    for _, f in subject.fragments:
        place = curves.place_of(f.setup)
        if place is None or not f.setup.objectives or not f.setup.setting.front:
            continue
        columns = [f"metric.{MEAN_OF}{name}" for name in f.setup.objectives]
        table = rows_of(f, ["seed", "status", "score_feasible", *columns])
        if table is None:
            continue
        values = np.stack([table[column].to_numpy() for column in columns], axis=1)
        feasible = table["score_feasible"].fill_null(False).to_numpy(zero_copy_only=False)
        kept = feasible & (table["status"].to_numpy() == "ok") & np.isfinite(values).all(axis=1)
        seeds = table["seed"].to_numpy()
        runs |= {(*place, seed): found for seed, found in of_seeds(seeds[kept], values[kept], f.seeds)}
    return runs


def qualities(runs: Runs, comparison: Comparison) -> Table:
    """Mean quality of each method's fronts over settings and seeds."""
    curves = comparison.curves
    settings = curves.settings
    rows = []
    for (setting, method, seed), values in runs.items():
        front = np.array(settings["front"].iloc[setting])
        found = quality(values, front, settings["scales"].iloc[setting])
        rows.append((setting, method, seed, found.igd_plus, found.epsilon, found.found))
    names = ["igd_plus", "epsilon", "found"]
    data = pd.DataFrame(rows, columns=["setting", "method", "seed", *names])
    means = data.groupby(["setting", "method"])[names].mean()
    complete = [s for s in curves.complete if settings["front"].iloc[s]]
    weights = comparison.field.tasks.of(np.array(complete, np.intp)).weights if complete else np.zeros(0)
    averages = [
        {"method": name} | {column: _mean(means[column], complete, method, weights) for column in names}
        for method, name in enumerate(curves.names)
    ]
    frame = pd.DataFrame(averages).sort_values("igd_plus", ignore_index=True)
    shown = pd.DataFrame(
        {
            "method": frame["method"],
            "IGD+": frame["igd_plus"].map(lambda v: fixed(v, 4)),
            "epsilon": frame["epsilon"].map(lambda v: fixed(v, 4)),
            "front found %": (100 * frame["found"]).map(lambda v: fixed(v, 1)),
        }
    )
    note = (
        "Means over seeds and over the settings that all methods have, with spaces, families, benchmarks and "
        "constraints with equal weights, at the end of the budget, by the table's means. IGD+: mean distance of the "
        "exact front's points from what a run dominates; epsilon: by how much a run's front must improve to cover the "
        "exact one; both in objectives scaled so that the reference point is 1 and the ideal is 0 (lower is better). "
        "front found: share of the points of the exact front that a run has evaluated. No verdict rests on this table: "
        "verdicts are on the share of the hypervolume."
    )
    return Table("fronts", "Distance from the exact front", note, frame, shown)


def _mean(means: pd.Series, settings: list[int], method: int, weights: Array) -> float:
    """The weighted mean over settings; NaN without any."""
    return float(weights @ np.array([means[s, method] for s in settings])) if settings else float("nan")


def _panels(runs: Runs, curves: Curves, bench: str) -> Callable[[int], list[Panel]]:
    return lambda points: [_panel(runs, curves, s, points) for s in curves.by_bench[bench]]


def _panel(runs: Runs, curves: Curves, setting: int, points: int) -> Panel:
    """Median attainment surfaces of one setting, and its exact front."""
    facts = curves.settings.iloc[setting]
    scales, exact = facts["scales"], losses(np.array(facts["front"]), facts["scales"])
    low, high = exact.min(axis=0), exact.max(axis=0)
    at = np.linspace(low[0], high[0] + (0.1 * (high[0] - low[0]) or 1.0), points)
    series = []
    for method in range(len(curves.methods)):
        found = [losses(values, scales) for (s, m, _), values in runs.items() if (s, m) == (setting, method)]
        surface = median_surface(found)
        if len(surface):
            series.append(Series(method, _in_units(attained(surface, at), scales[1])))
    bound = _in_units(attained(exact, at), scales[1])
    drawn = np.concatenate([bound, *(s.y for s in series)])
    drawn = drawn[np.isfinite(drawn)]
    margin = 0.05 * float(np.ptp(drawn)) or 1.0
    title = constraint_name(facts["constraint"]).replace("+", " + ")
    names = [with_unit(name, unit) for name, unit, _, _ in scales]
    limits = (float(drawn.min() - margin), float(drawn.max() + margin))
    place = facts["family"], facts["bench"], facts["constraint"]
    x = _in_units(at, scales[0])
    is_log = bool(scales[1][3] and drawn.min() > 0 and drawn.max() > 5 * drawn.min())
    if is_log:
        limits = (float(drawn.min()) / 1.1, float(drawn.max()) * 1.1)
    if scales[0][2]:  # of a metric that is maximised, losses ascend where values descend
        x, bound = x[::-1], bound[::-1]
        series = [replace(s, y=s.y[::-1]) for s in series]
    return Panel(title, names[0], names[1], x, tuple(series), limits, log=is_log, bound=bound, place=place)


def _in_units(values: Array, scale: tuple[str, str, bool, bool]) -> Array:
    """Losses of one objective in its own unit."""
    plain = -values if scale[2] else values
    return 10.0**plain if scale[3] else plain
