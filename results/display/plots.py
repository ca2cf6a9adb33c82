"""Figures for papers, drawn by matplotlib without global state; the same bytes each time."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any

import matplotlib as mpl
import matplotlib.patches
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nasbench.results.curves import Array
from nasbench.results.display.look import Look
from nasbench.results.display.panels import Panel
from nasbench.results.display.scene import Line, Mark, Scene, Shape, Text
from nasbench.results.display.table import shortened

_FEW, SHORT = 4, 24  # up to this number of methods, and of letters of their names, lines carry the names
_LEGEND = 60  # letters of a name in a legend
_LINE = 0.07  # distance of names beside lines, as a share of the axis
_STYLE: Any = {
    "svg.hashsalt": "nasbench",
    "svg.fonttype": "path",  # letters as outlines, which look the same everywhere
    "pdf.fonttype": 42,  # TrueType, embedded
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.axisbelow": True,
}


def styled() -> AbstractContextManager[None]:
    """A context with the style of all figures here."""
    return mpl.rc_context(_STYLE)


def chart(panel: Panel, methods: tuple[str, ...], looks: Sequence[Look], width: float = 5.6) -> Figure:
    """One panel as a figure, with names beside the lines if there are few, else with a legend.

    Args:
        width: width in inches; letters have 8 points.
    """
    with styled():
        lines = -(-len(methods) // _legend_columns(methods, width))
        figure = Figure(figsize=(width, 0.62 * width + 0.17 * lines + 0.1), layout="constrained")
        axes = figure.subplots()
        _draw(axes, panel, looks)
        axes.set_title("")
        if 0 < len(panel.series) <= _FEW and max(map(len, methods)) <= SHORT:
            _name_lines(axes, panel, methods, looks)
        else:
            legend(figure, methods, looks, only={series.method for series in panel.series})
        return figure


def charts(
    panels: Sequence[Panel], methods: tuple[str, ...], looks: Sequence[Look], title: str, width: float | None = None
) -> Figure:
    """Several panels in one figure with one legend.

    Args:
        width: width in inches, with labels of axes once for all panels; by default 3.4 for each of up to three columns.
    """
    is_narrow = width is not None
    with styled():
        columns = min(3, len(panels)) if width is None else min(max(1, round(width / 1.7)), len(panels))
        rows = -(-len(panels) // columns)
        height = 2.7 if width is None else 0.8 * width / columns
        width = width or max(5.6, 3.4 * columns)
        lines = -(-len(methods) // _legend_columns(methods, width))
        figure = Figure(figsize=(width, height * rows + 0.2 + 0.2 * lines), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
        for panel, panel_axes in zip(panels, axes, strict=False):
            _draw(panel_axes, panel, looks)
        for spare in axes[len(panels) :]:
            spare.remove()
        if is_narrow:
            for place, panel_axes in enumerate(axes[: len(panels)]):
                is_lowest = place + columns >= len(panels)
                panel_axes.set(xlabel=panels[place].xlabel if is_lowest else "")
            if len({panel.ylabel for panel in panels}) == 1:
                for panel_axes in axes[: len(panels)]:
                    panel_axes.set(ylabel="")
                figure.supylabel(plain(panels[0].ylabel), fontsize=8)
        legend(figure, methods, looks, only={series.method for panel in panels for series in panel.series})
        figure.suptitle(title)
        return figure


def render(figure: Figure | Scene, form: str) -> bytes:
    """The figure as a file of SVG or PDF, the same bytes each time, fonts embedded."""
    if isinstance(figure, Scene):
        figure = _painted(figure)
    buffer = io.BytesIO()
    metadata: dict[str, Any] = {
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }[form]
    with styled():
        figure.savefig(buffer, format=form, metadata=metadata, dpi=200)
    return buffer.getvalue()


def _painted(scene: Scene) -> Figure:
    """A scene as a figure; a pixel is a 96th of an inch."""
    with styled():
        figure = Figure(figsize=(scene.width / 96, scene.height / 96))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set(xlim=(0, scene.width), ylim=(scene.height, 0))
        for shape in scene.shapes:
            _paint(axes, shape)
        return figure


def _paint(axes: Axes, shape: Shape) -> None:
    colour = "black" if shape.colour == "ink" else shape.colour
    match shape:
        case Line(x0, y0, x1, y1, width):
            axes.plot([x0, x1], [y0, y1], color=colour, linewidth=0.75 * width, solid_capstyle="butt")
        case Mark(x, y, marker):
            axes.plot([x], [y], color=colour, marker=marker, markersize=4.5, linestyle="")
        case Text(x, y, text, size, anchor):
            side = {"start": "left", "middle": "center", "end": "right"}[anchor]
            weight = "bold" if shape.is_bold else "normal"
            facts: Any = {"fontsize": 0.75 * size, "color": colour, "fontweight": weight, "ha": side, "va": "center"}
            axes.text(x, y, plain(text), **facts)


def _draw(axes: Axes, panel: Panel, looks: Sequence[Look]) -> None:
    for series in panel.series:
        look = looks[series.method]
        if series.low is not None and series.high is not None:
            known = np.isfinite(series.low)
            axes.fill_between(
                panel.x, series.low, series.high, where=known.tolist(), color=look.colour, alpha=0.15, linewidth=0
            )
        every = max(1, len(panel.x) // 5)
        start = series.method % 4 * every // 4  # offsets, so that markers do not hide each other
        marked = (min(start, len(panel.x) - 1), every)
        axes.plot(panel.x, series.y, **_line(look), markevery=marked, markersize=4, linewidth=1.4)
    if panel.reference is not None:
        axes.axhline(panel.reference, color="0.4", linestyle=":", linewidth=1)
    if panel.bound is not None:
        axes.plot(panel.x, panel.bound, color="0.2", linestyle=":", linewidth=1.2)
    if panel.log:
        axes.set_yscale("log")
    if panel.xlog:
        axes.set_xscale("log")
    axes.set(
        xlabel=panel.xlabel, ylabel=plain(panel.ylabel), ylim=panel.limits[::-1] if panel.best_on_top else panel.limits
    )
    axes.set_title(plain(panel.title).replace(" + ", "\n"), fontsize=8)


def _line(look: Look, has_marker: bool = True) -> dict[str, Any]:
    """A look as arguments of matplotlib."""
    dash: Any = (0, look.dash) if look.dash else "-"
    return {"color": look.colour, "marker": look.marker if has_marker else "", "linestyle": dash}


def _name_lines(axes: Axes, panel: Panel, methods: tuple[str, ...], looks: Sequence[Look]) -> None:
    """Writes each method's name at the end of its line, with legible distances, between the ends of the axis."""
    ends = np.array([series.y[-1] for series in panel.series])
    heights = axes.transAxes.inverted().transform(axes.transData.transform([(panel.x[-1], end) for end in ends]))[:, 1]
    for series, height in zip(panel.series, _apart(np.nan_to_num(heights)), strict=True):
        axes.annotate(
            plain(methods[series.method]),
            (1.0, height),
            xycoords="axes fraction",
            xytext=(6, 0),
            textcoords="offset points",
            color=looks[series.method].colour,
            va="center",
            fontsize=8,
            annotation_clip=False,
        )


