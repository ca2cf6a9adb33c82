"""JSON files that describe the arrays of a folder; the first key is the SHA-256 of the rest.

Files of earlier versions have no such key, and are not checked.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from nasbench.benchmarks.files import beside

_BEGINNING = '{"digest": "%s",'


class Description(NamedTuple):
    """The content of a description, and its digest."""

    facts: dict[str, Any]
    digest: str
    """The SHA-256 in hexadecimal digits."""


def write(path: Path, facts: dict[str, Any]) -> None:
    """Writes a description atomically. Raises OSError, or TypeError for facts that are not plain data."""
    text = json.dumps(facts, indent=1)
    with beside(path) as aside:
        aside.write_text(_BEGINNING % _digest(text.encode()) + text[1:])
        aside.replace(path)


def read(path: Path) -> Description:
    """The description in a file. Raises OSError, or ValueError if it is damaged."""
    content = path.read_bytes()
    if content.startswith(b"{\n"):  # of an earlier version
        return Description(json.loads(content), _digest(content))
    text = b"{" + content[len(_BEGINNING % _digest(b"")) :]
    if content != (_BEGINNING % _digest(text)).encode() + text[1:]:
        raise ValueError(f"what {path.name} says does not match its digest")
    return Description(json.loads(text), _digest(text))


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
