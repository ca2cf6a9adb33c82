"""Guards around third-party code: it cannot hang, end or garble a command, and its errors say how and where."""

from __future__ import annotations

import logging
import mmap
import os
import re
import signal
import sys
import sysconfig
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from inspect import isabstract
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TextIO, cast

from nasbench.base._held import restored
from nasbench.base.errors import UsageError

_SECONDS = 60.0  # for one import; importing PyTorch takes 10 s on a slow machine
_OURS = (Path(__file__).parents[1] / "cli" / "engine").resolve()  # in a checkout behind a link, in a wheel the folder
_BASE = Path(__file__).parent.resolve()
_STANDARD = Path(sysconfig.get_paths()["stdlib"])
_LOG = logging.getLogger("nasbench")
_CODES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor positions, modes
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # titles, links and other texts for the terminal
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"  # other control characters; line ends and tabs stay
)


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class Broken(Exception):
    """Foreign code that failed; the message says how and where."""


@contextmanager
def foreign() -> Iterator[None]:
    """Runs third-party code: its output is `cleaned`, and its errors, exits and time-outs are raised as Broken.

    What holds for the whole process is afterwards what it was before (`guarded`).

    A UsageError, which is written for the user, and the user's Ctrl-C pass. Only the main thread can be interrupted,
    and only while it executes Python.
    """
    try:
        with _limited(), guarded():
            yield
    except UsageError:
        raise
    except BaseException as error:
        pass_on(error)
        trace(error)
        raise Broken(" ".join(placed(error).split())) from error


