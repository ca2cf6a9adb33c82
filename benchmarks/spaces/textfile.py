"""The small text files that a user writes: suites and specifications of tables (TOML), networks (JSON)."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from nasbench.benchmarks.spaces.errors import UsageError

_LARGEST = 1 << 20  # bytes; the largest that we know of has 20,000
_STRINGS = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|-")
_LONG_KEY = re.compile(r"\b(?:\w++[ \t]*+\.[ \t]*+){50}")


def read(path: Path) -> str:
    """The text of a small file. Raises OSError, or UsageError if it is too large, no text, or a pipe or device."""
    check_regular(path)
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise UsageError(f"{path} has more than {_LARGEST:,} bytes: it is not what a person writes")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a text file (UTF-8)") from None


def check_regular(path: Path) -> None:
    """Raises UsageError for a pipe or a device: to read one would be to wait for its writer, or to have no end."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UsageError(f"{path} is not a regular file")


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """The tables of a TOML file. Raises UsageError that names the file if it is none, or nested too deeply.

    The time that the parser takes grows with the square of the parts of a dotted key: minutes for one of 100,000 bytes.
    """
    if _LONG_KEY.search(_STRINGS.sub("x", text)):
        raise _nested(path)
    try:
        facts = tomllib.loads(text)
        _check_numbers(path, facts)
    except ValueError as error:  # a number of 5,000 digits is one that is no TOMLDecodeError
        raise UsageError(f"{path} is not TOML: {error}") from None
    except RecursionError:
        raise _nested(path) from None
    return facts


def parse_json(path: Path, text: str) -> Any:
    """The value of a JSON file. Raises UsageError that names the file if it is none, or nested too deeply."""
    try:
        facts = json.loads(text)
        _check_numbers(path, facts)
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from None
    except RecursionError:
        raise _nested(path) from None
    return facts


def _check_numbers(path: Path, value: object) -> None:
    """Raises UsageError for a whole number of more than 64 bits, with which no float can be compared."""
    if isinstance(value, int) and abs(value) >= 1 << 63:
        raise UsageError(f"{path} has a whole number of more than 64 bits")
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        _check_numbers(path, part)


def _nested(path: Path) -> UsageError:
    return UsageError(f"{path} is nested too deeply to be read")
