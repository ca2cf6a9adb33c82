"""JSON files that describe the arrays of a folder; the first key is the SHA-256 of the rest.

Files of earlier versions have no such key, and are not checked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from nasbench.base.errors import UsageError
from nasbench.base.files import beside
from nasbench.base.metrics import Metric
from nasbench.base.textfile import content_of

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
    """The description in a file. Raises OSError, UsageError for a pipe, or ValueError if it is damaged."""
    content = content_of(path, _MOST_BYTES, "it is too large for the description of a table")
    if content.startswith(b"{\n"):  # of an earlier version
        return Description(json.loads(content), _digest(content))
    text = b"{" + content[len(_BEGINNING % _digest(b"")) :]
    if content != (_BEGINNING % _digest(text)).encode() + text[1:]:
        raise ValueError(f"what {path.name} says does not match its digest")
    return Description(json.loads(text), _digest(text))


_Kind: TypeAlias = type | tuple[type, ...]
_METRIC: dict[str, _Kind] = {
    "name": str,
    "unit": str,
    "minimize": bool,
    "description": str,
    "split": (str, type(None)),
    "epoch": (int, type(None)),
    "cheap": bool,
    "seconds": (int, float),
}


def check_kinds(facts: Mapping[str, Any], kinds: Mapping[str, _Kind]) -> None:
    """Raises TypeError for a value of another kind than its name has, by which a right digest does not help."""
    for name, value in facts.items():
        kind = kinds.get(name, object)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not object and kind is not bool):
            raise TypeError(f"{name}: {value!r}")


def metrics_of(facts: list[dict[str, Any]]) -> list[Metric]:
    """The metrics in a description. Raises TypeError for another kind of value, ValueError for a name twice."""
    for metric in facts:
        check_kinds(metric, _METRIC)
    names = [metric["name"] for metric in facts]
    if len(set(names)) < len(names):
        raise ValueError(f"two metrics of one name: {', '.join(names)}")
    return [Metric(**metric) for metric in facts]


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
