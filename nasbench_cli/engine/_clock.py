"""The clock of a run."""

from __future__ import annotations

from nasbench.cli.engine.workers import Workers


class Clock:
    """The clock of a run: that of its workers, and what the method is charged for."""

    def __init__(self, workers: Workers, charges_thinking: bool) -> None:
        self._workers, self._charges_thinking = workers, charges_thinking
        self._owed = self._charged = 0.0

    def now(self) -> float:
        """Seconds on the clock; at least the end of what the method was charged for last."""
        now = self._workers.now()
        return now if now >= self._charged else self._charged

    def owe(self, seconds: float) -> None:
        """Puts seconds on the clock with the next call of the method."""
        self._owed += seconds

    def charge(self, thinking: float) -> None:
        """Charges what is owed after a call of the method, and the call's seconds where thinking is charged."""
        if self._charges_thinking or self._owed:
            self._charged = self.now() + self._owed + (thinking if self._charges_thinking else 0.0)
            self._owed = 0.0
