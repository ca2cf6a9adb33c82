"""Tables in LaTeX for any document class: floats in booktabs style, split if they are too wide or too long."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

PACKAGES = ("booktabs",)
_NARROW, _WIDEST = 52, 122  # letters of footnote size that fit one of two columns, and a page
_ROWS = 42  # rows that fit a page below a caption that states a protocol
_NO_WIDER = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{"
_SMALL = r"\footnotesize\setlength{\tabcolsep}{3pt}"

_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_INTERVAL = re.compile(rf"(?<![\w.-])({_NUMBER})-({_NUMBER})(?![\w.])")
_POWER = re.compile(r"(?<![\w.])(<?)(\d+(?:\.\d+)?)e([+-]?\d+)")
_NEGATIVE = re.compile(r"^-(?=\d)")
_ESCAPED = str.maketrans(
    {c: f"\\{c}" for c in "%_&#{}$"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "…": r"\ldots{}",
        "×": r"$\times$",
        "±": r"$\pm$",
        "−": "$-$",
        "→": r"$\rightarrow$",
        "²": "$^2$",
    }
    | {
        "α": r"$\alpha$",
        "θ": r"$\theta$",
        "ρ": r"$\rho$",
        "χ": r"$\chi$",
        "ψ": r"$\psi$",
        "Σ": r"$\Sigma$",
        "≈": r"$\approx$",
    }
)


def floats(
    name: str, caption: str, shown: pd.DataFrame, text_columns: frozenset[str], bold: NDArray[np.bool_] | None
) -> str:
    """A table as one or more floats, after a comment that lists the packages for the preamble.

    A float is a `table` if it fits a column of a two-column page, else a `table*`, which is scaled down where the page
    is narrower. A table wider than a page is split by columns, with the leading text columns repeated; a longer one is
    split by rows.

    Args:
        name: name in the label, `tab:NAME`; parts after the first also have a number.
        text_columns: columns of words, aligned to the left.
        bold: cells to emphasise, shape of `shown`.
    """
    table = _prepared(shown, text_columns, bold)
    parts = [
        (chosen, table.cells[start : start + _ROWS])
        for start in range(0, max(1, len(table.cells)), _ROWS)
        for chosen in _splits(table)
    ]
    stars = ["" if sum(table.widths[i] for i in chosen) <= _NARROW else "*" for chosen, _ in parts]
    lines = [f"% \\usepackage{{{','.join((*PACKAGES, 'graphicx') if any(stars) else PACKAGES)}}}"]
    for number, ((chosen, rows), star) in enumerate(zip(parts, stars, strict=True)):
        place = "tbp" if len(parts) == 1 else "p"
        lines += [
            rf"\begin{{table{star}}}[{place}]",
            rf"\centering{_SMALL}",
            _captioned(name, caption, number, len(parts)),
            (_NO_WIDER if star else "") + rf"\begin{{tabular}}{{{table.alignment(chosen)}}}",
            r"\toprule",
            table.head(chosen),
            r"\midrule",
            *_lines(chosen, rows),
            r"\bottomrule",
            r"\end{tabular}" + ("}" if star else ""),
            rf"\end{{table{star}}}",
        ]
        lines += [r"\clearpage"] if len(parts) > 2 else []
    return "\n".join(lines) + "\n"


def breaking(
    name: str, caption: str, shown: pd.DataFrame, text_columns: frozenset[str], bold: NDArray[np.bool_] | None
) -> str:
    """The table as a `longtable`, which breaks between pages, for one-column documents; arguments as of `floats`.

    It is split by columns only.
    """
    table = _prepared(shown, text_columns, bold)
    parts = _splits(table)
    lines = [
        f"% \\usepackage{{{','.join((*PACKAGES, 'longtable'))}}}",
        "% for one column: longtable stops with an error where a page has two",
    ]
    for number, chosen in enumerate(parts):
        head = [r"\toprule", table.head(chosen), r"\midrule"]
        lines += [
            rf"\begingroup{_SMALL}",
            rf"\begin{{longtable}}{{{table.alignment(chosen)}}}",
            _captioned(name, caption, number, len(parts)) + r"\\",
            *head,
            r"\endfirsthead",
            *head,
            r"\endhead",
            r"\bottomrule",
            r"\endfoot",
            *_lines(chosen, table.cells),
            r"\end{longtable}",
            r"\endgroup",
        ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Prepared:
    """A table with cells in LaTeX."""

    columns: list[str]
    cells: list[list[str]]
    widths: list[int]
    """Widths of the columns in letters, with the space between columns."""
    are_words: list[bool]

    def alignment(self, chosen: Sequence[int]) -> str:
        return "".join("l" if self.are_words[i] else "r" for i in chosen)

    def head(self, chosen: Sequence[int]) -> str:
        return _apart(" & ".join(escape(self.columns[i]) for i in chosen)) + r" \\"


def _prepared(shown: pd.DataFrame, text_columns: frozenset[str], bold: NDArray[np.bool_] | None) -> _Prepared:
    columns = [str(column) for column in shown.columns]
    are_words = [column in text_columns for column in columns]
    cells = [
        [
            _margin(value) if column == "margin" else escape(value) if is_word else _mixed(_number(value))
            for value, is_word, column in row
        ]
        for row in (zip(map(str, row_), are_words, columns, strict=True) for row_ in shown.to_numpy().tolist())
    ]
    if bold is not None:
        pairs = (zip(row, strong, strict=True) for row, strong in zip(cells, bold.tolist(), strict=True))
        cells = [[rf"\textbf{{{value}}}" if is_strong else value for value, is_strong in row] for row in pairs]
    widths = [
        max([len(column), *(len(value) for value in values)]) + 2
        for column, values in zip(columns, shown.astype(str).to_numpy().T.tolist(), strict=True)
    ]
    return _Prepared(columns, cells, widths, are_words)


def _captioned(name: str, caption: str, number: int, parts: int) -> str:
    """Caption and label of a part; parts after the first have a number."""
    of = f" (part {number + 1} of {parts})" if parts > 1 else ""
    return rf"\caption{{{escape(caption)}{of}}}" + "\n" + rf"\label{{tab:{name}{f'-{number + 1}' if number else ''}}}"


def _lines(chosen: Sequence[int], rows: Sequence[Sequence[str]]) -> list[str]:
    return [_apart(" & ".join(row[i] for i in chosen)) + r" \\" for row in rows]


def _apart(row: str) -> str:
    """A row that is no argument of the command before it: a bracket or a star would be one."""
    return "{}" + row if row.startswith(("[", "*")) else row


def _margin(text: str) -> str:
    """A probability with its interval, and the name of the other method."""
    value, over, name = text.partition(" over ")
    return _mixed(_number(value)) + escape(over + name)


def escape(text: object) -> str:
    """Text with LaTeX's special characters escaped."""
    return str(text).translate(_ESCAPED)


