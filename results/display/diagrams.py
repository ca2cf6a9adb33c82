"""Diagrams of ranks and of probabilities: critical differences, and dots with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nasbench.base.numbers import fixed
from nasbench.results.curves import Array
from nasbench.results.display.look import Look
from nasbench.results.display.scene import Line, Mark, Scene, Shape, Text, width_of

_AXIS = 420.0  # pixels
_ROW = 20.0


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
    width: float | None = None,
) -> Scene:
    """A critical-difference diagram (Demšar, JMLR 2006, figure 1), with a row for each method.

    Args:
        ranks: the rank of each method, shape (methods,).
        looks: the look of each method.
        whiskers: intervals of the ranks, each of shape (methods, 2), the thick ones first; NaN for no interval.
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
    total = max(left + axis + 20, 16 + width_of([title], 11) if width is None else 0)
    return Scene(total, rows + _ROW * count + 8, shapes, title)


@dataclass(frozen=True)
class Dot:
    """A probability with its interval, as a row of a dot plot."""

    name: str
    value: float
    ends: tuple[float, float]
    """The ends of its interval; NaN for none."""
    is_filled: bool
    """Whether it differs significantly from one half."""
    is_apart: bool = False
    """Whether a gap separates it from the row above."""


def dots(rows: Sequence[Dot], title: str, width: float | None = None) -> Scene:
    """Probabilities from 0 to 1 beside a line at one half, a row for each.

    Args:
        width: width of the diagram in pixels.
    """
    left, top = 16 + width_of([row.name for row in rows], 11), 26.0
    axis = _AXIS if width is None else max(width - left - 20, 60.0)
    shapes: list[Shape] = [Line(left, top, left + axis, top)]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = left + axis * tick
        shapes += [Line(x, top - 5, x, top), Text(x, top - 13, f"{tick:g}", 10, "middle")]
    y = top
    for row in rows:
        y += _ROW + 8 * row.is_apart
        shapes.append(Text(left - 10, y, row.name, 11, "end"))
        if np.isfinite(row.ends).all():
            low, high = (left + axis * float(np.clip(end, 0, 1)) for end in row.ends)
            shapes.append(Line(low, y, high, y, 4 if row.is_filled else 1.5))
        shapes.append(Mark(left + axis * row.value, y, "o", "ink"))
    shapes.append(Line(left + axis / 2, top, left + axis / 2, y + 10, 0.5, "#9aa0a6"))
    return Scene(left + axis + 20, y + 16, shapes, title)
