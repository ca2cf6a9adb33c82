"""Shows progress and notices on standard error: a bar on a terminal, elsewhere a line every 30 seconds."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from types import TracebackType

import click

from nasbench.cli.layout import span

_SECONDS_BETWEEN_LINES = 30.0


class Progress:
    """Shows on standard error how much is done, and the time left, while its `with` block runs.

    Args:
        total: how much there is to do.
        what: what is counted, in the plural.
    """

    def __init__(self, total: int, what: str = "runs") -> None:
        self._total, self._what, self._done, self._said = total, what, 0, monotonic()
        self._begun = self._said
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
        """Adds to what is done.

        Args:
            count: how much was done since the last call.
        """
        self._done += count
        if self._bar:
            self._bar.advance(self._task, count)
        elif monotonic() - self._said > _SECONDS_BETWEEN_LINES:
            self._said = monotonic()
            left = (self._said - self._begun) * (self._total - self._done) / self._done
            click.echo(f"{self._done} of {self._total} {self._what}, about {span(left)} left", err=True)


class _Echo(logging.Handler):
    """Prints each log message once, even if a method logs it in every run."""

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
    """Prints on standard error what methods, benchmarks and results log: a converted table, a damaged cache."""
    _LOG.setLevel(logging.INFO)
    _LOG.handlers = [handler for handler in _LOG.handlers if not isinstance(handler, _Echo)] + [_Echo()]


@contextmanager
def notices_about(run: str) -> Iterator[None]:
    """Within this block, messages are printed with the name of a run in front: several may be computed at a time."""
    echoes = [handler for handler in _LOG.handlers if isinstance(handler, _Echo)]
    for echo in echoes:
        echo.about = run
    try:
        yield
    finally:
        for echo in echoes:
            echo.about = "notice"
