"""Figures for papers, each a pure function of panels or statistics; no global state, the same bytes each time."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nasbench.results.curves import Array
from nasbench.results.report.panels import Panel, style
from nasbench.results.report.table import shortened
from nasbench.results.statistics.ranking import cliques

FORMATS = ("svg", "pdf", "png")

_FEW, _SHORT = 4, 24  # methods, and letters of their names, up to which lines carry them
_LEGEND = 60  # letters of a name in a legend
_STYLE: Any = {
    "svg.hashsalt": "nasbench",
    "svg.fonttype": "path",  # letters as outlines: they look alike everywhere
    "pdf.fonttype": 42,  # TrueType, embedded
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.axisbelow": True,
}


def styled() -> AbstractContextManager[None]:
    """The look of every figure here."""
    return mpl.rc_context(_STYLE)


def chart(panel: Panel, methods: tuple[str, ...]) -> Figure:
    """One panel as a figure: names beside the lines where they are few, else a legend."""
    with styled():
        lines = -(-len(methods) // _legend_columns(methods, 5.6))
        figure = Figure(figsize=(5.6, 3.6 + 0.2 * max(0, lines - 4)), layout="constrained")
        axes = figure.subplots()
        _draw(axes, panel)
        axes.set_title("")
        if len(panel.series) <= _FEW and max(map(len, methods)) <= _SHORT:
            _name_lines(axes, panel, methods)
        else:
            legend(figure, methods)
        return figure


def charts(panels: Sequence[Panel], methods: tuple[str, ...], title: str) -> Figure:
    """Several panels in one figure with one legend."""
    with styled():
        columns = min(3, len(panels))
        rows = -(-len(panels) // columns)
        width = max(5.6, 3.4 * columns)
        lines = -(-len(methods) // _legend_columns(methods, width))
        figure = Figure(figsize=(width, 2.7 * rows + 0.2 + 0.2 * lines), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
        for panel, own in zip(panels, axes, strict=False):
            _draw(own, panel)
        for spare in axes[len(panels) :]:
            spare.remove()
        legend(figure, methods, only={series.method for panel in panels for series in panel.series})
        figure.suptitle(title)
        return figure


def critical_differences(
    ranks: Array, p_values: Array, methods: tuple[str, ...], title: str, difference: float | None = None
) -> Figure:
    """A critical-difference diagram (Demšar, JMLR 2006, figure 1): bars join methods that do not differ at 5 %.

    Args:
        difference: Nemenyi's critical difference, drawn as a scale.
    """
    with mpl.rc_context({**_STYLE, "axes.grid": False}):
        count, bars = len(methods), cliques(ranks, p_values)
        names = [_plain(name) for name in shortened(methods, _SHORT)]
        left = -(-count // 2)
        depth = 0.5 * len(bars) + 0.6
        figure = Figure(figsize=(6.4, 1.1 + 0.22 * (depth + left)), layout="constrained")
        axes = figure.subplots()
        axes.set_axis_off()
        axes.set(xlim=(1 - 0.55 * count, count + 0.55 * count), ylim=(-depth - left, 2.4))
        axes.plot([1, count], [0, 0], color="black", linewidth=1)
        for tick in range(1, count + 1):
            axes.plot([tick, tick], [0, 0.25], color="black", linewidth=1)
            axes.text(tick, 0.4, str(tick), ha="center", va="bottom", fontsize=8)
        for position, method in enumerate(np.argsort(ranks, kind="stable").tolist()):
            on_left = position < left
            level = -depth - (position if on_left else count - 1 - position)
            end = 1 - 0.08 * count if on_left else count + 0.08 * count
            colour, marker = style(method)
            axes.plot([ranks[method], ranks[method], end], [0, level, level], color=colour, linewidth=1)
            axes.plot([ranks[method]], [0], color=colour, marker=marker, markersize=5)
            axes.text(
                end + (-0.04 if on_left else 0.04) * count,
                level,
                f"{names[method]} ({ranks[method]:.2f})",
                ha="right" if on_left else "left",
                va="center",
                fontsize=8,
            )
        for number, clique in enumerate(bars):
            ends = [min(ranks[list(clique)]) - 0.03, max(ranks[list(clique)]) + 0.03]
            axes.plot(ends, [-0.5 * number - 0.5] * 2, color="black", linewidth=3, solid_capstyle="butt")
        if difference is not None and np.isfinite(difference):
            end = min(1 + difference, 1.5 * count)
            axes.plot([1, end], [1.7, 1.7], color="black", linewidth=1, marker="|")
            axes.text((1 + end) / 2, 1.9, f"critical difference {difference:.2f}", ha="center", va="bottom", fontsize=8)
        axes.set_title(title, fontsize=9)
        return figure


def render(figure: Figure, form: str) -> bytes:
    """The figure as a file of one of `FORMATS`, the same bytes each time, fonts embedded."""
    buffer = io.BytesIO()
    metadata: dict[str, Any] = {
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
        "png": {"Software": None},
    }[form]
    with styled():
        figure.savefig(buffer, format=form, metadata=metadata, dpi=200)
    return buffer.getvalue()


def _draw(axes: Axes, panel: Panel) -> None:
    for series in panel.series:
        colour, marker = style(series.method)
        if series.low is not None and series.high is not None:
            known = np.isfinite(series.low)
            axes.fill_between(
                panel.x, series.low, series.high, where=known.tolist(), color=colour, alpha=0.15, linewidth=0
            )
        every = max(1, len(panel.x) // 5)
        axes.plot(panel.x, series.y, color=colour, marker=marker, markevery=every, markersize=4, linewidth=1.4)
    if panel.reference is not None:
        axes.axhline(panel.reference, color="0.4", linestyle=":", linewidth=1)
    if panel.log:
        axes.set_yscale("log")
    axes.set(
        xlabel=panel.xlabel, ylabel=_plain(panel.ylabel), ylim=panel.limits[::-1] if panel.best_on_top else panel.limits
    )
    axes.set_title(_plain(panel.title).replace(" + ", "\n"), fontsize=8)


def _name_lines(axes: Axes, panel: Panel, methods: tuple[str, ...]) -> None:
    """Writes each method's name at the end of its line, far enough apart to be read."""
    low, high = panel.limits
    gap, last = 0.06 * (high - low), -np.inf
    for series in sorted(panel.series, key=lambda s: float(s.y[-1])):
        last = max(float(series.y[-1]), last + gap)
        axes.annotate(
            _plain(methods[series.method]),
            (panel.x[-1], last),
            xytext=(6, 0),
            textcoords="offset points",
            color=style(series.method)[0],
            va="center",
            fontsize=8,
            annotation_clip=False,
        )


def _plain(text: str) -> str:
    """Text in which matplotlib sees no formulas."""
    return text.replace("$", r"\$")


def legend(figure: Figure, methods: tuple[str, ...], markers: bool = True, only: Collection[int] | None = None) -> None:
    """Below the figure: the colour and marker of each method, or of whatever else its lines stand for.

    Args:
        only: the numbers of those that are drawn; by default all.
    """
    names = [_plain(name) for name in shortened(methods, _LEGEND)]
    handles = [
        mpl.lines.Line2D([], [], color=style(i)[0], marker=style(i)[1] if markers else "", markersize=4, label=name)
        for i, name in enumerate(names)
        if only is None or i in only
    ]
    columns = _legend_columns(methods, figure.get_figwidth())
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False)


def _legend_columns(methods: tuple[str, ...], width: float) -> int:
    """As many as fit: letters are about a fifteenth of an inch."""
    longest = max(map(len, shortened(methods, _LEGEND)))
    return min(5, max(1, int(15 * width / (6 + longest))))
