"""Code that others wrote: nothing in it can hang, end or garble a command; when it fails, it is said how and where."""

from __future__ import annotations

import signal
import sys
import sysconfig
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import FrameType

from nasbench.benchmarks.spaces.errors import UsageError

_SECONDS = 60.0  # for one import; PyTorch's takes ten on a slow machine
_OURS = Path(__file__).resolve().parents[2] / "nasbench_cli" / "engine"
_STANDARD = Path(sysconfig.get_paths()["stdlib"])


class Broken(Exception):
    """Foreign code that failed; the message says how and where."""


@contextmanager
def foreign() -> Iterator[None]:
    """What it prints goes to standard error, and whatever it raises, or does for too long, is raised as Broken.

    A UsageError is a sentence for the user, and Ctrl-C is the user's: both pass. Only the main thread can be
    interrupted, and only while it executes Python.
    """
    try:
        with redirect_stdout(sys.stderr), _limited():
            yield
    except (UsageError, KeyboardInterrupt):
        raise
    except BaseException as error:
        place = where(error)
        raise Broken(" ".join(f"{described(error)}{f' ({place})' if place else ''}".split())) from error


def described(error: BaseException) -> str:
    """An error's type and text; some have texts that raise errors themselves."""
    try:
        text = str(error.msg) if isinstance(error, SyntaxError) else str(error)
    except BaseException as other:
        if isinstance(other, KeyboardInterrupt):
            raise
        text = "its text cannot be had"
    return f"{type(error).__name__}: {text}"


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
    own = [step for step in steps if _STANDARD not in step[0].parents and "site-packages" not in step[0].parts]
    for path, line in reversed(own or steps):
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
