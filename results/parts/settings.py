"""Results by setting: medians, curves, regrets, the baseline against other methods, and the settings themselves."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from nasbench.base.numbers import (
    between,
    count,
    fixed,
    intervals,
    number,
    p_value,
    point,
    with_unit,
)
from nasbench.results.curves import Array, Curves
from nasbench.results.display.table import Table
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.statistics import summaries, targets
from nasbench.results.statistics.comparison import SETTINGS, Comparison
from nasbench.results.statistics.estimates import LEVEL, cannot_differ
from nasbench.results.statistics.verdicts import compare, with_corrected_p
from nasbench.results.subject import Subject
from nasbench.results.verdict import rows


@PARTS.register("settings")
@plain(40)
def part(subject: Subject) -> Part:
    """The results on each setting."""
    comparison = subject.comparison
    tables = [medians(comparison), performance(comparison), within(comparison), _explained(comparison.curves)]
    return Part("settings", "Setting by setting", [t for t in tables if t is not None])


def medians(comparison: Comparison) -> Table:
    """The median of every method on every setting at the end, one row per setting."""
    curves = comparison.curves
    data = pd.DataFrame(comparison.medians, columns=pd.Index(map(_column, curves.names)), dtype=float)
    settings = curves.settings
    shown = pd.DataFrame(
        {
            "benchmark": settings["bench"],
            "objective": list(map(with_unit, settings["objective"], settings["unit"])),
            "constraint": settings["constraint"],
        }
        | {_column(name): data[_column(name)].map(number) for name in curves.names}
        | {"oracle": [number(value) for value in curves.oracle]}
    )
    bold = np.zeros(shown.shape, bool)
    bold[:, 3:-1] = lowest(data.to_numpy(float))
    for name in ("constraint", "objective", "bench"):
        data.insert(0, name, settings[name])
    note = (
        f"Median over seeds of the {curves.compared.phrase} at the end of the budget; a run without a feasible "
        "incumbent counts with the worst feasible value. oracle: the best that an incumbent can be worth."
    )
    if len(settings) > 1:
        note += " Whether a difference is more than chance stands in within.csv."
    return Table("medians", "Medians at the end of the budget", note, data, shown, bold, "Bold: the lowest.")


def performance(comparison: Comparison) -> Table:
    """Values of the incumbents of every method on every setting, with regrets and areas."""
    curves = comparison.curves
    summary = summaries.performance(curves, comparison.checkpoints)
    area = targets.areas(comparison)
    areas = pd.DataFrame(
        [(s, m, float(np.mean(area[runs]))) for (s, m), runs in curves.groups.items()],
        columns=["setting", "method", "area"],
    )
    areas.loc[~np.isin(areas["setting"], targets.with_oracle(curves)), "area"] = np.nan
    data = named(curves, summary.merge(areas, on=["setting", "method"], how="left"))
    # Without a table, the value that replaces a missing incumbent comes from another method: it is left out.
    nothing = (data["found"] == 0) & data["normalised_regret"].isna()
    ends = data["low"].map(number).combine(data["high"].map(number), between)
    spread = data["values"].where(data["values"] != "", ends)
    shown = pd.DataFrame(
        {
            "benchmark": data["bench"],
            "constraint": data["constraint"],
            "method": data["method"],
            "at": [point(at, curves.unit) for at in data["point"]],
            "median": data["median"].map(number).mask(nothing, "-"),
            "95 %": spread.mask(nothing, "-"),
            "n. regret": data["normalised_regret"].map(lambda value: number(value, 3)),
            "area": data["area"].map(lambda value: number(value, 3)),
            "found %": data["found"].map(lambda value: f"{100 * value:.0f}"),
        }
    )
    note = (
        f"The {curves.compared.phrase}, over seeds: median with its 95 % interval between order statistics. n. regret: "
        "of the median, 0 at the oracle, 1 at the median of everything feasible; area: mean over the budget of the "
        "share of targets from 1 to 0.001 of normalised regret that are reached; found: runs with an incumbent."
    )
    return Table("performance", "What incumbents are worth", note, data, shown, only_in_files=True)


def means(comparison: Comparison) -> Table:
    """Mean and standard deviation of every method on every setting at the end; the best and its equals are marked."""
    curves, methods = comparison.curves, len(comparison.methods)
    settings = range(len(curves.settings))
    values = curves.padded(curves.at((comparison.end,)))[:, 0]
    middle, spread = np.full((2, len(settings), methods), np.nan)
    for key, runs in curves.groups.items():
        middle[key], spread[key] = values[runs].mean(), values[runs].std(ddof=1) if len(runs) > 1 else np.nan
    both = list(combinations(range(methods), 2))
    pairs = [compare(comparison.field, np.array([setting]), *pair) for setting in settings for pair in both]
    worse: set[tuple[int, int, int]] = set()
    corrected = with_corrected_p([pair for pair in pairs if pair is not None], 1.0)
    tested = [pair for pair in corrected if not np.isnan(pair.p_these)]
    for pair in tested:
        if pair.p_these < LEVEL:
            better = (pair.a, pair.b) if pair.these.value > 0.5 else (pair.b, pair.a)
            worse.add((int(pair.settings[0]), *better))
    best = np.argmin(np.where(np.isnan(middle), np.inf, middle), axis=1)
    bold = np.zeros((len(settings), methods + 2), bool)
    for s, m in np.ndindex(middle.shape):
        is_as_good = (s, int(best[s]), m) not in worse if tested else m == best[s]
        bold[s, m + 2] = not np.isnan(middle[s, m]) and is_as_good
    shown = pd.DataFrame({"benchmark": curves.settings["bench"], "constraint": curves.settings["constraint"]})
    digits = [_digits(spread[s]) for s in settings]
    for m, name in enumerate(curves.names):
        cells = [(fixed(middle[s, m], digits[s]), fixed(spread[s, m], digits[s])) for s in settings]
        shown[_column(name)] = ["-" if mean == "-" else f"{mean} ± {sd}" for mean, sd in cells]
    rows = [(s, m, middle[s, m], spread[s, m]) for s, m in sorted(curves.groups)]
    data = named(curves, pd.DataFrame(rows, columns=["setting", "method", "mean", "sd"]))
    note = (
        f"The {curves.compared.phrase} at the end of the budget: mean and standard deviation over seeds. A run without "
        "a feasible incumbent counts with the worst feasible value."
    )
    marks = (
        "Bold: the lowest mean of a row, and the methods that are not significantly worse than that method there (Mann "
        "and Whitney's test, 5 %, Holm over all pairs of methods of all rows)."
    )
    if not tested:
        marks = "Bold: the lowest mean of a row. Nothing is tested: that takes methods that differ, and five seeds."
    elif cannot_differ([pair.floor for pair in tested]):
        marks += f" As few seeds as these cannot give p < 0.05 among {count(len(tested), 'test')}."
    return Table("means", "Mean and standard deviation of the incumbents", note, data, shown, bold, marks)


def _digits(spread: Array) -> int:
    """Digits after the point that give the smallest standard deviation two significant digits; at most 6."""
    positive = spread[np.isfinite(spread) & (spread > 0)]
    return int(np.clip(1 - np.floor(np.log10(positive.min())), 0, 6)) if len(positive) else 2


def within(comparison: Comparison) -> Table | None:
    """The baseline against every other method within each setting; None for one setting, or without common settings."""
    settings, base = range(len(comparison.curves.settings)), comparison.baseline
    others = [method for method in range(len(comparison.methods)) if method != base]
    pairs = [compare(comparison.field, np.array([setting]), base, method) for setting in settings for method in others]
    kept = with_corrected_p([pair for pair in pairs if pair is not None], SETTINGS)
    if len(settings) < 2 or not kept:
        return None
    values = [
        (int(p.settings[0]), p.b, p.seeds, p.these.value, *p.interval, p.these.p(), p.p_these, p.floor) for p in kept
    ]
    frame = pd.DataFrame(
        values, columns=["setting", "method", "seeds", "better", "low", "high", "p", "p_holm", "floor"]
    )
    frame.loc[[p.is_identical for p in kept], ["p", "p_holm"]] = np.nan
    data = named(comparison.curves, frame).rename(columns={"method": "against"})
    shown = pd.DataFrame(
        {
            "benchmark": data["bench"],
            "constraint": data["constraint"],
            "against": data["against"],
            "seeds": data["seeds"].astype(str),
            "better": [rows.marked(p) for p in kept],
            "95 % CI": intervals(data["low"], data["high"]),
            "p": data["p_holm"].map(p_value),
        }
    )
    note = (
        "Inside each setting, over the seeds that both have; Mann and Whitney's test, after Holm over all rows. Single "
        f"settings together have {5 * SETTINGS:g} of the 5 % in which a report may err."
    )
    title = f"Setting by setting: probability that {comparison.methods[comparison.baseline]} is better"
    return Table("within", title, note, data, shown, None, "* significant at 5 % (Holm).", only_in_files=True)


def lowest(values: Array) -> np.ndarray:
    """A mask of the lowest value of each row, ties included."""
    known = np.where(np.isnan(values), np.inf, values)
    least = known.min(axis=1, keepdims=True)
    is_lowest: np.ndarray = np.isclose(known, least, rtol=1e-9, atol=0) & ~np.isnan(values)
    return is_lowest


def named(curves: Curves, frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with names of benchmark, constraint, method, objective and unit in place of numbers."""
    settings = curves.settings.iloc[frame["setting"]].reset_index(drop=True)
    methods = [curves.names[m] for m in frame["method"]]
    renamed = frame.drop(columns=["setting", "method"])
    for name, values in (("method", methods), ("unit", settings["unit"]), ("objective", settings["objective"])):
        renamed.insert(0, name, values)
    for name in ("constraint", "bench"):
        renamed.insert(0, name, settings[name])
    return renamed


