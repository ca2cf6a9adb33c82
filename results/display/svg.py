"""Charts of lines as SVG: elements of the page, which its script makes interactive, and separate files."""

from __future__ import annotations

import html
from collections.abc import Collection, Sequence
from functools import lru_cache

import numpy as np

from nasbench.results.curves import Array
from nasbench.results.display.look import MARKER_SHAPES, Look
from nasbench.results.display.panels import Panel, Series
from nasbench.results.display.ticks import ticks

WIDTH, HEIGHT = 420, 270
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 26, 40
_FINE = 10  # lines are drawn on a grid of 1/10 pixel
_MARKS = 5  # markers on a line
_FEW = 4  # overlapping bands that are distinguishable; of more, only those of the leaders are shown
_LETTERS = 58  # letters of a title

STYLE = """\
.chart text, .key text { font: 11px system-ui, 'DejaVu Sans', Arial, sans-serif; fill: #5a5f66; }
.chart .title { font-size: 12px; font-weight: 600; fill: #1a1a1a; }
.chart .axis { stroke: #d9dce0; fill: none; }
.chart .reference { stroke: #5a5f66; stroke-dasharray: 2 3; fill: none; }
.chart .fine { stroke-width: 14; stroke-dasharray: 20 30; }
.chart .line { fill: none; stroke-width: 18; stroke-linejoin: round; }
.chart .band { stroke: none; opacity: .15; }
.many .band { opacity: 0; }
.many .leading .band { opacity: .15; }
.chart .dots { fill: none; stroke: none; }
"""
"""The style of charts, except that of single methods (`colours`)."""


def colours(looks: Sequence[Look]) -> str:
    """The style rules of each method; class `m3` belongs to method 3."""
    return "".join(
        f".m{i} .line {{ stroke: {look.colour}; }} .m{i} .band, .k{i} {{ fill: {look.colour}; }} "
        f".m{i} .dots {{ marker: url(#k{i}); }}\n"
        for i, look in enumerate(looks)
    )


def definitions(looks: Sequence[Look]) -> str:
    """Definitions that all charts of a document refer to: the window of the lines, and the markers."""
    width, height = WIDTH - LEFT - RIGHT + 5, HEIGHT - TOP - BOTTOM + 8
    window = f'<clipPath id="window"><rect x="{LEFT}" y="{TOP - 4}" width="{width}" height="{height}"/></clipPath>'
    markers = "".join(
        f'<marker id="k{i}" markerUnits="userSpaceOnUse" markerWidth="90" markerHeight="90" viewBox="-4.5 -4.5 9 9">'
        f'<path class="k{i}" d="{MARKER_SHAPES[look.marker]}"/></marker>'
        for i, look in enumerate(looks)
    )
    return f"<defs>{window}{markers}</defs>"


def key(number: int, look: Look) -> str:
    """A short piece of a method's line with its marker, 30 × 12 pixels."""
    return (
        f'<g class="m{number}"><path class="line" d="M0,6H30" fill="none" stroke-width="1.8"{_dash(look, 1.8)}/></g>'
        f'<path class="k{number}" transform="translate(15,6)" d="{MARKER_SHAPES[look.marker]}"/>'
    )


def chart(
    panel: Panel,
    names: Sequence[str],
    looks: Sequence[Look],
    name: str,
    leaders: Collection[int] = (),
    above: str = "",
) -> str:
    """A panel as an SVG element, which refers to `definitions`.

    Its attributes data-x0, data-x1, data-y0 and data-y1 are the values at the edges of the window.

    Args:
        name: id of its title.
        leaders: the methods whose bands are shown where there are many.
        above: text before the title of the panel.
    """
    title = f"{above}: {panel.title}" if above else panel.title
    (low, high), (first, last) = panel.limits, (float(panel.x[0]), float(panel.x[-1]))
    bottom, top = (high, low) if panel.best_on_top else (low, high)
    drawn = ", ".join(names[s.method] for s in panel.series)
    facts: dict[str, float | str] = {
        "x0": first,
        "x1": last,
        "y0": bottom,
        "y1": top,
        "log": int(panel.log),
        "xlog": int(panel.xlog),
        "unit": panel.xlabel,
    }
    kind = "chart many" if len(panel.series) > _FEW else "chart"
    data = "".join(f' data-{key}="{html.escape(_plain(value))}"' for key, value in facts.items())
    return "".join(
        [
            f'<svg class="{kind}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{name}"{data}>',
            f'<title id="{name}">{html.escape(f"{title}: {panel.ylabel} of {drawn}")}</title>',
            *_axes(panel, title),
            f'<g clip-path="url(#window)"><g transform="scale({1 / _FINE:g})">',
            _lines(panel, tuple(looks), frozenset(leaders)),
            "</g></g></svg>",
        ]
    )


