"""Diagrams as shapes in pixels, written as SVG here, or drawn by matplotlib (`plots`) for PDF."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from nasbench.results.display.look import MARKER_SHAPES

LETTER = 0.58
"""Estimated width of a letter, as a share of its size."""


@dataclass(frozen=True)
class Line:
    """A straight line; the colour `ink` is that of the page's text."""

    x0: float
    y0: float
    x1: float
    y1: float
    width: float = 1.0
    colour: str = "ink"


@dataclass(frozen=True)
class Mark:
    """A method's marker."""

    x: float
    y: float
    marker: str
    colour: str


@dataclass(frozen=True)
class Text:
    """Text around a point; `y` is its middle."""

    x: float
    y: float
    text: str
    size: float = 11.0
    anchor: Literal["start", "middle", "end"] = "start"
    colour: str = "ink"
    is_bold: bool = False


Shape: TypeAlias = Line | Mark | Text


@dataclass(frozen=True)
class Scene:
    """Shapes on a sheet, drawn in order."""

    width: float
    height: float
    shapes: Sequence[Shape]
    title: str
    """Description, also for screen readers."""

    def element(self) -> str:
        """An SVG element of a page, in the page's text colour."""
        size = f'viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" height="{self.height:g}"'
        label = html.escape(self.title)
        return f'<svg class="scene" {size} role="img" aria-label="{label}">{"".join(map(_element, self.shapes))}</svg>'

    def file(self) -> bytes:
        """An SVG file with a white background."""
        sheet = f'<rect width="{self.width:g}" height="{self.height:g}" fill="#fff"/>'
        font = 'xmlns="http://www.w3.org/2000/svg" color="#000" font-family="DejaVu Sans, Arial, sans-serif"'
        text = self.element().replace("<svg", f"<svg {font}", 1)
        return (text.replace(">", f">{sheet}", 1) + "\n").encode()


def width_of(texts: Sequence[str], size: float) -> float:
    """The width of the longest of some texts."""
    return LETTER * size * max((len(text) for text in texts), default=0)


def _element(shape: Shape) -> str:
    colour = "currentColor" if shape.colour == "ink" else shape.colour
    match shape:
        case Line(x0, y0, x1, y1, width):
            ends = f'x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"'
            return f'<line {ends} stroke="{colour}" stroke-width="{width:g}"/>'
        case Mark(x, y, marker):
            return f'<path transform="translate({x:.1f},{y:.1f})" d="{MARKER_SHAPES[marker]}" fill="{colour}"/>'
        case Text(x, y, text, size, anchor):
            strong = ' font-weight="600"' if shape.is_bold else ""
            place = f'x="{x:.1f}" y="{y + 0.35 * size:.1f}" font-size="{size:g}" text-anchor="{anchor}"'
            return f'<text {place} fill="{colour}"{strong}>{html.escape(text)}</text>'
