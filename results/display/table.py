"""A table with full-precision numbers for files and rounded text for display, in several formats."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import infer_dtype

from nasbench.results.display import latex

_SETTING = ("benchmark", "constraint")
_KEPT = ("p", "p (Holm)", "place")
"""Columns of which the last stays in sight where a table scrolls sideways."""
_TEXT = frozenset(
    {
        "method",
        "benchmark",
        "constraint",
        "against",
        "settings",
        "objective",
        "metric",
        "other",
        "space",
        "family",
        "claim",
        "here",
        "verdict",
        "parameter",
        "where",
        "first",
        "tied with",
        "margin",
        "ahead in",
    }
)


@dataclass(frozen=True)
class Table:
    """A table with its title and notes."""

    name: str
    title: str
    note: str
    """The computation of the numbers."""
    data: pd.DataFrame
    """Numbers in full precision, for CSV."""
    shown: pd.DataFrame
    """Rounded text, for display."""
    bold: NDArray[np.bool_] | None = None
    """The cells of `shown` to emphasise."""
    marks: str = ""
    """The meaning of bold print and marks in the cells."""
    only_in_files: bool = False
    """Whether it is too long for the page and a terminal."""

    def __post_init__(self) -> None:
        """Cells that an author's part leaves missing, or as numbers, are texts too."""
        is_text = all(infer_dtype(self.shown[column]) in ("string", "empty") for column in self.shown)
        if not is_text or self.shown.isna().to_numpy().any():
            object.__setattr__(self, "shown", self.shown.astype(object).map(_text))

    def csv(self) -> str:
        """Comma-separated values in full precision; NaN is empty. Text that looks like a formula is escaped."""
        texts = self.data.select_dtypes(exclude=["number", "bool"])
        return self.data.assign(**texts.map(inert)).rename(columns=inert).to_csv(index=False, lineterminator="\n")

    def latex(self) -> str:
        """Floats in booktabs style, with caption and label (`latex.floats`)."""
        return latex.floats(self.name, self._caption, self.shown, _TEXT, self.bold)

    def longtable(self) -> str:
        """A table in LaTeX that breaks between pages (`latex.breaking`)."""
        return latex.breaking(self.name, self._caption, self.shown, _TEXT, self.bold)

    @property
    def _caption(self) -> str:
        return self.title + (f". {self.marks}" if self.marks else "")

    def html(self) -> str:
        """A `<table>`; text is escaped, text columns have the class `text`, and a column that stays in sight `keep`."""
        cells = self._cells(lambda text: f"<b>{text}</b>", html.escape)
        kept = next((column for column in reversed(self.shown.columns) if column in _KEPT), None)
        words = [("text " * (column in _TEXT) + "keep" * (column == kept)).strip() for column in self.shown.columns]
        classes = [f' class="{word}"' if word else "" for word in words]
        head = "".join(
            f'<th scope="col"{c}>{html.escape(n)}</th>' for n, c in zip(self.shown.columns, classes, strict=True)
        )
        body = "\n".join(
            "<tr>" + "".join(f"<td{c}>{cell}</td>" for cell, c in zip(row, classes, strict=True)) + "</tr>"
            for row in cells
        )
        start = f'<table aria-label="{html.escape(self.title)}">\n'
        return f"{start}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"

    def markdown(self) -> str:
        """A pipe table."""
        cells = self._cells(lambda text: f"**{text}**", _plain_in_markdown)
        rules = ["---" if column in _TEXT else "---:" for column in self.shown.columns]
        heads = [_plain_in_markdown(str(column)) for column in self.shown.columns]
        return "\n".join("| " + " | ".join(row) + " |" for row in [heads, rules, *cells])

    def text(self, width: int = 80, short: Mapping[str, str] | None = None) -> str:
        """Text for a terminal: aligned columns, one heading line per setting, bold as ANSI codes.

        Text columns are shortened if a line would be wider than `width`, unless entries would become equal.

        Args:
            short: texts that are replaced in all tables of a report, whatever their width.
        """
        columns = [column for column in self.shown.columns if column not in _SETTING]
        grouped = len(columns) < len(self.shown.columns)
        shown = self.shown[columns].replace(dict(short or {}))
        cells: list[list[str]] = [columns, *shown.to_numpy().tolist()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        indent = "  " if grouped else ""
        excess = len(indent) + sum(widths) + 2 * (len(widths) - 1) - width
        for i, column in enumerate(columns):
            if column in _TEXT and excess > 0:
                names = [row[i].partition(":")[0] for row in cells[1:]]
                texts = shortened(
                    [row[i] for row in cells[1:]], max(12, widths[i] - excess, *(len(n) + 2 for n in names))
                )
                for row, short_text in zip(cells[1:], texts, strict=True):
                    row[i] = short_text
                narrower = max(map(len, [column, *texts]))
                widths[i], excess = narrower, excess - (widths[i] - narrower)
        kept = [i for i, column in enumerate(self.shown.columns) if column not in _SETTING]
        bold = np.zeros((len(cells), len(columns)), bool)
        if self.bold is not None:
            bold[1:] = self.bold[:, kept]
        lines = [
            indent + "  ".join(map(_padded, columns, row, widths, emphasis)).rstrip()
            for row, emphasis in zip(cells, bold.tolist(), strict=True)
        ]
        rule = "-" * (len(indent) + sum(widths) + 2 * (len(widths) - 1))
        text, before = [textwrap.fill(self.title, width), "", lines[0], rule], ""
        named = self.shown[[c for c in _SETTING if c in self.shown]].to_numpy().tolist()
        settings = [", ".join(names) for names in named]
        for number, line in enumerate(lines[1:]):
            if grouped and settings[number] != before:
                text.append(settings[number])
                before = settings[number]
            text.append(line)
        return "\n".join([*text, *([textwrap.fill(self.marks, width)] if self.marks else [])])

    def _cells(self, emphasise: Callable[[str], str], escape: Callable[[str], str]) -> list[list[str]]:
        """The rows of `shown`, escaped, with bold cells emphasised."""
        bold = np.zeros(self.shown.shape, bool) if self.bold is None else self.bold
        rows = zip(self.shown.to_numpy().tolist(), bold.tolist(), strict=True)
        return [
            [emphasise(escape(c)) if strong else escape(c) for c, strong in zip(row, strongs, strict=True)]
            for row, strongs in rows
        ]


def _text(cell: object) -> str:
    if cell is None or cell is pd.NA or cell != cell:  # noqa: PLR0124 (NaN)
        return "-"
    return str(cell)


def shortened(labels: Sequence[str], width: int) -> list[str]:
    """Labels of at most `width` letters, still distinct; unchanged if that is impossible.

    The middle of a label is cut; if that makes labels equal, the parts that all of them share are cut.
    """
    cut = [_cut(label, width) for label in labels]
    if len(set(cut)) < len(set(labels)):
        different = sorted(set(labels))
        start = _shared(different)
        end = min(_shared([label[::-1] for label in different]), min(map(len, different)) - start)
        cores = [label[start : len(label) - end] for label in labels]
        room = max(3, width - 2 - max(map(len, cores)))
        cut = [f"{label[: min(start, room)]}…{core}…" for label, core in zip(labels, cores, strict=True)]
    return cut if len(set(cut)) == len(set(labels)) and max(map(len, cut)) <= width else list(labels)


def _shared(labels: list[str]) -> int:
    """The number of first letters that all labels share."""
    return next((i for i, letters in enumerate(zip(*labels, strict=False)) if len(set(letters)) > 1), 0)


def _cut(text: str, width: int) -> str:
    """The text with its middle cut; for a method with options, the middle of the options."""
    if len(text) <= width:
        return text
    name, colon, options = text.partition(":")
    head = name + colon if colon and len(name) + 1 < width else ""
    tail, room = (options, width - len(head)) if head else (text, width)
    return f"{head}{tail[: room // 2]}…{tail[len(tail) - (room - room // 2 - 1) :]}"


def _padded(column: str, text: str, width: int, bold: bool) -> str:
    padded = text.ljust(width) if column in _TEXT else text.rjust(width)
    return click.style(padded, bold=True) if bold else padded


def _plain_in_markdown(text: str) -> str:
    """Text that is neither a border of a table nor in italics."""
    return text.replace("|", "\\|").replace("*", "\\*")


def inert(value: object) -> object:
    """A text that spreadsheets do not interpret as a formula: an apostrophe is added in front."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t") and not _is_number(value):
        return f"'{value}"
    return value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return len(text) == 1  # a dash in a table
    return True
