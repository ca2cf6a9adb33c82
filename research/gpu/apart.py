"""Measurements in a process of their own: one that fails, hangs or dies takes nothing with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import NamedTuple

from nasbench.base.faults import DeviceLost
from nasbench.base.layout import one_line
from nasbench.benchmarks import UsageError
from nasbench.cli.engine.pool import end_with_parent

CONTEXT = multiprocessing.get_context("spawn")
_LONGEST_REASON = 300  # letters: an allocator says many


class Result(NamedTuple):
    """What a row's measurement gives."""

    value: str
    """The number with its unit; empty where it was not measured."""
    note: str
    """How it was measured, or why it was not."""


def measured(measure: Callable[[float], Result], seconds: float) -> Result:
    """The result of a measurement in a new process, which is ended after some seconds; or why there is none."""
    ours, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_measure, args=(measure, seconds, theirs))
    process.start()
    theirs.close()  # so that the pipe ends when the process does
    try:
        if not ours.poll(seconds):
            return _missing(f"it took longer than its share of the time, {seconds:.0f} s")
        result: Result = ours.recv()
        return result
    except EOFError:
        process.join()
        return _missing(f"its process died (exit code {process.exitcode})")
    finally:
        process.kill()
        with suppress(ProcessLookupError):
            os.killpg(process.pid or 0, signal.SIGKILL)  # the processes that it has begun
        process.join()


def _measure(measure: Callable[[float], Result], seconds: float, pipe: Connection) -> None:
    os.setpgid(0, 0)  # Ctrl-C is the parent's
    end_with_parent(lambda: os.killpg(0, signal.SIGKILL))  # and the processes that it has begun
    try:
        pipe.send(measure(seconds))
    except UsageError as error:
        pipe.send(_missing(str(error)))
    except (Exception, DeviceLost) as error:
        pipe.send(_missing(f"{type(error).__name__}: {error}"))


def _missing(reason: str) -> Result:
    return Result("", f"not measured: {one_line(reason, _LONGEST_REASON)}")
