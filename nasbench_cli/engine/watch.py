"""What a computing process is doing, for the one that waits for it: so that what hangs can be stopped."""

from __future__ import annotations

from collections.abc import Iterator, MutableSequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from time import monotonic

from nasbench.benchmarks import UsageError

_WORKERS = 256  # told apart; more share a place
SLOTS = 2 * (1 + _WORKERS)
"""Numbers that a watch needs: of the method and of each worker the ask (from 1; 0: nothing under way) and its start."""


@dataclass(frozen=True)
class Limits:
    """The longest that a single call of a method, or an evaluation, may take; None for no limit."""

    ask_seconds: float | None = None
    evaluation_seconds: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not 0 < value < float("inf"):
                raise UsageError(f"{name.replace('_', '-')} must be positive and finite, not {value:g}")

    def __bool__(self) -> bool:
        return self.ask_seconds is not None or self.evaluation_seconds is not None

    def exceeded(self, facts: MutableSequence[float]) -> str:
        """Which limit a process exceeds, in words; empty if none."""
        now = monotonic()
        for place in range(0, len(facts), 2):
            what, option, limit = (
                ("evaluation", "--evaluation-seconds", self.evaluation_seconds)
                if place
                else ("ask", "--ask-seconds", self.ask_seconds)
            )
            ask, began = facts[place], facts[place + 1]
            if limit is not None and ask and now - began > limit:
                return f"timeout: {what} {ask:.0f} took longer than {limit:g} s ({option})"
        return ""


NO_LIMITS = Limits()

_watched: list[MutableSequence[float]] = []  # none, or one


def watch(facts: MutableSequence[float]) -> None:
    """From now on writes what this process does into `facts` (`SLOTS` numbers, in shared memory)."""
    _watched[:] = [facts]


def asking(ask: int) -> AbstractContextManager[None]:
    """The method is at its ask with this number, from 0: it is built, asked, or told."""
    return _doing(0, ask) if _watched else _NOTHING


def evaluating(ask: int, worker: int) -> AbstractContextManager[None]:
    """A worker evaluates the configuration of this ask."""
    return _doing(2 * (1 + worker % _WORKERS), ask) if _watched else _NOTHING


_NOTHING = nullcontext()


@contextmanager
def _doing(place: int, ask: int) -> Iterator[None]:
    (facts,) = _watched
    facts[place + 1] = monotonic()  # before the number, without which it is not read
    facts[place] = ask + 1
    try:
        yield
    finally:
        facts[place] = 0
