"""Diagrams of ranks and of pairs of methods: critical differences, and the multi-comparison matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nasbench.base.numbers import fixed
from nasbench.results.curves import Array
from nasbench.results.display.look import Look
from nasbench.results.display.scene import Box, Line, Mark, Scene, Shape, Text, width_of

_AXIS = 420.0  # pixels
_ROW = 20.0
_CELL = (74.0, 40.0)
_BETTER, _WORSE = np.array([33, 102, 172]), np.array([178, 24, 43])  # ends of ColorBrewer's RdBu


@dataclass(frozen=True)
class Bar:
    """A line that joins methods without a significant difference."""

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
    width: float | None = None,
) -> Scene:
    """A critical-difference diagram (Demšar, JMLR 2006, figure 1), with a row for each method.

    Args:
        ranks: the rank of each method, shape (methods,).
        looks: the look of each method.
        whiskers: intervals of the ranks, each of shape (methods, 2), the thick ones first; NaN for no interval.
        difference: Nemenyi's critical difference, drawn as a scale.
        width: width of the diagram in pixels; it then has no title, which belongs in a caption.
    """
    count = len(methods)
    names = [f"{name} ({fixed(rank)})" for name, rank in zip(methods, ranks, strict=True)]
    left, top = 16 + width_of(names, 11), 58.0 if width is None else 26.0
    axis = _AXIS if width is None else max(width - left - 20, 60.0)
    rows = top + 14 + 8 * len(bars)

    def place(rank: float) -> float:
        return left + axis * (rank - 1) / max(1, count - 1)

    heading = [Text(8, 14, title, 11, is_bold=True)] if width is None else []
    shapes: list[Shape] = [*heading, Line(place(1), top, place(count), top)]
    for tick in range(1, count + 1):
        shapes += [Line(place(tick), top - 5, place(tick), top), Text(place(tick), top - 13, str(tick), 10, "middle")]
    needed = 0.0
    if difference is not None and np.isfinite(difference):
        words, start = f"critical difference {difference:.2f}", place(1)
        if 1 + difference <= count:
            end = place(1 + difference)
            shapes.append(Line(start, 32, end, 32, 2))
            start = end + 6
        else:
            words += ", more than the axis"
        shapes.append(Text(start, 32, words, 10))
        needed = start + width_of([words], 10)
    for number, bar in enumerate(bars):
        low, high = min(ranks[list(bar.methods)]), max(ranks[list(bar.methods)])
        y = top + 10 + 8 * number
        shapes.append(Line(place(low) - 4, y, place(high) + 4, y, 4 if bar.is_thick else 1.5))
    for row, method in enumerate(np.argsort(ranks, kind="stable").tolist()):
        y, x, look = rows + _ROW * (row + 0.5), place(ranks[method]), looks[method]
        colour = "ink" if look.colour == "#000000" else look.colour  # black would be invisible on a dark page
        shapes += [Line(x, top, x, y, 0.5, "#9aa0a6"), Text(left - 10, y, names[method], 11, "end")]
        for interval, thick in zip(whiskers, (4.0, 1.2), strict=False):
            if np.isfinite(interval[method]).all():
                low, high = (place(float(np.clip(end, 1, count))) for end in interval[method])
                shapes.append(Line(low, y, high, y, thick, colour))
        shapes.append(Mark(x, y, look.marker, colour))
    total = max(left + axis + 20, needed, 16 + width_of([title], 11) if width is None else 0)
    return Scene(total, rows + _ROW * count + 8, shapes, title)


@dataclass(frozen=True)
class PairCell:
    """A cell of a matrix: the method of the row compared with that of the column."""

    value: float
    """A value in [0, 1] that gives the colour, one half if neither is better; NaN if unknown."""
    text: str
    is_bold: bool = False


def matrix(cells: Sequence[Sequence[PairCell]], rows: Sequence[str], columns: Sequence[str], title: str) -> Scene:
    """Every pair of methods in one figure (multi-comparison matrix, Ismail-Fawaz et al., 2023)."""
    left = 16 + width_of(rows, 10)
    head = width_of(columns, 10)
    top = 34 + 0.5 * head
    wide, high = _CELL
    shapes: list[Shape] = [Text(8, 14, title, 11, is_bold=True)]
    for j, name in enumerate(columns):
        shapes.append(Text(left + wide * (j + 0.4), top - 8, name, 10, turned=-30))
    for i, row in enumerate(cells):
        shapes.append(Text(left - 8, top + high * (i + 0.5), rows[i], 10, "end"))
        for j, cell in enumerate(row):
            x, y = left + wide * j, top + high * i
            if np.isfinite(cell.value):
                shapes.append(Box(x + 1, y + 1, wide - 2, high - 2, _shade(cell.value)))
            colour = "#ffffff" if abs(cell.value - 0.5) > 0.35 else "#000000"
            for number, line in enumerate(cell.text.splitlines()):
                middle = y + high / 2 + 14 * (number - 0.5)
                strong = cell.is_bold and number == 0
                shapes.append(Text(x + wide / 2, middle, line, 10, "middle", colour, strong))
    width = max(left + wide * len(columns) + 0.87 * width_of(columns[-1:], 10), 16 + width_of([title], 11))
    return Scene(width, top + high * len(rows) + 8, shapes, title)


def _shade(value: float) -> str:
    """White at one half, blue above and red below."""
    end, share = (_BETTER, 2 * value - 1) if value >= 0.5 else (_WORSE, 1 - 2 * value)
    red, green, blue = (255 + 0.9 * share * (end - 255)).round().astype(int).tolist()
    return f"#{red:02x}{green:02x}{blue:02x}"
