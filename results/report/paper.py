"""The files for a paper: figures and tables with captions, and a list of questions with their answers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from nasbench.results.display import plots
from nasbench.results.display.latex import escape
from nasbench.results.display.look import looks
from nasbench.results.display.table import Table
from nasbench.results.parts import answer, baseline, pairs, questions, settings, standing, targets, wilcoxon
from nasbench.results.parts.citation import commands, protocol, tests
from nasbench.results.parts.part import Subject
from nasbench.results.report.files import slug
from nasbench.results.report.text import inert
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.targets import known

_POINTS = 101  # points of a line
_PANELS = 8  # charts of a figure that fits a page
_PIXELS = 96.0  # pixels per inch


@dataclass(frozen=True)
class _Item:
    """A figure or a table with its caption."""

    name: str
    caption: str
    answers: str
    """The questions of a reviewer that it answers."""
    content: bytes


def contents(subject: Subject, width: float, command: str) -> dict[str, bytes]:
    """Files by name: PDF and TeX of each figure, TeX of each table, and `paper.md`.

    Args:
        width: width of figures in inches, that of a column of the paper. Letters have 8 points, fonts are embedded
            (type 42).
        command: the command that makes them.
    """
    comparison = subject.comparison
    facts, verdicts = protocol(subject), tests(subject)
    figures, tables = _figures(comparison, width), _tables(comparison, facts, verdicts)
    files = {f"{item.name}.pdf": item.content for item in figures}
    for item in figures:
        files[f"{item.name}.tex"] = _float(item, f"{facts} {verdicts}" if item.name == "fig-cd" else facts).encode()
    files |= {f"{item.name}.tex": item.content for item in tables}
    overview = _overview(subject, f"{facts} {verdicts}", command, [*figures, *tables])
    return files | {"paper.md": overview.encode()}


def _figures(comparison: Comparison, width: float) -> list[_Item]:
    names, method_looks = comparison.methods, looks(comparison.curves.methods)
    items = []
    for name, panel, caption, answers in (
        (
            "fig-ranks",
            answer.over_budget(comparison, _POINTS),
            "Expected rank (1 is best) against the budget; bands are 95 % confidence intervals over seeds.",
            "Who wins? At which budget?",
        ),
        (
            "fig-profiles" if known(comparison) else "fig-improvement",
            targets.profiles(comparison, _POINTS) if known(comparison) else baseline.over_budget(comparison, _POINTS),
            "Performance profiles: share of runs that end at or below a normalised regret (0 is the oracle, 1 the "
            "median of all that is feasible); higher is better."
            if known(comparison)
            else f"Probability that a run of {names[comparison.baseline]} is better than one of each other method.",
            "By how much? What failed?",
        ),
    ):
        drawn = plots.chart(replace(panel, title=""), names, method_looks, width)
        items.append(_Item(name, caption, answers, plots.render(drawn, "pdf")))
    if len(comparison.overall.ranks) > 1:
        caption = (
            "Expected ranks with 95 % confidence intervals: thick for these benchmarks (over seeds), thin for new "
            "tasks. Bars join methods without a significant difference (5 %, Holm), thick on these benchmarks, thin "
            "on new tasks."
        )
        scene = pairs.critical_difference(comparison, width * _PIXELS)
        items.append(_Item("fig-cd", caption, "How sure is that? What is tied?", plots.render(scene, "pdf")))
    if known(comparison):
        families = dict.fromkeys(comparison.families.iloc[known(comparison)])
        panels = [targets.over_budget(comparison, _POINTS, family) for family in families]
        drawn = plots.charts(panels, names, method_looks, "", width)
        caption = (
            "Share of the targets from 1 to 0.001 of normalised regret that runs have reached, by family of benchmarks "
            "(the empirical distribution of targets over the budget); higher is better."
        )
        items.append(_Item("fig-targets", caption, "On which benchmarks?", plots.render(drawn, "pdf")))
    for bench, panels in settings.regrets(comparison, _POINTS).items():
        parts = [panels[start : start + _PANELS] for start in range(0, len(panels), _PANELS)]
        for number, part in enumerate(parts, 1):
            of = f", part {number} of {len(parts)}" if len(parts) > 1 else ""
            caption = (
                f"Convergence on {bench}{of}: median and quartiles over seeds of the incumbent's value, less that of "
                "the oracle where it is known (a regret of zero is drawn at the lower edge); lower is better."
            )
            drawn = plots.charts(part, names, method_looks, "", width)
            name = slug(f"fig-regret-{bench}{f'-{number}' if number > 1 else ''}")
            items.append(_Item(name, caption, "How fast?", plots.render(drawn, "pdf")))
    return items


def _tables(comparison: Comparison, facts: str, verdicts: str) -> list[_Item]:
    items = []
    for name, table, answers in (
        ("tab-answer", standing.table(comparison), "Who wins? In which search spaces?"),
        ("tab-pairs", pairs.table(comparison) if comparison.overall.pairs else None, "By how much? How sure is that?"),
        ("tab-ranks", answer.table(comparison), "Who wins? At which budget?"),
        ("tab-wilcoxon", _wilcoxon(comparison), "What would a Wilcoxon test say?"),
        ("tab-means", settings.means(comparison), "How good is it on each benchmark?"),
    ):
        if table is not None:
            own = name in ("tab-wilcoxon", "tab-means")  # they state their own tests
            captioned = _captioned(name, table, facts if own else f"{facts} {verdicts}")
            items.append(_Item(name, captioned.title, answers, captioned.latex().encode()))
    return items


def _wilcoxon(comparison: Comparison) -> Table | None:
    by_level = comparison.rank_tests
    return wilcoxon.pairs(comparison, by_level) if by_level[0].pairs and by_level[0].count > 1 else None


def _captioned(name: str, table: Table, facts: str) -> Table:
    marks = f"{table.marks} " if table.marks else ""
    return replace(table, name=name.removeprefix("tab-"), marks=f"{marks}{facts}")


def _float(item: _Item, facts: str) -> str:
    return (
        "% \\usepackage{graphicx}\n\\begin{figure}[tbp]\n\\centering\n"
        f"\\includegraphics[width=\\columnwidth,height=.6\\textheight,keepaspectratio]{{{item.name}}}\n"
        f"\\caption{{{escape(item.caption)} {escape(facts)}}}\n"
        f"\\label{{fig:{item.name.removeprefix('fig-')}}}\n\\end{{figure}}\n"
    )


def _overview(subject: Subject, facts: str, command: str, items: list[_Item]) -> str:
    rows = [f"| `{item.name}` | {item.caption} | {item.answers} |" for item in items]
    asked = [f"* **{response.question}** {response.text}" for response in questions.answers(subject)]
    lines = [
        "# For the paper",
        "",
        "Each `.tex` is a float with caption and label; its first line names the package that the preamble needs.",
        "",
        f"Protocol: {facts}",
        "",
        f"Made by: `{command}`",
        "",
        "| file | shows | answers |",
        "|---|---|---|",
        *rows,
        "",
        "## Which number answers which question",
        "",
        *asked,
        "",
        "## The commands that computed the runs",
        "",
        *(f"    {command}" for command in commands(subject)),
        "",
    ]
    return inert("\n".join(lines))
