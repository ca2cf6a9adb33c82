"""What each chart shows, whoever draws it: `plots` for papers, the page's script for browsers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nasbench.results.curves import Array, Curves
from nasbench.results.report.table import shortened
from nasbench.results.statistics import ranking, summaries
from nasbench.results.statistics.pairs import relative_differences

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999933")
"""Okabe and Ito (2008): distinguishable with any colour vision; with the markers, in grey too."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def style(method: int) -> tuple[str, str]:
    """The colour and the marker of a method, the same in every chart of a report; no two of the first 64 are alike."""
    return COLOURS[method % len(COLOURS)], MARKERS[(method + method // len(COLOURS)) % len(MARKERS)]


@dataclass(frozen=True)
class Series:
    """One method's line."""

    method: int
    y: Array
    low: Array | None = None
    high: Array | None = None
    """The ends of a band; NaN where there is none."""


@dataclass(frozen=True)
class Panel:
    """One chart of lines."""

    title: str
    xlabel: str
    ylabel: str
    x: Array
    series: tuple[Series, ...]
    limits: tuple[float, float]
    """Of the y axis, the lower end first."""
    log: bool = False
    best_on_top: bool = False
    reference: float | None = None
    """A horizontal line: the oracle."""


def ranks(curves: Curves, points: int) -> Panel:
    """Average rank of each method's median over settings, against evaluations."""
    values, settings = ranking.average_ranks(summaries.medians(curves))
    at = _points(int(curves.reached.min()), points)
    series = tuple(Series(method, values[method, at]) for method in range(len(curves.methods)))
    label = f"average rank over {settings} settings"
    return Panel("Over evaluations", "evaluations", label, at + 1.0, series, _span(series), best_on_top=True)


def ranks_over_seconds(curves: Curves, points: int) -> Panel:
    """Average rank against the share of each setting's time horizon."""
    shares = np.linspace(0, 1, points)[1:]
    values, settings = ranking.average_ranks(summaries.medians_over_seconds(curves, shares))
    series = tuple(Series(method, values[method]) for method in range(len(curves.methods)))
    label = f"average rank over {settings} settings"
    x = "share of the time horizon [%]"
    return Panel("Over seconds on the clock", x, label, 100 * shares, series, _span(series), best_on_top=True)


def targets(curves: Curves, points: int) -> Panel | None:
    """Share of targets reached against evaluations; None where no setting has an oracle."""
    reached = ranking.targets_reached(summaries.normalised_regret(curves), curves)
    if np.isnan(reached).all():
        return None
    at = _points(int(curves.reached.min()), points)
    series = tuple(Series(m, reached[m, at]) for m in range(len(curves.methods)) if not np.isnan(reached[m, 0]))
    return Panel("Targets reached", "evaluations", "share of targets reached", at + 1.0, series, (0.0, 1.0))


def net_wins(curves: Curves, baseline: int, points: int) -> Panel:
    """Share of settings that the baseline wins minus those it loses, against every other method."""
    at = _points(int(curves.reached.min()), points)
    medians = summaries.medians(curves)[:, :, at]
    series = []
    for method in range(len(curves.methods)):
        both = ~np.isnan(medians[:, [method, baseline]]).any(axis=(1, 2))
        if method != baseline and both.any():
            won = np.sign(relative_differences(medians[both, method], medians[both, baseline]))
            series.append(Series(method, won.mean(axis=0)))
    name = shortened(curves.methods, 24)[baseline]
    label = f"share won - lost by {name}"
    return Panel(f"{name} against", "evaluations", label, at + 1.0, tuple(series), (-1.05, 1.05))


def found(curves: Curves, points: int) -> Panel:
    """Share of runs with a feasible incumbent, averaged over settings without a missing method."""
    at = _points(int(curves.reached.min()), points)
    series = []
    for method in range(len(curves.methods)):
        own = [curves.groups[s, method] for s in curves.complete]
        if own:
            shares = [np.isfinite(curves.incumbent[np.ix_(runs, at)]).mean(axis=0) for runs in own]
            series.append(Series(method, np.mean(shares, axis=0)))
    label = "share of runs with a feasible incumbent"
    return Panel("Anything feasible yet", "evaluations", label, at + 1.0, tuple(series), (0.0, 1.05))


def performance(curves: Curves, setting: int, points: int, named: bool = False) -> Panel:
    """Median and quartiles of the best feasible objective against evaluations, on one setting.

    Args:
        named: the title names the benchmark too.

    A line begins where its median rests on feasible incumbents alone, so padding is never drawn.
    """
    facts = curves.settings.iloc[setting]
    at = _points(int(curves.reached[setting]), points)
    series = []
    for method in range(len(curves.methods)):
        runs = curves.groups.get((setting, method))
        if runs is None:
            continue
        incumbents = curves.incumbent[np.ix_(runs, at)]
        incumbents = np.where(np.isnan(incumbents), np.inf, incumbents)
        with np.errstate(invalid="ignore"):  # between a number and infinity lies nothing
            low, median, high = np.quantile(incumbents, [0.25, 0.5, 0.75], axis=0)
        both = np.isfinite(low) & np.isfinite(high)
        band = (np.where(both, low, np.nan), np.where(both, high, np.nan))
        series.append(Series(method, np.where(np.isfinite(median), median, np.nan), *band))
    oracle = float(facts["oracle"]) if np.isfinite(facts["oracle"]) else None
    unit = f" [{facts['unit']}]" if facts["unit"] else ""
    title = facts["constraint"].replace("none", "no constraint").replace("+", " + ")
    title = f"{facts['bench']}: {title}" if named else title
    panel = Panel(title, "evaluations", f"{facts['objective']}{unit}", at + 1.0, tuple(series), (0.0, 1.0))
    return _scaled(replace(panel, reference=oracle))


def _scaled(panel: Panel) -> Panel:
    """The panel with a logarithmic axis where values span a decade and more, and with limits that show them."""
    lines = [line for s in panel.series if len(line := s.y[np.isfinite(s.y)])]
    if not lines:
        return panel
    values = np.concatenate(lines)
    if values.min() > 0 and values.max() > 20 * values.min():
        positive = panel.reference is not None and panel.reference > 0
        bottom = min(values.min(), panel.reference) if positive else values.min()
        limits = (float(bottom) / 1.1, float(values.max()) * 1.1)
        series = tuple(replace(s, low=None if s.low is None else np.maximum(s.low, limits[0])) for s in panel.series)
        reference = panel.reference if positive else None
        return replace(panel, log=True, limits=limits, series=series, reference=reference)
    # The first random draws would dwarf everything that follows.
    early = max(1, len(panel.x) // 20)
    top = max(line[min(early, len(line) - 1)] for line in lines)
    bottom = np.nanmin([values.min(), np.nan if panel.reference is None else panel.reference])
    flat = top - bottom <= 1e-9 * max(abs(top), abs(bottom))
    margin = (abs(top) or 1.0) if flat else top - bottom
    return replace(panel, limits=(float(bottom - 0.08 * margin), float(top + 0.04 * margin)))


def _points(last: int, points: int) -> np.ndarray:
    """Up to so many evaluations (from 0), evenly spaced, the first and the last among them."""
    return np.unique(np.linspace(0, last - 1, points).round().astype(int))


def _span(series: tuple[Series, ...]) -> tuple[float, float]:
    values = np.concatenate([s.y[np.isfinite(s.y)] for s in series])
    if not len(values):
        return 0.0, 1.0
    margin = 0.05 * (values.max() - values.min()) or 0.5
    return float(values.min() - margin), float(values.max() + margin)
