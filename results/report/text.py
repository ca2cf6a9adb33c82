"""A report for a terminal, and as Markdown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from nasbench.results.curves import Curves
from nasbench.results.display.numbers import count
from nasbench.results.display.table import Table
from nasbench.results.parts.part import Part

_MOST_ROWS = 40


def terminal(curves: Curves, warnings: Sequence[str], parts: Sequence[Part], files: Iterable[str]) -> str:
    """The tables that belong on a terminal, those that are short enough, and every sentence; the answer comes first."""
    found = []
    for part in parts:
        found += [_brief(table, files) for table in part.tables if table.place == "terminal"]
        found += part.sentences
    runs = f"{count(len(curves.runs), 'run')} of {curves.protocol}; {count(len(curves.settings), 'setting')}"
    found.append(f"{runs} of {count(curves.families, 'benchmark family', 'benchmark families')}.")
    explained = [name for name in ("index.html", "report.md") if name in files]
    if explained:
        found.append(f"How each number is computed stands below its table in {' and '.join(explained)}.")
    found += [f"Warning: {warning}." for warning in warnings]
    return "\n\n".join(text if "\n" in text else textwrap.fill(text, 80, break_long_words=False) for text in found)


def _brief(table: Table, files: Iterable[str]) -> str:
    if len(table.shown) <= _MOST_ROWS:
        return table.text()
    where = next((f" in {n}" for n in (f"{table.name}.csv", "report.md", "index.html") if n in files), "")
    return f"{table.title}: {len(table.shown)} rows,{where or ' for --format csv'}."


def markdown(title: str, warnings: Sequence[str], parts: Sequence[Part]) -> str:
    """Every table, with how it was computed; names, units and reasons may look like HTML, and stay text."""
    found = [f"# {title}"]
    for i, part in enumerate(parts):
        found += [f"## {part.title}", part.intro] if part.intro else []
        for table in part.tables:
            found += [f"## {table.title}", table.markdown(), " ".join(filter(None, (table.marks, table.note)))]
        found += part.sentences
        found += [f"**{warning}.**" for warning in warnings] if i == 0 else []
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", "\n\n".join(found)) + "\n"
