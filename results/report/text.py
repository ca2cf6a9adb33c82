"""A report as text for a terminal, and as Markdown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence

from nasbench.base.numbers import count
from nasbench.results.curves import Curves
from nasbench.results.display.table import Table, shortened
from nasbench.results.parts.part import Part

_MOST_ROWS = 40
_BRIEF = ("ranks", "baseline")
"""The parts whose tables a terminal always shows."""
_LONGEST_NAME = 20
"""Letters of a method's name in tables for a terminal of 80 columns, determined by the widest table."""


def terminal(
    curves: Curves,
    headline: str,
    warnings: Sequence[str],
    parts: Sequence[Part],
    files: Iterable[str],
    asked: Collection[str] | None = None,
) -> str:
    """The verdict in a sentence, then the tables that belong on a terminal and are short enough.

    Args:
        asked: names of the parts to show besides ranks and baseline; None for all parts, with every sentence.
    """
    short = dict(zip(curves.names, shortened(curves.names, _LONGEST_NAME), strict=True))
    texts = [headline] if headline else []
    for part in parts:
        if asked is None or part.name in (*_BRIEF, *asked):
            texts += [_brief(table, files, short) for table in part.tables if table.place == "terminal"]
        if asked is None or part.name in asked:
            texts += part.sentences
        elif part.name == "wilcoxon":
            texts += part.sentences[:1]
    runs = f"{count(len(curves.runs), 'run')} of {curves.protocol}; {count(len(curves.settings), 'setting')}"
    texts.append(f"{runs} of {count(curves.spaces, 'search space')}.")
    explained = [name for name in ("index.html", "report.md") if name in files]
    if explained:
        texts.append(f"How each number is computed stands below its table in {' and '.join(explained)}.")
    if asked is not None:
        texts.append("Every sentence, feasibility and the other tables: --full.")
    texts += [f"Warning: {warning}." for warning in warnings]
    return "\n\n".join(text if "\n" in text else textwrap.fill(text, 80, break_long_words=False) for text in texts)


def _brief(table: Table, files: Iterable[str], short: Mapping[str, str]) -> str:
    if len(table.shown) <= _MOST_ROWS:
        return table.text(short=short)
    where = next((f" in {n}" for n in (f"{table.name}.csv", "report.md", "index.html") if n in files), "")
    return f"{table.title}: {count(len(table.shown), 'row')},{where or ' for --format csv'}."


def markdown(title: str, headline: str, warnings: Sequence[str], parts: Sequence[Part]) -> str:
    """The report as Markdown: every table with its notes; names, units and reasons stay text."""
    texts = [f"# {title}", *filter(None, [headline])]
    for i, part in enumerate(parts):
        texts += [f"## {part.title}", part.intro] if part.intro else []
        for table in part.tables:
            marks = table.marks.replace("*", "\\*")  # a star that begins a line would begin a list
            texts += [f"## {table.title}", table.markdown(), " ".join(filter(None, (marks, table.note)))]
        texts += part.sentences
        texts += [f"**{warning}.**" for warning in warnings] if i == 0 else []
    return inert("\n\n".join(texts)) + "\n"


def inert(text: str) -> str:
    """Markdown without HTML, links and pictures: every `<` that could begin a tag, and every `]` that could end the
    text of a link, stands for itself."""
    return re.sub(r"\](?=[(\[:])", "&#93;", re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text))