def same_lines(panel: Panel) -> list[list[int]]:
    """Groups of methods with identical lines."""
    groups: dict[str, list[int]] = {}
    for series, path in zip(panel.series, _paths(panel), strict=True):
        groups.setdefault(path, []).append(series.method)
    return [methods for path, methods in groups.items() if path and len(methods) > 1]


@lru_cache(maxsize=1024)  # the page and the files show the same panels
def _paths(panel: Panel) -> tuple[str, ...]:
    """The line of each series."""
    return tuple(_path(panel, series.y) for series in panel.series)


def document(
    panels: Sequence[Panel],
    names: Sequence[str],
    looks: Sequence[Look],
    title: str = "",
    leaders: Collection[int] = (),
) -> bytes:
    """Panels with a legend as an SVG file."""
    columns, head = min(3, len(panels)), 24 if title else 0
    rows = -(-len(panels) // columns)
    drawn = sorted({series.method for panel in panels for series in panel.series})
    width, beside, entries = WIDTH * columns, _legend_columns(names, drawn, WIDTH * columns), []
    for i, method in enumerate(drawn):
        x, y = 12 + (i % beside) * (width - 12) // beside, head + HEIGHT * rows + 8 + 18 * (i // beside)
        text = f'<text x="36" y="10">{html.escape(names[method])}</text>'
        entries.append(f'<g transform="translate({x},{y})">{key(method, looks[method])}{text}</g>')
    height = head + HEIGHT * rows + 18 * -(-len(drawn) // beside) + 12
    placed = [
        f'<svg x="{WIDTH * (i % columns)}" y="{head + HEIGHT * (i // columns)}" width="{WIDTH}" height="{HEIGHT}"'
        + chart(panel, names, looks, f"t{i}", leaders).removeprefix("<svg")
        for i, panel in enumerate(panels)
    ]
    heading = f'<g class="chart"><text class="title" x="12" y="17">{html.escape(title)}</text></g>' if title else ""
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" ',
            f'viewBox="0 0 {width} {height}">',
            f"<style>{STYLE}{colours(looks)}</style>",
            definitions(looks),
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            heading,
            *placed,
            f'<g class="key">{"".join(entries)}</g></svg>\n',
        ]
    ).encode()


