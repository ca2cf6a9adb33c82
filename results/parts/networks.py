"""Networks that are graphs of layers, as text and as pictures, from a configuration's JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Facts: TypeAlias = dict[str, Any]
"""Labels, units, edges and strides."""

_COLOURS = {"conv": "#56B4E9", "res": "#0072B2", "max": "#E69F00", "avg": "#E69F00", "fc": "#009E73"}
_MOST_LAYERS, _MOST_EDGES = 500, 5_000  # a picture of as many takes 40 s, and shows nothing


def is_network(values: object) -> bool:
    """Whether a configuration is a network that can be shown; another's space may have its names for other facts."""
    if not isinstance(values, dict) or not {"labels", "units", "edges"} <= values.keys():
        return False
    parts: list[Any] = [values["labels"], values["units"], values["edges"], values.get("strides") or []]
    if not all(isinstance(part, list) for part in parts):
        return False
    labels, units, edges, strides = parts
    of_each = [labels, units, strides] if strides else [labels, units]
    ends = [end for edge in edges for end in (edge if isinstance(edge, list) and len(edge) == 2 else [None])]
    return (
        0 < len(labels) <= _MOST_LAYERS
        and len(edges) <= _MOST_EDGES
        and {len(part) for part in of_each} == {len(labels)}
        and all(isinstance(label, str) for label in labels)
        and all(type(end) is int and 0 <= end < len(labels) for end in ends)
    )


def lines(values: Facts) -> list[str]:
    """One line per layer: its number, its label, and the layers it leads to."""
    texts = []
    for v in range(len(values["labels"])):
        after = ", ".join(str(b) for a, b in values["edges"] if a == v)
        texts.append(f"  {v:>2} {_named(values, v)}" + (f" → {after}" if after else ""))
    return texts


def draw(values: Facts) -> Figure:
    """The layers from top to bottom by their distance from the input, with arrows."""
    from matplotlib.figure import Figure  # to show a run as text needs none of it

    from nasbench.results.display.plots import plain, styled

    count = len(values["labels"])
    level = [0] * count
    for a, b in sorted(map(tuple, values["edges"])):
        level[b] = max(level[b], level[a] + 1)
    rows = [[v for v in range(count) if level[v] == row] for row in range(max(level) + 1)]
    widest = max(map(len, rows))
    places = {v: (2.2 * (i - (len(row) - 1) / 2), -float(r)) for r, row in enumerate(rows) for i, v in enumerate(row)}
    with styled():
        figure = Figure(figsize=(1.6 * widest + 1.5, 0.5 * len(rows) + 0.5), layout="constrained")
        axes = figure.subplots()
        axes.set_axis_off()
        axes.set(xlim=(-1.3 * widest - 0.6, 1.3 * widest + 0.6), ylim=(-len(rows) + 0.4, 0.6))
        for a, b in values["edges"]:
            far = level[b] - level[a] > 1
            bend = {"connectionstyle": f"arc3,rad={0.25 if far else 0.0}"}
            axes.annotate(
                "",
                places[b],
                places[a],
                arrowprops={"arrowstyle": "->", "color": "0.5", "shrinkA": 8, "shrinkB": 8, **bend},
            )
        for v, (x, y) in places.items():
            label = values["labels"][v]
            colour = next((c for name, c in _COLOURS.items() if label.startswith(name)), "0.85")
            box = {"boxstyle": "round", "facecolor": colour, "edgecolor": "none", "alpha": 0.9}
            axes.text(x, y, plain(_named(values, v)), ha="center", va="center", fontsize=8, bbox=box)
        return figure


def _named(values: Facts, v: int) -> str:
    units, stride = values["units"][v], (values.get("strides") or [None] * (v + 1))[v]
    return f"{values['labels'][v]}" + (f" {units}" if units else "") + (" /2" if stride == 2 else "")
