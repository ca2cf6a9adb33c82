"""The lines of a guessed specification: a key, its value, and a comment, which may be a doubt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TypeAlias

Line: TypeAlias = tuple[str, object, str]
"""A key, its value, and a comment. A comment that begins with `?` is a doubt; a key that begins with `#` a proposal."""

_WIDTH = 40  # characters before a comment


def text_of(line: Line) -> str:
    """A line as TOML."""
    key, value, comment = line
    if not key:
        return f"# {comment}"
    written = f"{key} = {quoted(value) if isinstance(value, str) else json.dumps(value)}"
    return f"{written.ljust(_WIDTH)} # {comment}" if comment else written


def quoted(text: str) -> str:
    """A text as a TOML string, without what moves the cursor of a terminal or turns the direction of what follows."""
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in json.dumps(text, ensure_ascii=False))


def plain(text: str) -> str:
    """A text for a comment: printable, at most 80 characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:80]


def doubts_among(about: str, lines: Iterable[Line]) -> Iterator[str]:
    """The doubts among the lines about a column, or about the keys of the whole file."""
    for key, value, comment in lines:
        if comment.startswith("? "):
            what, proposed = plain(about or key), f"{key[2:]} = {json.dumps(value)} " if key.startswith("# ") else ""
            yield f"{what}: {proposed}{comment[2:]}" if what else comment[2:]
