"""The report as one HTML file: template, style and script are inlined, so it opens offline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from nasbench.results.curves import Array, Curves
from nasbench.results.display import plots
from nasbench.results.display.panels import Panel, style
from nasbench.results.display.table import Table
from nasbench.results.parts.part import Part, Subject

_POINTS = 41  # of a line: more cannot be seen
_MANY = 4  # charts of a section beyond which they are small
_MOST_FIGURES = 12  # diagrams of a part on the page; the files have them all


@dataclass(frozen=True)
class Section:
    """A part as the page shows it."""

    part: Part
    panels: Sequence[Panel]
    diagrams: Sequence[str]
    """SVG elements."""

    @property
    def tables(self) -> list[Table]:
        """Those that are not too long for a page."""
        return [table for table in self.part.tables if table.place != "files"]

    @property
    def is_small(self) -> bool:
        """Many small charts beside each other."""
        return len(self.panels) > _MANY


def write(title: str, subject: Subject, parts: Sequence[Part], warnings: Sequence[str], is_linked: bool) -> str:
    """The page.

    Args:
        is_linked: the tables' files lie beside it.
    """
    folder = Path(__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    curves = subject.curves
    sections = [_section(part) for part in parts if part.name != "explained"]
    data = {
        "methods": [
            {"name": name, "colour": style(i)[0], "marker": style(i)[1]} for i, name in enumerate(curves.methods)
        ],
        "panels": {f"{s.part.name}-{i}": _panel(panel) for s in sections for i, panel in enumerate(s.panels)},
    }
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    (settings,) = (table for part in parts if part.name == "explained" for table in part.tables)
    return environment.get_template("page.html.j2").render(
        answer=sections[0],
        sections=sections[1:],
        data=text,
        style=(folder / "page.css").read_text(encoding="utf-8"),
        script=(folder / "page.js").read_text(encoding="utf-8"),
        title=title,
        warnings=warnings,
        settings=len(curves.settings),
        families=curves.families,
        runs=len(curves.runs),
        protocol=curves.protocol,
        seeds=curves.seeds,
        linked=is_linked,
        further=[table for part in parts for table in part.tables if table.place == "files" and table is not settings],
        setting_table=settings,
        versions=_versions(subject),
        provenance=sorted({_provenance(f.provenance) for _, f in subject.fragments}),
        failures=_failures(curves),
    )


def _section(part: Part) -> Section:
    panels = [
        replace(panel, title=f"{chart.title}: {panel.title}") if chart.title else panel
        for chart in part.charts
        for panel in chart.panels(_POINTS)
    ]
    first = islice(part.figures(), _MOST_FIGURES)
    return Section(part, panels, [_inline(plots.render(figure, "svg")) for _, figure in first])


def _inline(svg: bytes) -> str:
    """An SVG file as an element of a page."""
    text = svg.decode()
    return text[text.index("<svg") :]


def _versions(subject: Subject) -> list[tuple[str, dict[str, Any]]]:
    """Version and options of each method."""
    found = {
        f.cell.method: {
            "version": f.cell.method_version,
            "parameters": ", ".join(f"{name}={value}" for name, value in f.cell.parameters),
        }
        for _, f in subject.fragments
    }
    return sorted(found.items())


def _provenance(facts: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    machine = ", ".join(filter(None, facts["machine"].values()))
    return f"{versions}; commit {facts['commit'] or 'unknown'}; {machine}"


def _failures(curves: Curves) -> list[str]:
    """One line per failed run."""
    failed = curves.runs[curves.runs["failure"] != ""]
    names = curves.settings[["bench", "constraint"]].agg(", ".join, axis=1)
    return [
        f"{curves.methods[run['method']]} on {names[run['setting']]}, seed {run['seed']}: {run['failure']}"
        for run in failed.to_dict("records")
    ]


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
