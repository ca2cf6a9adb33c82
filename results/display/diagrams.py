"""Diagrams of ranks and of pairs of methods: critical differences, and the multi-comparison matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nasbench.results.curves import Array
from nasbench.results.display.look import Look
from nasbench.results.display.plots import SHORT, plain, styled
from nasbench.results.display.table import shortened

_CELL = 0.92  # inches


@dataclass(frozen=True)
class Bar:
    """A line that joins methods which are not told apart."""

    methods: tuple[int, ...]
    is_thick: bool = True


def critical_differences(
    ranks: Array,
    bars: Sequence[Bar],
    methods: Sequence[str],
    title: str,
    looks: Sequence[Look],
    whiskers: Sequence[Array] = (),
    difference: float | None = None,
) -> Figure:
    """A critical-difference diagram (Demšar, JMLR 2006, figure 1).

    Args:
        ranks: of each method, shape (methods,).
        whiskers: intervals of the ranks, each of shape (methods, 2), the thick ones first; NaN where there is none.
        looks: of the methods.
        difference: Nemenyi's critical difference, drawn as a scale.
    """
    with styled({"axes.grid": False}):
        count = len(methods)
        names = [plain(name) for name in shortened(methods, SHORT)]
        left = count if len(whiskers) else -(-count // 2)  # whiskers need rows of their own
        depth = 0.5 * len(bars) + 0.6
        figure = Figure(figsize=(6.4, 1.3 + 0.22 * (depth + left)), layout="constrained")
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
            colour, marker = looks[method].colour, looks[method].marker
            axes.plot([ranks[method]] * 2, [0, level], color=colour, linewidth=1)
            axes.plot([ranks[method], end], [level] * 2, color="0.8" if len(whiskers) else colour, linewidth=1)
            axes.plot([ranks[method]], [0], color=colour, marker=marker, markersize=5)
            for interval, width in zip(whiskers, (2.5, 0.8), strict=False):
                axes.plot(interval[method], [level, level], color=colour, linewidth=width, marker="|", markersize=4)
            axes.text(
                end + (-0.04 if on_left else 0.04) * count,
                level,
                f"{names[method]} ({ranks[method]:.2f})",
                ha="right" if on_left else "left",
                va="center",
                fontsize=8,
            )
        for number, bar in enumerate(bars):
            ends = [min(ranks[list(bar.methods)]) - 0.03, max(ranks[list(bar.methods)]) + 0.03]
            width = 3 if bar.is_thick else 1
            axes.plot(ends, [-0.5 * number - 0.5] * 2, color="black", linewidth=width, solid_capstyle="butt")
        if difference is not None and np.isfinite(difference):
            end = min(1 + difference, 1.5 * count)
            axes.plot([1, end], [1.7, 1.7], color="black", linewidth=1, marker="|")
            axes.text((1 + end) / 2, 1.9, f"critical difference {difference:.2f}", ha="center", va="bottom", fontsize=8)
        axes.set_title(title, fontsize=9)
        return figure


@dataclass(frozen=True)
class Cell:
    """One pair in a matrix: how the method of the row does against that of the column."""

    value: float
    """In [0, 1], one half where they are alike: the colour; NaN where nothing is known."""
    text: str
    is_bold: bool = False


def matrix(cells: Sequence[Sequence[Cell]], rows: Sequence[str], columns: Sequence[str], title: str) -> Figure:
    """Every pair of methods in one figure (multi-comparison matrix, Ismail-Fawaz et al., 2023)."""
    with styled({"axes.grid": False}):
        labels = [plain(name) for name in shortened(columns, 14)]
        sides = [plain(name) for name in shortened(rows, SHORT)]
        width = 1.4 + 0.08 * max(map(len, sides)) + _CELL * len(columns)
        figure = Figure(figsize=(width, 1.0 + 0.5 * len(rows)), layout="constrained")
        axes = figure.subplots()
        values = np.array([[cell.value for cell in row] for row in cells])
        edges = [np.arange(count + 1) - 0.5 for count in (len(columns), len(rows))]
        axes.pcolormesh(*edges, np.ma.masked_invalid(values), cmap="RdBu", vmin=0, vmax=1, alpha=0.75, linewidth=0)
        axes.invert_yaxis()
        for i, row in enumerate(cells):
            for j, cell in enumerate(row):
                _write(axes, j, i, cell)
        axes.set_xticks(range(len(columns)), labels, fontsize=7, rotation=25, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(len(rows)), sides, fontsize=7)
        axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_title(title, fontsize=9)
        return figure


def _write(axes: Axes, x: int, y: int, cell: Cell) -> None:
    far = np.isfinite(cell.value) and abs(cell.value - 0.5) > 0.4
    weight = "bold" if cell.is_bold else "normal"
    colour = "white" if far else "black"
    axes.text(x, y, cell.text, ha="center", va="center", fontsize=6.5, fontweight=weight, color=colour)
