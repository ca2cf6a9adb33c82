"""The JSON file that says what the arrays of a folder are: its first key is the SHA-256 of the rest.

Of an earlier version it has no such key, and nothing to be compared with.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

_BEGINNING = '{"digest": "%s",'


class Description(NamedTuple):
    """What a folder's file says, and the digest of that."""

    facts: dict[str, Any]
    digest: str
    """Hexadecimal digits of the SHA-256."""


def write(path: Path, facts: dict[str, Any]) -> None:
    """Puts a description into place, in one go. Raises TypeError for what is no plain data, OSError."""
    text = json.dumps(facts, indent=1)
    aside = path.with_name(f".{path.name}.tmp")
    aside.write_text(_BEGINNING % _digest(text.encode()) + text[1:])
    aside.replace(path)


def read(path: Path) -> Description:
    """The description in a file. Raises ValueError if it is damaged, OSError."""
    content = path.read_bytes()
    if content.startswith(b"{\n"):  # of an earlier version
        return Description(json.loads(content), _digest(content))
    text = b"{" + content[len(_BEGINNING % _digest(b"")) :]
    if content != (_BEGINNING % _digest(text)).encode() + text[1:]:
        raise ValueError(f"what {path.name} says does not match its digest")
    return Description(json.loads(text), _digest(text))


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
