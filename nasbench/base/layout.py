"""Plain text for a terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as text with aligned columns, one line per row; all rows have the same number of cells."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def span(seconds: float) -> str:
    """A duration in seconds as text with the largest fitting unit: `90` gives `1.5 min`."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 1 or not seconds else f"{seconds:.2g} s"


def terminal_width() -> int:
    """Columns of the terminal, 20 at least; 80 where there is none."""
    return max(shutil.get_terminal_size((80, 24)).columns, 20)


def filled(text: str, width: int, first: str = "", further: str = "    ") -> str:
    """A text in lines of at most `width` letters; paths and names stay whole, whatever their length.

    Args:
        first, further: what the first line and the others begin with.
    """
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=further, break_on_hyphens=False, break_long_words=False
    )


def prose(rows: Sequence[Sequence[str]], width: int) -> str:
    """Rows as text with aligned columns; the last column is prose, and is wrapped."""
    if not rows:
        return ""
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    indent = sum(widths) + 2 * len(widths)
    if indent > width - 20:  # no room beside the other columns: the prose goes below them
        indent = 4
    lines = []
    for row in rows:
        head = "".join(f"{cell.ljust(wide)}  " for cell, wide in zip(row, widths, strict=False))
        first = f"{head.rstrip()}\n{' ' * indent}" if len(head) > indent else head
        text = filled(row[-1], width, " " * indent, " " * indent)
        lines.append((first + text[indent:]).rstrip())
    return "\n".join(lines)


def in_columns(rows: Sequence[Sequence[str]], width: int) -> str:
    """Rows as text with aligned columns; columns beyond `width` follow below, with the first column repeated."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    blocks: list[list[int]] = [[]]
    for i in range(1, len(widths)):
        if blocks[-1] and widths[0] + sum(2 + widths[j] for j in blocks[-1]) + 2 + widths[i] > width:
            blocks.append([])
        blocks[-1].append(i)
    return "\n\n".join(table([[row[0], *(row[i] for i in block)] for row in rows]) for block in blocks)


def one_line(text: object, longest: int = 500) -> str:
    """Text without line ends and control characters, safe for any file and terminal, of at most `longest` letters."""
    plain = str(text).encode("utf-8", "replace").decode("utf-8")
    words = "".join(" " if c.isspace() else c for c in plain if c.isspace() or c.isprintable()).split()
    line = " ".join(words)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
