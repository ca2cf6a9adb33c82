"""The files for a paper: figures and tables with captions, and a README that says which is which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nasbench.results.display import plots
from nasbench.results.display.latex import escape
from nasbench.results.display.look import looks
from nasbench.results.display.table import Table
from nasbench.results.parts import pairs, settings, wilcoxon
from nasbench.results.parts.convergence import regrets
from nasbench.results.report.files import slug
from nasbench.results.report.text import inert
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.subject import Subject
from nasbench.results.verdict import Verdict, citation, ranks
from nasbench.results.verdict.diagram import critical_difference

_POINTS = 101  # points of a line
_PANELS = 8  # charts of a figure that fits a page
_PIXELS = 96.0  # pixels per inch


@dataclass(frozen=True)
class _Item:
    """A figure or a table with its caption."""

    name: str
    caption: str
    content: bytes


def contents(subject: Subject, found: Verdict, width: float, command: str) -> dict[str, bytes]:
    """Files by name: PDF and TeX of each figure, TeX of each table, and `README.md`.

    Args:
        width: width of figures in inches, that of a column of the paper. Letters have 8 points, fonts are embedded
            (type 42).
        command: the command that makes them.
    """
    facts = citation.protocol(subject)
    figures, tables = list(_figures(subject.comparison, width)), list(_tables(subject.comparison, found, facts))
    files = {f"{item.name}.pdf": item.content for item in figures}
    for item in figures:
        files[f"{item.name}.tex"] = _float(item, found.protocol if item.name == "fig-cd" else facts).encode()
    files |= {f"{item.name}.tex": item.content for item in tables}
    return files | {"README.md": _readme(subject, found, command, [*tables, *figures]).encode()}


def _figures(comparison: Comparison, width: float) -> Iterator[_Item]:
    names, method_looks = comparison.methods, looks(comparison.curves.methods)
    caption = "Expected rank (1 is best) against the budget; bands are 95 % confidence intervals over seeds."
    panel = replace(ranks.over_budget(comparison, _POINTS), title="")
    yield _Item("fig-ranks", caption, plots.render(plots.chart(panel, names, method_looks, width), "pdf"))
    scene = critical_difference(comparison, width * _PIXELS)
    if scene is not None:
        caption = (
            "Expected ranks with 95 % confidence intervals: thick for these benchmarks (over seeds), thin for new "
            "tasks. Bars join methods without a significant difference (5 %, Holm)."
        )
        yield _Item("fig-cd", caption, plots.render(scene, "pdf"))
    scene = wilcoxon.critical_difference(comparison, width * _PIXELS)
    if scene is not None:
        caption = f"{scene.title}; bars join methods that the test does not tell apart (5 %)."
        yield _Item("fig-cd-wilcoxon", caption, plots.render(scene, "pdf"))
    for bench, panels in regrets(comparison, _POINTS).items():
        parts = [panels[start : start + _PANELS] for start in range(0, len(panels), _PANELS)]
        for number, part in enumerate(parts, 1):
            of = f", part {number} of {len(parts)}" if len(parts) > 1 else ""
            caption = (
                f"Convergence on {bench}{of}: median and quartiles over seeds of the incumbent's value, less that of "
                "the oracle where it is known (a regret of zero is drawn at the lower edge); lower is better."
            )
            drawn = plots.charts(part, names, method_looks, "", width)
            name = slug(f"fig-regret-{bench}{f'-{number}' if number > 1 else ''}")
            yield _Item(name, caption, plots.render(drawn, "pdf"))


def _tables(comparison: Comparison, found: Verdict, facts: str) -> Iterator[_Item]:
    tests = comparison.rank_tests
    signed = wilcoxon.pairs(comparison, tests) if tests[0].pairs and tests[0].count > 1 else None
    for name, table, stated in (
        ("tab-means", settings.means(comparison), facts),
        ("tab-ranks", found.ranks, found.protocol),
        ("tab-pairs", found.pairs, found.protocol),
        ("tab-every-pair", pairs.table(comparison) if comparison.overall.pairs else None, found.protocol),
        ("tab-wilcoxon", signed, facts),
        ("tab-scopes", found.scopes, found.protocol),
    ):
        if table is not None:
            captioned = _captioned(name, table, stated)
            yield _Item(name, captioned.title, captioned.latex().encode())


def _captioned(name: str, table: Table, facts: str) -> Table:
    marks = f"{table.marks} " if table.marks else ""
    return replace(table, name=name.removeprefix("tab-"), marks=f"{marks}{facts}")


def _float(item: _Item, facts: str) -> str:
    return (
        "% \\usepackage{graphicx}, and \\graphicspath{{paper/}} with the name of this folder\n"
        "\\begin{figure}[tbp]\n\\centering\n"
        f"\\includegraphics[width=\\columnwidth,height=.6\\textheight,keepaspectratio]{{{item.name}}}\n"
        f"\\caption{{{escape(item.caption)} {escape(facts)}}}\n"
        f"\\label{{fig:{item.name.removeprefix('fig-')}}}\n\\end{{figure}}\n"
    )


def _readme(subject: Subject, found: Verdict, command: str, items: list[_Item]) -> str:
    lines = [
        "# For the paper",
        "",
        "Each `.tex` is a float with caption and label; its first line names what the preamble needs.",
        f"{found.headline} {found.protocol}",
        f"Made by `{command}`, of the runs of:",
        *(f"`{own}`" for own in citation.commands(subject)),
        "",
        *(f"* `{item.name}`: {item.caption}" for item in items),
        "",
    ]
    return inert("\n".join(lines))