def _apart(heights: Array) -> Array:
    """Heights of labels, shares of the axis, moved until neighbours are `_LINE` apart and all lie on the axis."""
    order = np.argsort(heights, kind="stable")
    steps = _LINE * np.arange(len(order))
    up = np.maximum.accumulate(np.clip(heights[order], 0, 1) - steps)  # from the lowest to the highest
    placed: Array = np.empty_like(heights)
    placed[order] = np.minimum(up, 1 - steps[-1]) + steps
    return placed


def plain(text: str) -> str:
    """The text, escaped so that matplotlib finds no formulas in it."""
    return text.replace("$", r"\$")


def legend(
    figure: Figure,
    methods: tuple[str, ...],
    looks: Sequence[Look],
    markers: bool = True,
    only: Collection[int] | None = None,
) -> None:
    """Adds a legend below the figure with the colour and marker of each method (or other kind of line).

    Args:
        only: numbers of the methods in the legend; by default all.
    """
    names = [plain(name) for name in shortened(methods, _LEGEND)]
    handles = [
        mpl.lines.Line2D([], [], **_line(looks[i], markers), markersize=4, label=name)
        for i, name in enumerate(names)
        if only is None or i in only
    ]
    columns = _legend_columns(methods, figure.get_figwidth())
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False)


def _legend_columns(methods: tuple[str, ...], width: float) -> int:
    """The number of columns that fit; letters are about 1/15 inch wide."""
    longest = max(map(len, shortened(methods, _LEGEND)))
    return min(5, max(1, int(15 * width / (6 + longest))))
