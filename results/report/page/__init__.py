"""The report as one HTML file: template, style and script are inlined, so it opens offline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from nasbench.results.curves import Array
from nasbench.results.report.panels import Panel, style
from nasbench.results.report.table import Table


@dataclass(frozen=True)
class Section:
    """A claim: its charts and diagrams, and its tables with how they were computed."""

    anchor: str
    title: str
    tables: Sequence[Table] = ()
    panels: Sequence[Panel] = ()
    diagrams: Sequence[str] = ()
    """SVG elements."""
    small: bool = False
    """Many small charts beside each other."""


def render(sections: Sequence[Section], methods: Sequence[str], **facts: Any) -> str:
    """The page.

    Args:
        facts: what the template's head and foot name, such as `title`, `warnings` and `provenance`.
    """
    folder = Path(__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    data = {
        "methods": [{"name": name, "colour": style(i)[0], "marker": style(i)[1]} for i, name in enumerate(methods)],
        "panels": {f"{s.anchor}-{i}": _panel(panel) for s in sections for i, panel in enumerate(s.panels)},
    }
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return environment.get_template("page.html.j2").render(
        sections=sections,
        data=text,
        style=(folder / "page.css").read_text(encoding="utf-8"),
        script=(folder / "page.js").read_text(encoding="utf-8"),
        **facts,
    )


def _panel(panel: Panel) -> dict[str, Any]:
    return {
        "title": panel.title,
        "xlabel": panel.xlabel,
        "ylabel": panel.ylabel,
        "limits": panel.limits,
        "log": panel.log,
        "flip": panel.best_on_top,
        "reference": panel.reference,
        "x": _numbers(panel.x),
        "series": [
            {"method": s.method, "y": _numbers(s.y)}
            | ({} if s.low is None or s.high is None else {"low": _numbers(s.low), "high": _numbers(s.high)})
            for s in panel.series
        ],
    }


def _numbers(values: Array) -> list[float | int | None]:
    """To five significant digits, which no eye can tell from more; null where there is none."""
    found: list[float | int | None] = []
    for value in values.tolist():
        number = float(f"{value:.5g}") if np.isfinite(value) else None
        found.append(int(number) if number is not None and number.is_integer() else number)
    return found
