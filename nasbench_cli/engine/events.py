"""Events that the engine reports while it works: notices and progress. It prints nothing; commands do.

A notice is what a method, a benchmark or the store logs, with the run that it is about. A command listens and shows
notices; a process that computes for another one sends them there.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

_LOG = logging.getLogger("nasbench")
DEBUG = "NASBENCH_DEBUG"
"""The variable that --debug sets, for the processes that the command begins: tracebacks are notices then."""
_EVALUATION: ContextVar[str] = ContextVar("evaluation", default="")
_run = ["notice"]  # the run of this process, which computes one after another; evaluations are threads


class Notice(NamedTuple):
    """A message for the user."""

    level: int
    """How important it is, as a level of `logging`."""
    about: str
    """The run that it is about, and perhaps the evaluation; `notice` if it is about none."""
    text: str
    is_counted: bool = False
    """Whether it may come many times at once, and how often it came is said instead."""


class UnderWay(NamedTuple):
    """How far runs are that have begun and not finished."""

    done: float
    """Sum of the shares that are done: half of one run and half of another are 1."""
    lines: list[str]
    """One line about each run."""


class _Listener(logging.Handler):
    """Hands each log message to a function as a notice."""

    def __init__(self, tell: Callable[[Notice], object]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        about = getattr(record, "about", f"{_run[0]}{_EVALUATION.get()}")
        self._tell(Notice(record.levelno, about, record.getMessage(), getattr(record, "is_counted", False)))


def listen(tell: Callable[[Notice], object]) -> None:
    """From now on `tell` is called with every notice, in place of the function that was given before."""
    _LOG.setLevel(_least(logging.INFO))
    _LOG.handlers = [handler for handler in _LOG.handlers if not isinstance(handler, _Listener)] + [_Listener(tell)]


def _least(usual: int) -> int:
    """The least important level of notices that are told."""
    return logging.DEBUG if DEBUG in os.environ else usual


@contextmanager
def collected() -> Iterator[list[Notice]]:
    """Within this block, warnings are also collected in the list that it gives."""
    notices: list[Notice] = []
    listener = _Listener(notices.append)
    listener.setLevel(_least(logging.WARNING))
    _LOG.addHandler(listener)
    if DEBUG in os.environ:
        _LOG.setLevel(logging.DEBUG)
    try:
        yield notices
    finally:
        _LOG.removeHandler(listener)


def publish(notice: Notice) -> None:
    """Passes on a notice, for example one of another process."""
    _LOG.log(notice.level, "%s", notice.text, extra={"about": notice.about, "is_counted": notice.is_counted})


@contextmanager
def notices_about(run: str) -> Iterator[None]:
    """Within this block, notices are about this run: several processes may be computing at the same time."""
    _run[0] = run
    try:
        yield
    finally:
        _run[0] = "notice"


@contextmanager
def notices_about_evaluation(number: int) -> Iterator[None]:
    """Within this block, notices of this thread name an evaluation (from 1): a run may have several at once."""
    token = _EVALUATION.set(f", evaluation {number}")
    try:
        yield
    finally:
        _EVALUATION.reset(token)
