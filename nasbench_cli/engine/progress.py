"""Shows progress and notices on standard error: a bar on a terminal, elsewhere lines every 30 seconds."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

import click

from nasbench.cli.layout import span

if TYPE_CHECKING:
    from rich.console import Group

_SECONDS_BETWEEN_LINES = 30.0
_SECONDS_BETWEEN_LOOKS = 2.0  # where a terminal shows what is under way
_HOUR = 3600.0


class UnderWay(NamedTuple):
    """What has begun and is not done."""

    done: float
    """How much of it is: half of one run and half of another are 1."""
    lines: list[str]
    """What there is to say of it."""


class Progress:
    """Shows on standard error how much is done, and the time left, while its `with` block runs.

    Args:
        total: how much there is to do.
        what: what is counted, in the plural.
        under_way: tells of what is under way at this moment; called in a thread. By default nothing is said of it.
        left: says how long the rest takes, given how much is under way; called in both threads. By default it takes as
            long for each as what is done has taken.
    """

    def __init__(
        self,
        total: int,
        what: str = "runs",
        under_way: Callable[[], UnderWay] | None = None,
        left: Callable[[float], str] | None = None,
    ) -> None:
        self._total, self._what, self._done, self._said = total, what, 0, monotonic()
        self._begun = self._said
        self._under_way, self._seen, self._left = under_way, UnderWay(0.0, []), left
        self._over, self._thread = threading.Event(), threading.Thread(target=self._look_again, daemon=True)
        self._bar = None
        if total and sys.stderr.isatty():
            from rich import live, progress
            from rich.console import Console

            columns = [
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TextColumn(what),
                progress.TimeElapsedColumn(),
            ]
            own = [progress.TextColumn("· left"), progress.TimeRemainingColumn()]
            columns += own if left is None else [progress.TextColumn("· {task.fields[left]}")]
            # Evaluations of live runs take minutes: a speed is what was done in an hour.
            self._bar = progress.Progress(*columns, speed_estimate_period=_HOUR if under_way else 30.0)
            self._task = self._bar.add_task(what, total=total, left=left(0.0) if left else "")
            self._live = live.Live(console=Console(stderr=True), transient=True, get_renderable=self._view)

    def __enter__(self) -> Progress:
        if self._bar:
            self._live.start()
        if self._total and self._under_way:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._bar:
            self._live.stop()

    def advance(self, count: int) -> None:
        """Adds to what is done.

        Args:
            count: how much was done since the last call.
        """
        self._done += count
        if self._bar:
            self._update()
        elif monotonic() - self._said > _SECONDS_BETWEEN_LINES:
            self._say()

    @property
    def _so_far(self) -> float:
        return min(self._done + self._seen.done, self._total)  # what is done may still be seen as under way

    def look(self) -> None:
        """Shows what is under way now: below the bar, or as lines where it is not what was said last."""
        assert self._under_way
        before, self._seen = self._seen, self._under_way()
        if self._bar:
            self._update()
        elif self._seen != before:
            self._say()

    def _look_again(self) -> None:
        while not self._over.wait(_SECONDS_BETWEEN_LOOKS if self._bar else _SECONDS_BETWEEN_LINES):
            self.look()

    def _update(self) -> None:
        assert self._bar
        self._bar.update(self._task, completed=self._so_far)
        if self._left and monotonic() - self._said > _SECONDS_BETWEEN_LOOKS:
            self._bar.update(self._task, left=self._left(self._seen.done))
            self._said = monotonic()

    def _say(self) -> None:
        self._said = monotonic()
        done = f"{self._done} of {self._total} {self._what}"
        if self._left:
            done += f", {self._left(self._seen.done)}"
        elif self._done:
            done += f", about {span((self._said - self._begun) * (self._total - self._done) / self._done)} left"
        click.echo("\n".join([done, *self._seen.lines]), err=True)

    def _view(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        assert self._bar
        return Group(self._bar, *(Text(line) for line in self._seen.lines))


class _Echo(logging.Handler):
    """Prints each log message once, even if a method logs it in every run."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()
        self.about = "notice"

    def emit(self, record: logging.LogRecord) -> None:
        message = f"{self.about}{_PART.get()}: {record.getMessage()}"
        if message not in self._said:
            self._said.add(message)
            click.echo(message, err=True)


_LOG = logging.getLogger("nasbench")
_PART: ContextVar[str] = ContextVar("part of a run", default="")


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


@contextmanager
def notices_about_evaluation(number: int) -> Iterator[None]:
    """Within this block, messages of this thread name an evaluation, too (from 1): a run may have several at a time."""
    token = _PART.set(f", evaluation {number}")
    try:
        yield
    finally:
        _PART.reset(token)
