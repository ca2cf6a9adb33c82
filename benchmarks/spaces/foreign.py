"""Code that others wrote: nothing in it can hang, end or garble a command; when it fails, it is said how and where."""

from __future__ import annotations

import re
import signal
import sys
import sysconfig
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any, TextIO, cast

from nasbench.benchmarks.spaces.errors import UsageError

_SECONDS = 60.0  # for one import; PyTorch's takes ten on a slow machine
_OURS = Path(__file__).resolve().parents[2] / "nasbench_cli" / "engine"
_STANDARD = Path(sysconfig.get_paths()["stdlib"])
_CODES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, places, modes
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # titles, links and other texts for the terminal
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"  # whatever else is no letter; line ends and tabs stay
)


class Broken(Exception):
    """Foreign code that failed; the message says how and where."""


@contextmanager
def foreign() -> Iterator[None]:
    """What it prints is `cleaned`, and whatever it raises, or does for too long, is raised as Broken.

    A UsageError is a sentence for the user, and Ctrl-C is the user's: both pass. Only the main thread can be
    interrupted, and only while it executes Python.
    """
    try:
        with cleaned(), _limited():
            yield
    except UsageError:
        raise
    except BaseException as error:
        if is_users(error):
            raise
        place = where(error)
        raise Broken(" ".join(f"{described(error)}{f' ({place})' if place else ''}".split())) from error


@contextmanager
def cleaned() -> Iterator[None]:
    """What code in this block prints goes to standard error, without codes that a terminal would obey."""
    stream = cast(TextIO, _Cleaned(sys.stderr)) if sys.stderr else None  # None: it was closed, and nothing is printed
    with redirect_stdout(stream), redirect_stderr(stream):
        yield


class _Cleaned:
    """A text stream that leaves out what `plain` does."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.rich_proxied_file = getattr(stream, "rich_proxied_file", stream)
        """Where a progress bar of ours, which needs its codes, writes (`rich.console.Console.file`)."""

    def write(self, text: str) -> int:
        self._stream.write(plain(text))
        return len(text)

    def isatty(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def plain(text: str) -> str:
    """A text without the codes that move a terminal's cursor, colour it or name its window."""
    return _CODES.sub("", text)


def described(error: BaseException) -> str:
    """An error's type and text, plain; some have texts that raise errors themselves."""
    try:
        text = str(error.msg) if isinstance(error, SyntaxError) else str(error)
    except BaseException as other:
        if is_users(other):
            raise
        text = "its text cannot be had"
    return plain(f"{type(error).__name__}: {text}")


_interrupts: list[int] = []  # signals that have arrived since somebody looks


def _note(number: int, frame: FrameType | None) -> None:
    _interrupts.append(number)
    signal.default_int_handler(number, frame)


@contextmanager
def interrupts_noted() -> Iterator[None]:
    """Within this block, `is_users` tells Ctrl-C from a KeyboardInterrupt that somebody raises."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    _interrupts.clear()
    signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_users(error: BaseException) -> bool:
    """Whether an exception of foreign code is the user's wish to stop: a KeyboardInterrupt, and a signal came.

    Where nobody looks for signals it is taken for one; where they are ignored, as in processes of ours, it is none.
    """
    if not isinstance(error, KeyboardInterrupt):
        return False
    handler = signal.getsignal(signal.SIGINT)
    return bool(_interrupts) if handler is _note else handler is not signal.SIG_IGN


def where(error: BaseException) -> str:
    """The file and line at which an error arose: the innermost that is no library's; empty where nobody's code failed.

    Files go by their names alone, so that what is recorded does not depend on where they lie.
    """
    if isinstance(error, UsageError):
        return ""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).name}:{error.lineno}"
    steps = [(Path(f.f_code.co_filename), line) for f, line in traceback.walk_tb(error.__traceback__)]
    steps = [(path, line) for path, line in steps if _OURS not in path.resolve().parents and path != Path(__file__)]
    steps = [(path, line) for path, line in steps if not str(path).startswith("<")]
    outside = [step for step in steps if _STANDARD not in step[0].parents and "site-packages" not in step[0].parts]
    for path, line in reversed(outside or steps):
        return f"{path.name}:{line}"
    return ""


@contextmanager
def _limited() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"not done after {_SECONDS:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