def _column(method: str) -> str:
    """A column's name for a method, different from those of other columns."""
    taken = ("benchmark", "objective", "constraint", "oracle", "bench")
    return f"{method} (method)" if method in taken else method


def _explained(curves: Curves) -> Table:
    settings = curves.settings
    shown = pd.DataFrame(
        {
            "benchmark": settings["bench"],
            "family": settings["family"],
            "objective": list(map(with_unit, settings["objective"], settings["unit"])),
            "split": settings["split"],
            "constraint": settings["constraint"],
            "means": settings["bounds"].map(", ".join),
            "oracle": [number(value, 6) for value in curves.oracle],
            "median": settings["median"].map(lambda value: number(value, 6)),
            "worst": settings["worst"].map(lambda value: number(value, 6)),
            "noise": settings["noise"].map(lambda value: number(value, 3)),
            "feasible %": (100 * settings["feasible_share"]).map(lambda value: number(value, 3)),
        }
    )
    note = (
        "oracle: the best value among all that is feasible; median, worst: of every feasible (configuration, "
        "repetition); noise: standard deviation between repetitions of one good configuration; feasible: share of the "
        "table's rows; - where there is no table."
    )
    return Table("settings", "What the settings are", note, settings.drop(columns=["bounds", "test_metrics"]), shown)
