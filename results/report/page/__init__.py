"""The report as one HTML file: template, style and script are inlined, so it opens offline.

Its charts are SVG elements that need no script; the script shows values in charts and sorts tables. The page's content
security policy contains the hashes of its style and script, so that nothing else can be run.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from nasbench.base.numbers import count, listed
from nasbench.results.curves import Curves
from nasbench.results.display import svg
from nasbench.results.display.look import Look, looks
from nasbench.results.display.panels import POINTS, Chart, Panel
from nasbench.results.display.scene import Scene
from nasbench.results.display.table import Table
from nasbench.results.parts.part import Part
from nasbench.results.report.files import slug
from nasbench.results.report.page import runs
from nasbench.results.report.page.diagram import inline
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.subject import Subject
from nasbench.results.verdict import Verdict, citation, scopes
from nasbench.results.verdict.diagram import critical_difference
from nasbench.results.verdict.leading import leaders

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MANY = 4  # charts of a section beyond which they are small
_FOLDER = Path(__file__).parent
_STRIPS = {"wide": 640.0, "narrow": 340.0}  # widths in pixels
_MOST_FIGURES = 12  # diagrams of a part on the page; the files have them all


@dataclass(frozen=True)
class Drawing:
    """A chart of the page."""

    id: str
    svg: str
    place: tuple[str, str, str] | None
    """Family, benchmark and constraint, if it is about one setting."""
    same: tuple[str, ...]
    """Groups of methods with identical lines."""


@dataclass(frozen=True)
class Section:
    """A part as a section of the page."""

    part: Part
    drawings: Sequence[Drawing]
    diagrams: Sequence[str]
    """SVG elements."""

    @property
    def tables(self) -> list[Table]:
        """The tables that the page shows."""
        return [table for table in self.part.tables if not table.only_in_files]

    @property
    def notes(self) -> list[str]:
        """The notes of its charts on lines, bands and axes."""
        return list(dict.fromkeys(chart.note for chart in self.part.charts if chart.note))

    @property
    def is_small(self) -> bool:
        """Whether its charts are small, because there are many."""
        return len(self.drawings) > _MANY

    def places(self, level: int) -> list[str]:
        """The families (0), benchmarks (1) or constraints (2) that its charts are about."""
        return list(dict.fromkeys(drawing.place[level] for drawing in self.drawings if drawing.place))

    @property
    def families(self) -> dict[str, list[Drawing]]:
        """The charts of each family of benchmarks."""
        grouped: dict[str, list[Drawing]] = {family: [] for family in self.places(0)}
        for drawing in self.drawings:
            if drawing.place:
                grouped[drawing.place[0]].append(drawing)
        return grouped


def write(title: str, found: Verdict, subject: Subject, parts: Sequence[Part], is_linked: bool, command: str) -> str:
    """The page.

    Args:
        is_linked: whether the page links to the tables' CSV files.
        command: the command that makes the report.
    """
    curves, comparison = subject.curves, subject.comparison
    runs_data = runs.as_json(subject.fragments, {m: i for i, m in enumerate(curves.methods)}, curves.names)
    method_looks = looks(curves.methods)
    return document(
        "page.html.j2",
        f"{svg.STYLE}{svg.colours(method_looks)}{runs.style(method_looks)}{_rules(method_looks)}",
        ("page.js", *(["runs.js"] if runs_data else []), "save.js"),
        title=title,
        found=found,
        strip=_strips(partial(critical_difference, comparison)),
        dots=_strips(partial(scopes.figure, comparison)),
        sections=[_section(part, comparison) for part in parts],
        methods=list(zip(curves.names, map(_key, range(len(method_looks)), method_looks), strict=True)),
        is_alone=False,
        runs_data=runs_data,
        names=json.dumps(curves.names).replace("<", "\\u003c"),
        definitions=svg.definitions(method_looks),
        linked=is_linked,
        further=[table for part in parts for table in part.tables if table.only_in_files],
        command=command,
        repeatable=citation.repeatable(subject),
        versions=_versions(subject),
        commands=citation.commands(subject),
        provenance=sorted({_provenance(f.provenance) for _, f in subject.fragments}),
        failures=_failures(curves),
    )


def document(template: str, style: str, scripts: Sequence[str], **facts: object) -> str:
    """A page of a template, with style, scripts, and the policy that allows them alone.

    Args:
        style: rules after those of `page.css`.
        scripts: names of files beside this one.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.globals["count"] = count
    css, *codes = ((_FOLDER / name).read_text(encoding="utf-8") for name in ("page.css", *scripts))
    rules, script = f"\n{css}{style}", "\n" + "".join(codes)
    hashes = {"style_hash": _hash(rules), "script_hash": _hash(script)}
    return environment.get_template(template).render(style=rules, script=script, **hashes, **facts)


