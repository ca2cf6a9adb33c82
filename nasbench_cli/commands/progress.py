"""Shows progress and notices on standard error: a bar on a terminal, a line every 30 seconds elsewhere."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

from nasbench.base.layout import span
from nasbench.base.streams import say, visible
from nasbench.cli.engine.events import Notice, UnderWay, listen

if TYPE_CHECKING:
    from rich.console import Group

SECONDS_BETWEEN_LINES = 30.0
SECONDS_BETWEEN_COUNTS = 5.0
SECONDS_BETWEEN_LOOKS = 2.0  # on a terminal
_HOUR = 3600.0


class Progress:
    """Shows on standard error what is done, and the remaining time, while its `with` block runs.

    Without a terminal a line also says that nothing is new, ever more rarely: a method may hang.

    Args:
        total: number of things to do.
        what: the things, in the plural.
        under_way: returns what is under way at this moment; called in a thread. By default nothing is shown of it.
        left: returns the remaining time in words, given the share that is under way; called in both threads. By default
            each thing is expected to take as long as those that are done.
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
        self._news, self._patience = self._said, SECONDS_BETWEEN_LINES
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
            remaining = [progress.TextColumn("· left"), progress.TimeRemainingColumn()]
            columns += remaining if left is None else [progress.TextColumn("· {task.fields[left]}")]
            # Live evaluations take minutes: their speed is averaged over an hour.
            self._bar = progress.Progress(*columns, speed_estimate_period=_HOUR if under_way else 30.0)
            self._task = self._bar.add_task(what, total=total, left=left(0.0) if left else "")
            self._live = live.Live(console=Console(stderr=True), transient=True, get_renderable=self._view)

    def __enter__(self) -> Progress:
        if self._bar:
            self._live.start()
        if self._total and (self._under_way or not self._bar):
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
        """Adds things that were done since the last call."""
        self._done += count
        self._note_news()
        if self._bar:
            self._update()
        elif monotonic() - self._said > SECONDS_BETWEEN_LINES:
            self._say()

    @property
    def _so_far(self) -> float:
        return min(self._done + self._seen.done, self._total)  # finished runs may still be seen as under way

    def look(self) -> None:
        """Shows what is under way now: below the bar, or as lines if it has changed since the last ones."""
        assert self._under_way
        before, self._seen = self._seen, self._under_way()
        if self._bar:
            self._update()
        elif self._seen != before:
            self._note_news()
            self._say()

    def _look_again(self) -> None:
        while not self._over.wait(SECONDS_BETWEEN_LOOKS if self._bar else SECONDS_BETWEEN_LINES):
            if self._under_way:
                self.look()
            idle = monotonic() - self._news
            if idle > self._patience and not self._bar:
                self._patience = 2 * idle
                self._say(f"; nothing new for {span(idle)}")

    def _note_news(self) -> None:
        self._news, self._patience = monotonic(), SECONDS_BETWEEN_LINES

    def _update(self) -> None:
        assert self._bar
        self._bar.update(self._task, completed=self._so_far)
        if self._left and monotonic() - self._said > SECONDS_BETWEEN_LOOKS:
            self._bar.update(self._task, left=self._left(self._seen.done))
            self._said = monotonic()

    def _say(self, more: str = "") -> None:
        self._said = monotonic()
        done = f"{self._done:,} of {self._total:,} {self._what}"
        if self._left:
            done += f", {self._left(self._seen.done)}"
        elif self._done:
            done += f", about {span((self._said - self._begun) * (self._total - self._done) / self._done)} left"
        say("\n".join([f"{done}{more}", *self._seen.lines]), err=True)

    def _view(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        assert self._bar
        return Group(self._bar, *(Text(visible(line)) for line in self._seen.lines))


def show_notices() -> None:
    """Prints each notice once on standard error, even if a method logs it in every run: a damaged cache, a warning.

    One that is counted comes again, with its number, where many of them take long.
    """
    came: Counter[str] = Counter()
    said: dict[str, float] = {}

    def show(notice: Notice) -> None:
        line = f"{notice.about}: {notice.text}"
        came[line] += 1
        if came[line] == 1:
            say(line, err=True)
        elif notice.is_counted and monotonic() - said[line] > SECONDS_BETWEEN_COUNTS:
            say(f"{line}: {came[line]} so far", err=True)
        else:
            return
        said[line] = monotonic()

    listen(show)