def _splits(table: _Prepared) -> list[list[int]]:
    """The columns of each part: the leading text columns, and as many others as fit."""
    widths, are_words = table.widths, table.are_words
    head = [i for i in range(len(widths)) if all(are_words[: i + 1])]
    if sum(widths) <= _WIDEST or not head or len(head) == len(widths):
        return [list(range(len(widths)))]
    room = max(_WIDEST - sum(widths[i] for i in head), 1)
    parts: list[list[int]] = [[]]
    for i in range(len(head), len(widths)):
        if parts[-1] and sum(widths[j] for j in parts[-1]) + widths[i] > room:
            parts.append([])
        parts[-1].append(i)
    return [head + columns for columns in parts]


@lru_cache(maxsize=1 << 14)  # a long table repeats its numbers
def _number(text: str) -> str:
    """A number or interval in LaTeX: en-dashes in intervals, powers of ten, minus signs; unknown is a dash."""
    if text == "-":
        return "$--$"
    marked = _INTERVAL.sub(r"\1$--$\2", text)
    marked = _POWER.sub(lambda m: _power(m[1], m[2], int(m[3])), marked)
    return _NEGATIVE.sub("$-$", marked)


def _power(sign: str, factor: str, exponent: int) -> str:
    times = "" if factor == "1" and sign else rf"{factor}\times"
    return f"${sign}{times}10^{{{exponent}}}$"


def _mixed(text: str) -> str:
    """Text with formulas between dollar signs, escaped outside them; `--` between dollar signs is a dash."""
    parts = text.split("$")
    return "".join("--" if p == "--" else f"${p}$" if i % 2 else escape(p) for i, p in enumerate(parts))