def _strips(draw: Callable[[float], Scene | None]) -> list[tuple[str, str]]:
    """A diagram for wide and for narrow screens; none where there is nothing to draw."""
    drawn = [(name, draw(width)) for name, width in _STRIPS.items()]
    return [(name, scene.element()) for name, scene in drawn if scene is not None]


def _section(part: Part, comparison: Comparison) -> Section:
    drawings = [
        _drawing(part.name, chart, number, panel, comparison)
        for chart in part.charts
        for number, panel in enumerate(chart.panels(POINTS))
    ]
    first = islice(part.figures(), _MOST_FIGURES)
    diagrams = [
        _diagram(figure, f"{part.title}: {' '.join(words)}", f"{part.name}-{number}-")
        for number, (words, figure) in enumerate(first)
    ]
    return Section(part, drawings, diagrams)


def _diagram(figure: Figure | Scene, title: str, prefix: str) -> str:
    """A scene or a figure of matplotlib as an SVG element."""
    if isinstance(figure, Scene):
        return figure.element()
    from nasbench.results.display import plots  # matplotlib is heavy, and few reports need it

    return inline(plots.render(figure, "svg"), title, prefix)


def _drawing(part: str, chart: Chart, number: int, panel: Panel, comparison: Comparison) -> Drawing:
    curves = comparison.curves
    name = slug(
        "at-" + "-".join(panel.place[1:]) if panel.place and part == "convergence" else f"chart-{chart.name}-{number}"
    )
    same = tuple(listed([curves.names[m] for m in group]) for group in svg.same_lines(panel))
    drawn = svg.chart(panel, curves.names, looks(curves.methods), f"{name}-title", leaders(comparison), chart.title)
    return Drawing(name, drawn, panel.place, same)


def _key(number: int, look: Look) -> str:
    return f'<svg width="30" height="12" viewBox="0 0 30 12" aria-hidden="true">{svg.key(number, look)}</svg>'


def _rules(method_looks: Sequence[Look]) -> str:
    """Style rules of the page: black lines are light in dark mode, and methods chosen in a legend are highlighted."""
    black = [i for i, look in enumerate(method_looks) if look.colour == "#000000"]
    dark = "".join(
        f".m{i} .line, .m{i} .run-line, .m{i} .dot {{ stroke: #eee; }} "
        f".m{i} .band, .m{i} .dot, .k{i} {{ fill: #eee; }} "
        for i in black
    )
    lit, bands = (
        ", ".join(f".lit{i} .chart .m{i}{inner}" for i in range(len(method_looks))) for inner in ("", " .band")
    )
    chosen = f"{lit} {{ opacity: 1; }}\n{bands} {{ opacity: .2; }}"
    return f"@media screen and (prefers-color-scheme: dark) {{ {dark} }}\n{chosen}\n"


def _hash(text: str) -> str:
    """The hash of an inline style or script for the content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _versions(subject: Subject) -> list[tuple[str, dict[str, Any]]]:
    """Version and options of each method."""
    names = dict(zip(subject.curves.methods, subject.curves.names, strict=True))
    versions = {
        f.setup.method: {
            "version": f.setup.method_version,
            "parameters": ", ".join(f"{name}={value}" for name, value in f.setup.parameters),
        }
        for _, f in subject.fragments
    }
    return [
        (spec if names.get(spec, spec) == spec else f"{names[spec]}: {spec}", facts)
        for spec, facts in sorted(versions.items())
    ]


def _provenance(facts: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    machine = ", ".join(filter(None, facts["machine"].values()))
    return f"{versions}; commit {facts['commit'] or 'unknown'}; {machine}"


def _failures(curves: Curves) -> list[str]:
    """One line per failed run."""
    failed = curves.runs[curves.runs["failure"] != ""]
    names = curves.settings[["bench", "constraint"]].agg(", ".join, axis=1)
    return [
        f"{curves.names[run['method']]} on {names[run['setting']]}, seed {run['seed']}: {run['failure']}"
        for run in failed.to_dict("records")
    ]
