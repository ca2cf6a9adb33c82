"""A report as text for a terminal, and as Markdown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence

from nasbench.base.numbers import count
from nasbench.results.display.table import Table, shortened
from nasbench.results.parts.part import Part
from nasbench.results.verdict import Verdict

_MOST_ROWS = 40
_LONGEST_NAME, _LONGEST_PLAIN = 17, 20
"""Letters of a method's name with options, and of one without, in tables for a terminal of 80 columns."""


def terminal(found: Verdict, shown: Sequence[Part]) -> str:
    """The verdict, the three tables, what limits it, and the tables and sentences of some parts."""
    names = [] if found.ranks is None else found.ranks.data["method"].tolist()
    short = _short([name for name in names if ":" in name], _LONGEST_NAME)
    short |= _short([name for name in names if ":" not in name], _LONGEST_PLAIN)
    texts = [found.headline, found.compared, *(_brief(table, short) for table in found.tables)]
    texts += [" ".join(found.limits)] if found.limits else []
    for part in shown:
        texts += [_brief(table, short) for table in part.tables if not table.only_in_files]
        texts += part.sentences
    texts += [f"Warning: {warning}." for warning in found.warnings]
    texts.append(f"To cite: {found.version}; verdict.json and the page have the protocol, and an entry for BibTeX.")
    return "\n\n".join(text if "\n" in text else textwrap.fill(text, 80, break_long_words=False) for text in texts)


def _short(names: list[str], most: int) -> dict[str, str]:
    return dict(zip(names, shortened(names, most), strict=True)) if names else {}


def _brief(table: Table, short: Mapping[str, str]) -> str:
    if len(table.shown) <= _MOST_ROWS:
        return table.text(short=short)
    return f"{table.title}: {count(len(table.shown), 'row')}, in {table.name}.csv (--format csv)."


def markdown(title: str, found: Verdict, parts: Sequence[Part]) -> str:
    """The report as Markdown: every table with its notes; names, units and reasons stay text."""
    texts = [f"# {title}", found.headline, found.compared]
    texts += [f"**{warning}.**" for warning in found.warnings]
    for table in found.tables:
        texts += _in_markdown(table)
    texts += found.limits
    for part in parts:
        texts += [f"## {part.title}", part.intro] if part.intro else []
        for table in part.tables:
            texts += _in_markdown(table)
        texts += part.sentences
    return inert("\n\n".join([*texts, found.protocol])) + "\n"


def _in_markdown(table: Table) -> list[str]:
    marks = table.marks.replace("*", "\\*")  # a star that begins a line would begin a list
    return [f"## {table.title}", table.markdown(), " ".join(filter(None, (marks, table.note)))]


def inert(text: str) -> str:
    """Markdown without HTML, links and pictures: every `<` that could begin a tag, and every `]` that could end the
    text of a link, stands for itself."""
    return re.sub(r"\](?=[(\[:])", "&#93;", re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text))