@contextmanager
def errors_named(what: str, *passing: type[BaseException]) -> Iterator[None]:
    """Raises an error, or an exit, of third-party code as a UsageError that begins with `what`.

    A UsageError, which is written for the user, and errors of the `passing` types pass.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        if isinstance(error, (UsageError, *passing)):
            raise
        raise UsageError(f"{what}: {placed(error)}") from error


@contextmanager
def cleaned() -> Iterator[None]:
    """Sends all output of this block to standard error, without control codes for the terminal; that of programs which
    it starts, too, as it is."""
    stream = cast(TextIO, _Cleaned(sys.stderr)) if sys.stderr else None  # None: it is closed, nothing is printed
    with redirect_stdout(stream), redirect_stderr(stream), _descriptor_redirected():
        yield


@contextmanager
def _descriptor_redirected() -> Iterator[None]:
    """Makes descriptor 1, which processes inherit, a second one of standard error."""
    try:
        kept = os.dup(1)
    except OSError:  # it is closed
        yield
        return
    try:
        with suppress(OSError):
            os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


class _Cleaned:
    """A text stream without the codes that `plain` removes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.rich_proxied_file = getattr(stream, "rich_proxied_file", stream)
        """The stream for our progress bars, which need their codes (`rich.console.Console.file`)."""

    def write(self, text: str) -> int:
        self._stream.write(plain(text))
        return len(text)

    def isatty(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def plain(text: str) -> str:
    """A text without the codes that move a terminal's cursor, set colours or name the window."""
    return _CODES.sub("", text)


def stable(text: str) -> str:
    """A plain text without addresses, as in `<Node object at 0x7f…>`: equal errors have equal texts."""
    return plain(_ADDRESS.sub("", text))


def described(error: BaseException) -> str:
    """The type and text of an error, `stable`, even if its own `__str__` raises; of a group also those of the first."""
    try:
        text = str(error.msg) if isinstance(error, SyntaxError) else str(error)
        if isinstance(error, BaseExceptionGroup):
            text += f", {type(error.exceptions[0]).__name__}: {error.exceptions[0]}"
    except BaseException as other:
        pass_on(other)
        text = "its text cannot be had"
    return stable(f"{type(error).__name__}: {text}")


def placed(error: BaseException) -> str:
    """The type, text and place of an error."""
    place = where(error)
    return f"{described(error)} ({place})" if place else described(error)


_interrupts: list[int] = []  # signals that have arrived within `interrupts_noted`


def _note(number: int, frame: FrameType | None) -> None:
    _interrupts.append(number)
    signal.default_int_handler(number, frame)


@contextmanager
def interrupts_noted() -> Iterator[None]:
    """Lets `pass_on` distinguish Ctrl-C from a KeyboardInterrupt that code in this block raises."""
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


def pass_on(error: BaseException) -> None:
    """Raises KeyboardInterrupt if an error comes of the user's Ctrl-C.

    Within `interrupts_noted` every error does that follows the signal: code that is interrupted may raise another one
    in its place. Outside, any KeyboardInterrupt counts as the user's; where signals are ignored, as in worker
    processes, none does.
    """
    pass_on_noted(error)
    handler = signal.getsignal(signal.SIGINT)
    if isinstance(error, KeyboardInterrupt) and handler not in (_note, signal.SIG_IGN):
        raise error


def pass_on_noted(error: BaseException | None = None) -> None:
    """Raises KeyboardInterrupt if the user's Ctrl-C has arrived within `interrupts_noted`.

    Without an error, it was lost: code that Python calls where it cannot raise, such as a weak reference's, ends then,
    and everything else goes on.
    """
    if _interrupts and signal.getsignal(signal.SIGINT) is _note:
        raise error if isinstance(error, KeyboardInterrupt) else KeyboardInterrupt() from error


def trace(error: BaseException) -> None:
    """Logs the traceback of an error, plain, for `nasbench --debug`."""
    if _LOG.isEnabledFor(logging.DEBUG):
        _LOG.debug("%s", plain("".join(traceback.format_exception(error))).rstrip())


def component(module: str) -> str:
    """The name of the package, or of the single module, that a module is a part of.

    It is the topmost one; in nasbench that of a single method or benchmark, such as `nasbench.methods.tpe`.
    """
    return ".".join(module.split(".")[: 3 if is_ours(module) else 1])


def is_ours(module: str) -> bool:
    """Whether a module is one of nasbench."""
    return module.partition(".")[0] == "nasbench"


def where(error: BaseException, item: type | None = None) -> str:
    """The file and line of an error: the innermost one outside libraries; empty if no code failed.

    Only the names of files are given, so that records do not depend on their folders.

    Args:
        item: the class that was called; the innermost line of its own file or package is given, or else of a class that
            it extends, and nothing where none has a part in it: nobody looks for a mistake in the code of others.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).name}:{error.lineno}"
    frames = list(traceback.walk_tb(error.__traceback__))
    if item is not None:
        return _innermost(frames, item)[0]
    if isinstance(error, UsageError):
        return ""
    steps = [(Path(frame.f_code.co_filename), line) for frame, line in frames]
    steps = [(path, line) for path, line in steps if not {_OURS, _BASE} & {*path.resolve().parents}]
    steps = [(path, line) for path, line in steps if not str(path).startswith("<") and "importlib" not in path.parts]
    outside = [step for step in steps if _STANDARD not in step[0].parents and "site-packages" not in step[0].parts]
    for path, line in reversed(outside or steps):
        return f"{path.name}:{line}"
    return ""


def at_work(at: BaseException | FrameType | None, item: type) -> str:
    """The innermost line of an item's own code at an error or in a frame, and its function: `bob.py:14 (tell)`.

    Empty where none of its code runs. Its own code is what `where` takes for it.
    """
    stack = reversed([*traceback.walk_stack(at)]) if isinstance(at, FrameType) else ()
    frames = traceback.walk_tb(at.__traceback__) if isinstance(at, BaseException) else stack
    place, function = _innermost([*frames], item)
    return f"{place} ({function})" if place else ""


def is_at_fault(item: type, error: BaseException, other: type) -> bool:
    """Whether an error comes of an item's own code rather than of another's: whose line is the inner one."""
    own, others = component(item.__module__), component(other.__module__)
    names = [component(str(frame.f_globals.get("__name__"))) for frame, _ in traceback.walk_tb(error.__traceback__)]
    return own != others and next((name for name in reversed(names) if name in (own, others)), "") == own


def _innermost(frames: Sequence[tuple[FrameType, int]], item: type) -> tuple[str, str]:
    """The file and line of the last of some frames in an item's own code, and the name of its function."""
    for own in (component(base.__module__) for base in item.__mro__ if not isabstract(base)):
        for frame, line in reversed(frames):
            if component(str(frame.f_globals.get("__name__"))) == own:
                return f"{Path(frame.f_code.co_filename).name}:{line}", frame.f_code.co_name
    return "", ""


@contextmanager
def _limited() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    if signal.getitimer(signal.ITIMER_REAL)[0]:  # inside another such block, whose time runs on
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


@contextmanager
def guarded() -> Iterator[None]:
    """Runs code that may be a third party's: its output is `cleaned`, it ends no process, and what holds for the whole
    process is afterwards what it was before. Errors pass."""
    with cleaned(), ends_nothing(), restored():
        yield


end_process = os._exit
"""Ends this process at once, also inside `ends_nothing`."""


@contextmanager
def ends_nothing() -> Iterator[None]:
    """Makes `os._exit` raise SystemExit: the command would otherwise end without a word, and perhaps with exit code 0.

    In every thread; processes that the code forks end as ever, at the latest where they come out of this block.
    """
    before, process = os._exit, os.getpid()
    guard = (process, mmap.mmap(-1, 1))
    _guards.append(guard)

    def refuse(status: int) -> NoReturn:
        if os.getpid() != process:
            end_process(status)
        raise SystemExit(f"os._exit({status})")

    os._exit = refuse
    try:
        yield
    finally:
        os._exit = before
        if os.getpid() != process:
            end_process(1)
        _guards.remove(guard)


_guards: list[tuple[int, mmap.mmap]] = []
"""For each `ends_nothing` its process, and a byte in shared memory, which a copy sets that has gone on."""


def end_copies() -> None:
    """Ends this process if third-party code has made it as a copy (os.fork) and let it go on, as often as it forks.

    Raises RuntimeError in the process that was copied, once a copy has come here.
    """
    if not _guards:
        return
    process, shared = _guards[-1]
    if os.getpid() != process:
        shared[0] = 1
        end_process(1)
    if shared[0]:
        shared[0] = 0
        raise RuntimeError("a copy of this process (os.fork) went on as if it were this one, and was ended")
