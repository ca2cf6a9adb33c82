"""Measurements in a process of their own: one that fails, hangs or crashes takes nothing with it."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Generator, Sequence
from functools import partial
from multiprocessing.connection import Connection
from time import monotonic

from nasbench.benchmarks import UsageError
from nasbench.benchmarks.training.faults import DeviceLost
from nasbench.cli.engine.pool import end_with_parent
from nasbench.cli.layout import one_line
from nasbench.cli.speed.gpu.tables import Found, Measure, NotMeasured, Row

_CONTEXT = multiprocessing.get_context("spawn")
_LONGEST_REASON = 200  # letters: a compiler says thousands


def measured(rows: Sequence[Row], seconds: float, begin: Callable[[], None]) -> Generator[Found, None, None]:
    """What each row gives, in their order; all of them take at most `seconds`. Closing the iterator ends the process.

    A row may take its share of the time that is left when its turn comes: what it does not need goes to later ones.
    After a failure the next row has a new process: a device that has failed fails every later call of the old one.

    Args:
        begin: what a process does before its first row; it is not part of a row's share.
    """
    end = monotonic() + seconds
    process: _Process | None = None
    try:
        for number, row in enumerate(rows):
            if monotonic() >= end:
                yield NotMeasured(f"the {seconds:g} s of all measurements were over")
                continue
            found: Found = ()
            if process is None:
                process = _Process()
                found = process.give(partial(_begun, begin), end)
            if not isinstance(found, NotMeasured):
                now = monotonic()
                share = (end - now) * row.weight / sum(later.weight for later in rows[number:])
                found = process.give(row.measure, now + share)
            if isinstance(found, NotMeasured) and not process.is_sound:
                process.end()
                process = None
            yield found
    finally:
        if process is not None:
            process.end()


def _begun(begin: Callable[[], None], until: float) -> Sequence[str]:
    """`begin` as something that is measured."""
    begin()
    return ()


class _Process:
    """A process that measures one thing after another."""

    def __init__(self) -> None:
        self.is_sound = True
        """False where something has failed in it, and who knows what."""
        self._pipe, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(theirs,), daemon=False)
        self._process.start()
        theirs.close()  # so that the pipe ends when the process does

    def give(self, measure: Measure, until: float) -> Found:
        """What a measurement gives, or why it gives nothing by a time on the clock of `monotonic`."""
        begun = monotonic()
        try:
            self._pipe.send((measure, until))
            if self._pipe.poll(max(0.0, until - monotonic())):
                found, self.is_sound = self._pipe.recv()
                assert isinstance(found, NotMeasured | tuple)
                return found
        except (EOFError, OSError):
            self._process.join()
            self.is_sound = False
            return NotMeasured(f"its process died, with exit code {self._process.exitcode}")
        self.is_sound = False
        return NotMeasured(f"it took longer than its share of the time, {until - begun:.0f} s")

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()


def _serve(pipe: Connection) -> None:
    """Measures until the pipe ends; answers what was found, and whether the process is sound."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    end_with_parent()
    while True:
        try:
            measure, until = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((tuple(measure(until)), True))
        except UsageError as error:  # images that are not here, say
            pipe.send((NotMeasured(one_line(error, _LONGEST_REASON)), True))
        except (Exception, DeviceLost) as error:
            reason = one_line(f"{type(error).__name__}: {error}", _LONGEST_REASON)
            pipe.send((NotMeasured(reason), False))
