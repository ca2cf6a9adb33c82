"""How far the work has come: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from types import TracebackType

import click

_SECONDS_BETWEEN_LINES = 30.0


class Progress:
    """Shows what is done, and the time left, on standard error while its block is running."""

    def __init__(self, total: int, what: str = "runs") -> None:
        self._total, self._what, self._done, self._said = total, what, 0, monotonic()
        self._bar = None
        if total and sys.stderr.isatty():
            from rich import progress
            from rich.console import Console

            columns = [
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TextColumn(what),
                progress.TimeElapsedColumn(),
                progress.TextColumn("· left"),
                progress.TimeRemainingColumn(),
            ]
            self._bar = progress.Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(what, total=total)

    def __enter__(self) -> Progress:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def advance(self, count: int) -> None:
        """Counts what has been done since."""
        self._done += count
        if self._bar:
            self._bar.advance(self._task, count)
        elif monotonic() - self._said > _SECONDS_BETWEEN_LINES:
            self._said = monotonic()
            click.echo(f"{self._done} of {self._total} {self._what}", err=True)


class _Echo(logging.Handler):
    """Prints each message once: a method that says it in every run is heard the first time."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()
        self.about = "notice"

    def emit(self, record: logging.LogRecord) -> None:
        message = f"{self.about}: {record.getMessage()}"
        if message not in self._said:
            self._said.add(message)
            click.echo(message, err=True)


_LOG = logging.getLogger("nasbench")


def echo_notices() -> None:
    """Prints what the rooms below log (a table converted, a damaged cache) on standard error."""
    _LOG.setLevel(logging.INFO)
    _LOG.handlers = [handler for handler in _LOG.handlers if not isinstance(handler, _Echo)] + [_Echo()]


@contextmanager
def notices_about(run: str) -> Iterator[None]:
    """What is logged inside is said to be about a run, for several may be computed at a time."""
    echoes = [handler for handler in _LOG.handlers if isinstance(handler, _Echo)]
    for echo in echoes:
        echo.about = run
    try:
        yield
    finally:
        for echo in echoes:
            echo.about = "notice"
