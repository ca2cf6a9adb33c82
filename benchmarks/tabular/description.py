"""JSON files that describe the arrays of a folder; the first key is the SHA-256 of the rest.

Files of earlier versions have no such key, and are not checked.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from nasbench.benchmarks.files import beside
from nasbench.benchmarks.spaces.errors import UsageError
from nasbench.benchmarks.spaces.textfile import content_of

_MOST_BYTES = 1 << 26
_BEGINNING = '{"digest": "%s",'


class Description(NamedTuple):
    """The content of a description, and its digest."""

    facts: dict[str, Any]
    digest: str
    """The SHA-256 in hexadecimal digits."""


def write(path: Path, facts: dict[str, Any]) -> None:
    """Writes a description atomically.

    Raises OSError, TypeError for facts that are not plain data, or UsageError if they are more than `read` reads.
    """
    text = json.dumps(facts, indent=1)
    if len(text) > _MOST_BYTES - len(_BEGINNING % _digest(b"")):
        raise UsageError(f"{path} would have more than {_MOST_BYTES:,} bytes: too many values of hyper-parameters")
    with beside(path) as aside:
        aside.write_text(_BEGINNING % _digest(text.encode()) + text[1:])
        aside.replace(path)


def read(path: Path) -> Description:
    """The description in a file. Raises OSError, UsageError if it is no regular file, or ValueError if it is damaged."""
    content = content_of(path, _MOST_BYTES, "no table has so many values of hyper-parameters")
    if content.startswith(b"{\n"):  # of an earlier version
        return Description(json.loads(content), _digest(content))
    text = b"{" + content[len(_BEGINNING % _digest(b"")) :]
    if content != (_BEGINNING % _digest(text)).encode() + text[1:]:
        raise ValueError(f"what {path.name} says does not match its digest")
    return Description(json.loads(text), _digest(text))


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