def _legend_columns(names: Sequence[str], drawn: Sequence[int], width: int) -> int:
    longest = max(len(names[method]) for method in drawn) if drawn else 1
    return max(1, min(len(drawn) or 1, width // (52 + 7 * longest)))


def _axes(panel: Panel, title: str) -> list[str]:
    parts, right, floor = [], WIDTH - RIGHT, HEIGHT - BOTTOM
    for value, text in ticks(*panel.limits, panel.log):
        y = _y(panel, np.array([value]))[0] / _FINE
        parts.append(f'<path class="axis" d="M{LEFT},{y:.1f}H{right}"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{y:.1f}" dy=".35em" text-anchor="end">{text}</text>')
    for value, text in ticks(float(panel.x[0]), float(panel.x[-1]), panel.xlog):
        x = _x(panel, np.array([value]))[0] / _FINE
        parts.append(f'<path class="axis" d="M{x:.1f},{floor}v4"/>')
        parts.append(f'<text x="{x:.1f}" y="{floor + 15}" text-anchor="middle">{text}</text>')
    if panel.reference is not None:
        y = _y(panel, np.array([panel.reference]))[0] / _FINE
        parts.append(f'<path class="reference" d="M{LEFT},{y:.1f}H{right}"/>')
    title = title if len(title) <= _LETTERS else f"{title[: _LETTERS - 1]}…"
    ylabel = panel.ylabel + (" (log)" if panel.log else "")
    middle = (TOP + floor) / 2
    parts.append(f'<text class="title" x="{LEFT}" y="13">{html.escape(title)}</text>')
    parts.append(
        f'<text x="{(LEFT + WIDTH) // 2}" y="{HEIGHT - 6}" text-anchor="middle">{html.escape(panel.xlabel)}</text>'
    )
    turned = f'transform="translate(11,{middle:g}) rotate(-90)" text-anchor="middle"'
    parts.append(f"<text {turned}>{html.escape(ylabel)}</text>")
    return parts


@lru_cache(maxsize=1024)
def _lines(panel: Panel, looks: tuple[Look, ...], leaders: frozenset[int]) -> str:
    """Bands, then lines above them; identical lines are drawn as alternating dashes, so that all are visible."""
    groups = {method: (group.index(method), len(group)) for group in same_lines(panel) for method in group}
    bands, lines, paths = [], [], _paths(panel)
    for number, series in enumerate(panel.series):
        look = looks[series.method]
        turn, of = groups.get(series.method, (0, 1))
        dash = (
            _dash(look, 18) if of == 1 else f' stroke-dasharray="70 {70 * (of - 1)}" stroke-dashoffset="-{70 * turn}"'
        )
        band = _band(panel, series)
        if band:
            leading = " leading" if series.method in leaders else ""
            bands.append(f'<g class="m{series.method}{leading}"><path class="band" d="{band}"/></g>')
        line = f'<path class="line"{dash} d="{paths[number]}"/>'
        dots = _dots(panel, series, number)
        lines.append(f'<g class="m{series.method}">{line}{dots}</g>')
    if panel.bound is not None:
        lines.append(f'<path class="reference fine" d="{_path(panel, panel.bound)}"/>')
    return "".join(bands + lines)


def _dash(look: Look, width: float) -> str:
    return f' stroke-dasharray="{" ".join(f"{width * part:g}" for part in look.dash)}"' if look.dash else ""


def _dots(panel: Panel, series: Series, number: int) -> str:
    """Markers on a line, at points that differ between neighbouring methods, so that they do not hide each other."""
    shift = (number % 4) / 4
    places = {round((i + 0.2 + 0.8 * shift) / _MARKS * (len(panel.x) - 1)) for i in range(_MARKS)}
    known = [i for i in sorted(places) if i < len(panel.x) and np.isfinite(series.y[i])]
    if not known:
        return ""
    x, y = _x(panel, panel.x[known]), _y(panel, series.y[known])
    return f'<path class="dots" d="{_through(x, y)}"/>'


def _path(panel: Panel, values: Array) -> str:
    x, y = _x(panel, panel.x), _y(panel, values)
    return "".join(_moves(x[part], y[part]) for part in _known(values))


def _band(panel: Panel, series: Series) -> str:
    if series.low is None or series.high is None:
        return ""
    x, low, high = _x(panel, panel.x), _y(panel, series.low), _y(panel, series.high)
    parts = [part for part in _known(series.low + series.high) if part.stop - part.start > 1]
    return "".join(
        _moves(np.concatenate([x[p], x[p][::-1]]), np.concatenate([high[p], low[p][::-1]])) + "z" for p in parts
    )


def _known(values: Array) -> list[slice]:
    """The slices of consecutive finite values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], np.isfinite(values), [False]]).astype(int)))
    return [slice(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def _moves(x: Array, y: Array) -> str:
    """A path through points on the fine grid; points inside a horizontal stretch are left out."""
    level = np.zeros(len(x), bool)
    if len(x) > 2:
        level[1:-1] = (y[1:-1] == y[:-2]) & (y[1:-1] == y[2:]) & ((x[1:-1] > x[:-2]) == (x[2:] > x[1:-1]))
    return _through(x[~level], y[~level])


def _through(x: Array, y: Array) -> str:
    """A path through all points."""
    kept_x, kept_y = x.astype(int).tolist(), y.astype(int).tolist()
    path = [f"M{kept_x[0]},{kept_y[0]}"]
    before = (kept_x[0], kept_y[0])
    for here in zip(kept_x[1:], kept_y[1:], strict=True):
        dx, dy = here[0] - before[0], here[1] - before[1]
        path.append(f"h{dx}" if dy == 0 else f"l{dx},{dy}")
        before = here
    return "".join(path)


def _x(panel: Panel, values: Array) -> Array:
    """Horizontal places on the fine grid."""
    first, last = panel.x[0], panel.x[-1]
    share = np.log(values / first) / np.log(last / first) if panel.xlog else (values - first) / (last - first or 1.0)
    places: Array = np.round(_FINE * (LEFT + share * (WIDTH - LEFT - RIGHT)))
    return places


def _y(panel: Panel, values: Array) -> Array:
    low, high = panel.limits
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.log(values / low) / np.log(high / low) if panel.log else (values - low) / ((high - low) or 1.0)
    places = TOP + (share if panel.best_on_top else 1 - share) * (HEIGHT - TOP - BOTTOM)
    rounded: Array = np.round(_FINE * np.clip(places, -50, HEIGHT + 50))
    return rounded


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.10g}"
