"""The standard streams of a process: closed ones are replaced, standard error never stops the work, and an error of
standard output says that it is one, and what is printed moves no cursor."""

from __future__ import annotations

import io
import os
import re
import sys
from typing import Any

OUTPUT = "standard output"
"""The `filename` of an OSError of standard output (`name_output`)."""

_CODES = re.compile("(?!\x1b\\[[01]m)[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters and those that turn the direction of a text; not line ends, tabs, and a report's bold letters."""


def say(text: object = "", err: bool = False, nl: bool = True) -> None:
    """Prints a text, in which others may have put codes for the terminal: these are shown as their numbers.

    Args:
        err: whether it is printed on standard error.
        nl: whether a line end follows.
    """
    import click  # processes that compute need none

    click.echo(visible(str(text)), err=err, nl=nl)


def visible(text: str) -> str:
    """A text without codes for a terminal: their first letter is written as its number."""
    return _CODES.sub(lambda code: code[0].encode("unicode_escape").decode(), text)


class ReaderGone(Exception):
    """Raised where the reader of standard output has gone (`| head`); click and rich make an exit code 1 of the
    BrokenPipeError that it stands for."""


def replace_closed() -> None:
    """Puts /dev/null where a standard stream is closed (`2>&-`), before a file of ours gets its number.

    Otherwise printing would fail, in this process and in those that it begins, or write into that file.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # The lowest number that is free is that of the stream which is closed.
            number = os.open(os.devnull, os.O_RDONLY if name == "stdin" else os.O_WRONLY)
            os.set_inheritable(number, True)
            # Whoever puts another object in its place must not close the number, which is the stream's for good.
            setattr(sys, name, open(number, "r" if name == "stdin" else "w", closefd=False))  # noqa: SIM115


def drop_unwritable_errors() -> None:
    """From now on standard error drops what cannot be written: the disk of a log is full, or its reader has gone."""
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(_Dropping(sys.stderr.fileno())),
        sys.stderr.encoding,
        "backslashreplace",
        line_buffering=True,
        write_through=True,
    )


def name_output() -> None:
    """From now on an OSError of standard output has the filename `OUTPUT`; where its reader has gone, `ReaderGone`.

    Letters that its encoding lacks are written as their numbers (`\\u03b7`): files may be in place by then.
    """
    out = sys.stdout
    raw = _Naming(out.fileno())
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), out.encoding, "backslashreplace", line_buffering=raw.isatty())


class _Stream(io.RawIOBase):
    """A standard stream by its number."""

    def __init__(self, number: int) -> None:
        self._number = number

    def fileno(self) -> int:
        return self._number

    def isatty(self) -> bool:
        return os.isatty(self._number)

    def writable(self) -> bool:
        return True


class _Naming(_Stream):
    def write(self, data: Any, /) -> int:
        try:
            return os.write(self._number, data)
        except BrokenPipeError:
            raise ReaderGone from None
        except OSError as error:
            raise OSError(error.errno, error.strerror, OUTPUT) from None


class _Dropping(_Stream):
    def write(self, data: Any, /) -> int:
        try:
            return os.write(self._number, data)
        except OSError:
            return memoryview(data).nbytes
