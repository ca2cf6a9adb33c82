"""Figures, each a pure function of curves or statistics; drawn without global state, the same bytes each time."""

from __future__ import annotations

import io
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from results import statistics
from results.curves import Curves

# Okabe and Ito (2008): distinguishable with any colour vision; with the markers, in grey too.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999933")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_POINTS = 101  # of a performance curve: more cannot be seen
_STYLE: Any = {
    "svg.hashsalt": "nasbench",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.axisbelow": True,
}


def performance_curves(curves: Curves, bench: str) -> Figure:
    """Median and quartiles of the best feasible objective against evaluations: a panel a constraint of one benchmark.

    A line begins where more than half of the runs have a feasible incumbent, so padding is never drawn.
    """
    with mpl.rc_context(_STYLE):
        numbers = [i for i, name in enumerate(curves.settings["bench"]) if name == bench]
        columns = min(3, len(numbers))
        rows = -(-len(numbers) // columns)
        figure = Figure(figsize=(3.4 * columns, 2.7 * rows + 0.4), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
        for number, panel in zip(numbers, panels, strict=False):
            _performance_panel(panel, curves, number)
        for panel in panels[len(numbers) :]:
            panel.remove()
        _legend(figure, curves.methods)
        figure.suptitle(bench)
        return figure


def rank_curves(curves: Curves) -> Figure:
    """Average rank of each method's median over settings, against evaluations."""
    with mpl.rc_context(_STYLE):
        ranks, settings = statistics.average_ranks(statistics.medians(curves))
        figure = Figure(figsize=(5.6, 3.6), layout="constrained")
        axes = figure.subplots()
        evaluations = np.arange(1, curves.evaluations + 1)
        for method in range(len(curves.methods)):
            _line(axes, evaluations, ranks[method], method)
        axes.set(xlabel="evaluations", ylabel=f"average rank over {settings} settings")
        axes.invert_yaxis()  # the best on top
        _legend(figure, curves.methods)
        return figure


def to_svg(figure: Figure) -> str:
    """The figure as SVG text, letters as outlines, the same bytes each time."""
    buffer = io.StringIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def _performance_panel(axes: Axes, curves: Curves, setting: int) -> None:
    facts = curves.settings.iloc[setting]
    points = np.unique(np.linspace(0, curves.evaluations - 1, _POINTS).round().astype(int))
    drawn, early = [], max(1, len(points) // 20)
    for method in range(len(curves.methods)):
        runs = curves.of(setting, method)
        if not len(runs):
            continue
        incumbents = curves.incumbent[np.ix_(runs, points)]
        incumbents = np.where(np.isnan(incumbents), np.inf, incumbents)
        # Order statistics, so that an infinite value (nothing feasible yet) never mixes with a number.
        low, median, high = (np.quantile(incumbents, q, axis=0, method="inverted_cdf") for q in (0.25, 0.5, 0.75))
        median = np.where(np.isfinite(median), median, np.nan)
        both = np.isfinite(low) & np.isfinite(high)
        axes.fill_between(points + 1, low, high, where=both.tolist(), color=_colour(method), alpha=0.15, linewidth=0)
        _line(axes, points + 1, median, method)
        drawn.append(median[np.isfinite(median)])
    values = np.concatenate([np.zeros(0), *drawn])
    if len(values) and values.min() > 0 and values.max() > 20 * values.min():
        axes.set_yscale("log")
    elif len(values):
        # The first random draws would dwarf everything that follows.
        top = max(line[min(early, len(line) - 1)] for line in drawn if len(line))
        bottom = np.nanmin([values.min(), facts["oracle"]])
        if top > bottom:
            axes.set_ylim(bottom - 0.08 * (top - bottom), top + 0.02 * (top - bottom))
    if np.isfinite(facts["oracle"]):
        axes.axhline(facts["oracle"], color="0.4", linestyle=":", linewidth=1)
    unit = f" [{facts['unit']}]" if facts["unit"] else ""
    axes.set(xlabel="evaluations", ylabel=f"{facts['objective']}{unit}")
    axes.set_title(facts["constraint"].replace("none", "no constraint").replace("+", "\n"), fontsize=8)


def _line(axes: Axes, x: np.ndarray, y: np.ndarray, method: int) -> None:
    marker = _MARKERS[method % len(_MARKERS)]
    axes.plot(x, y, color=_colour(method), marker=marker, markevery=max(1, len(x) // 5), markersize=4, linewidth=1.4)


def _legend(figure: Figure, methods: tuple[str, ...]) -> None:
    handles = [
        mpl.lines.Line2D([], [], color=_colour(i), marker=_MARKERS[i % len(_MARKERS)], markersize=4, label=method)
        for i, method in enumerate(methods)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(4, len(methods)), frameon=False)


def _colour(method: int) -> str:
    return _COLOURS[method % len(_COLOURS)]
