"""Convergence: ranks, pairs and values of incumbents against the budget."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from nasbench.base.numbers import constraint_name, with_unit
from nasbench.results.curves import Array
from nasbench.results.display.panels import Chart, Panel, Series, scaled
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.subject import Subject
from nasbench.results.verdict import pairs, ranks

_ZERO = 1e-12
"""Regret up to which there is none: rounding alone would make it positive."""
_LINES = (
    "Line: the median over seeds, from where most runs have something feasible on; band: the quartiles. Dotted: the "
    "oracle. By the hidden repetition a line may rise: an incumbent is chosen by what its run observed."
)


@PARTS.register("convergence")
@plain(30)
def part(subject: Subject) -> Part:
    """Expected ranks, the leader's pairs, and the incumbent's value on each setting, against the budget."""
    comparison = subject.comparison
    charts = [
        Chart(f"curves-{bench}", partial(_panels, comparison, settings), bench, _LINES)
        for bench, settings in comparison.curves.by_bench.items()
    ]
    if comparison.against_baseline(comparison.overall):
        charts = [
            Chart("ranks", lambda points: [ranks.over_budget(comparison, points)]),
            Chart("improvement", lambda points: [pairs.over_budget(comparison, points)]),
            *charts,
        ]
    return Part("convergence", "Convergence", charts=charts)


def _panels(comparison: Comparison, settings: list[int], points: int) -> list[Panel]:
    return [curve(comparison, setting, points) for setting in settings]


def curve(comparison: Comparison, setting: int, points: int) -> Panel:
    """Median and quartiles of the incumbent's value against the budget on one setting."""
    return scaled(_lines(comparison, setting, points))


def regrets(comparison: Comparison, points: int) -> dict[str, list[Panel]]:
    """The panels of each benchmark: as `curve`, but regrets on a logarithmic axis where the oracle is known.

    A regret of zero is drawn at the lower edge.
    """
    curves = comparison.curves
    return {
        bench: [_regret(_lines(comparison, setting, points)) for setting in settings]
        for bench, settings in curves.by_bench.items()
    }


def _regret(panel: Panel) -> Panel:
    oracle, lines = panel.reference, [line for s in panel.series for line in (s.y, s.low, s.high) if line is not None]
    above = np.concatenate([line - oracle for line in lines]) if lines and oracle is not None else np.zeros(0)
    positive = above[np.isfinite(above) & (above > _ZERO)]
    if oracle is None or not len(positive):
        return scaled(panel)
    least = float(positive.min())

    def regret(line: Array | None) -> Array | None:
        return None if line is None else np.maximum(line - oracle, least)

    series = tuple(
        replace(s, y=np.maximum(s.y - oracle, least), low=regret(s.low), high=regret(s.high)) for s in panel.series
    )
    limits = (least / 1.1, float(positive.max()) * 1.1)
    return replace(panel, series=series, reference=None, log=True, limits=limits, ylabel=f"regret of {panel.ylabel}")


def _lines(comparison: Comparison, setting: int, points: int) -> Panel:
    """Medians and quartiles; a line begins where its median depends on feasible incumbents only (no padding)."""
    curves = comparison.curves
    facts = curves.settings.iloc[setting]
    at = comparison.along(points)
    if curves.seconds is None:
        at = np.unique(np.linspace(1, curves.reached[setting], points).round())
    series = []
    for method in range(len(curves.methods)):
        runs = curves.groups.get((setting, method))
        if runs is None:
            continue
        values = curves.at(at, runs)
        padded = np.where(np.isnan(values), np.inf, values)
        with np.errstate(invalid="ignore"):  # interpolation between a number and infinity
            low, median, high = np.quantile(padded, [0.25, 0.5, 0.75], axis=0)
        both = np.isfinite(low) & np.isfinite(high)
        band = (np.where(both, low, np.nan), np.where(both, high, np.nan))
        series.append(Series(method, np.where(np.isfinite(median), median, np.nan), *band))
    oracle = float(curves.oracle[setting]) if np.isfinite(curves.oracle[setting]) else None
    title = constraint_name(facts["constraint"]).replace("+", " + ")
    ylabel = curves.compared.phrase if facts["scales"] else with_unit(facts["objective"], facts["unit"])
    place = facts["family"], facts["bench"], facts["constraint"]
    return Panel(title, curves.unit, ylabel, at, tuple(series), (0.0, 1.0), reference=oracle, place=place)
