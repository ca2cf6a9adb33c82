"""Regular files of the user, and small texts among them: suites and specifications (TOML), networks (JSON)."""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from io import BufferedReader
from pathlib import Path
from typing import Any

from nasbench.base.errors import UsageError

_LARGEST = 1 << 20  # bytes; the largest known file has 20,000
_STRINGS = re.compile(
    r"\"\"\"(?:[^\"\\]|\\[\s\S]|\"{1,2}(?!\"))*+\"{3,5}|'''(?:[^']|'{1,2}(?!'))*+'{3,5}"
    r"|\"(?:[^\"\\\n]|\\.)*+\"|'[^'\n]*'|#[^\n]*|-"
)
"""Strings and comments as TOML reads them from the beginning of a text, and hyphens, which keys may have."""
_LONG_KEY = re.compile(r"\b(?:\w++[ \t]*+\.[ \t]*+){50}")


def read(path: Path) -> str:
    """The text of a small file. Raises OSError, or UsageError if it is too large, not a text, or a pipe or device."""
    content = content_of(path, _LARGEST, "it is too large for a file written by hand")
    try:
        return content.decode("utf-8-sig")  # some editors begin a file with a byte order mark
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a text file (UTF-8)") from None


def content_of(path: Path, most: int, why: str) -> bytes:
    """The bytes of a file. Raises OSError, or UsageError for one of more than `most` bytes, a pipe or a device.

    Args:
        why: the end of the sentence about a larger file.
    """
    with opened(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise UsageError(f"{path} has more than {most:,} bytes: {why}")
    return content


def opened(path: Path) -> BufferedReader:
    """A regular file, opened for reading. Raises OSError, or UsageError for a pipe or a device, which may never end."""
    # Without O_NONBLOCK, a pipe is opened only when somebody writes to it.
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise _irregular(path)
    return file


def integer(text: str) -> int:
    """An integer of JSON (`parse_int`). Raises ValueError for one of more digits than 64 bits have."""
    if len(text) > 20:
        raise ValueError(f"an integer of {len(text)} digits")
    return int(text)


def check_regular(path: Path) -> None:
    """Raises UsageError for a pipe or a device, before a library opens it."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise _irregular(path)


def check_file(path: Path) -> None:
    """Raises UsageError unless a path leads to a regular file."""
    check_regular(path)
    if not path.is_file():
        raise UsageError(f"cannot read {path}: there is no such file")


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """The tables of a TOML file. Raises UsageError that names the file if it is not TOML, or nested too deeply.

    Long dotted keys are refused: parsing time grows with the square of their parts (minutes for 100,000 bytes).
    """
    if _LONG_KEY.search(_STRINGS.sub("x", text)):
        raise _nested(path)
    try:
        facts = tomllib.loads(text)
        _check_numbers(path, facts)
    except ValueError as error:  # not only TOMLDecodeError: a number of 5,000 digits raises ValueError
        raise UsageError(f"{path} is not TOML: {error}") from None
    except RecursionError:
        raise _nested(path) from None
    return facts


def parse_json(path: Path, text: str) -> Any:
    """The value of a JSON file. Raises UsageError that names the file if it is not JSON, or nested too deeply."""
    try:
        facts = json.loads(text)
        _check_numbers(path, facts)
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from None
    except RecursionError:
        raise _nested(path) from None
    return facts


def _check_numbers(path: Path, value: object) -> None:
    """Raises UsageError for an integer of more than 64 bits, which may not be comparable with floats."""
    if isinstance(value, int) and abs(value) >= 1 << 63:
        raise UsageError(f"{path} has a whole number of more than 64 bits")
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        _check_numbers(path, part)


def _irregular(path: Path) -> UsageError:
    return UsageError(f"{path} is not a regular file")


def _nested(path: Path) -> UsageError:
    return UsageError(f"{path} is nested too deeply to be read")
