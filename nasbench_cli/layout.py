"""Plain text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as text with aligned columns, one line per row; all rows have the same number of cells."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def one_line(text: object, longest: int = 500) -> str:
    """Text that any file and terminal can take: no line ends, no control characters, and at most `longest` letters."""
    plain = str(text).encode("utf-8", "replace").decode("utf-8")
    words = "".join(" " if c.isspace() else c for c in plain if c.isspace() or c.isprintable()).split()
    line = " ".join(words)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
