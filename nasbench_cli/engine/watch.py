"""Records what a process is computing, in shared memory, so that its parent can stop it when it hangs."""

from __future__ import annotations

import math
from collections.abc import Iterator, MutableSequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from time import monotonic

from nasbench.benchmarks import UsageError

_WORKERS = 256  # workers with a slot of their own; more workers share them
SLOTS = 2 * (1 + _WORKERS)
"""Length of a record: for the method and for each worker the number of the ask (0: idle) and its start in seconds."""


@dataclass(frozen=True)
class Limits:
    """The longest time in seconds that one call of a method, or one evaluation, may take; infinite for no limit."""

    ask_seconds: float = math.inf
    evaluation_seconds: float = math.inf

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise UsageError(f"{name} must be positive, not {value:g}")

    @property
    def shortest(self) -> float:
        """The shorter of the two limits."""
        return min(self.ask_seconds, self.evaluation_seconds)

    def exceeded(self, facts: MutableSequence[float]) -> str:
        """The limit that a process exceeds, in words; empty if it exceeds none."""
        now = monotonic()
        for place in range(0, len(facts), 2):
            what, option, limit = (
                ("evaluation", "evaluation_seconds", self.evaluation_seconds)
                if place
                else ("ask", "ask_seconds", self.ask_seconds)
            )
            ask, began = facts[place], facts[place + 1]
            if ask and now - began > limit:
                return f"timeout: {what} {ask:.0f} took longer than {limit:g} s ({option})"
        return ""


NO_LIMITS = Limits()

_watched: list[MutableSequence[float]] = []  # the record of this process, if its parent asked for one


def watch(facts: MutableSequence[float]) -> None:
    """From now on records in `facts` (`SLOTS` numbers in shared memory) what this process does."""
    _watched[:] = [facts]


def asking(ask: int) -> AbstractContextManager[None]:
    """Records, within a block, that the method is busy with this ask (from 0): it is built, asked, or told."""
    return _doing(0, ask) if _watched else _NOTHING


def evaluating(ask: int, worker: int) -> AbstractContextManager[None]:
    """Records, within a block, that a worker evaluates the configuration of this ask (from 0)."""
    return _doing(2 * (1 + worker % _WORKERS), ask) if _watched else _NOTHING


_NOTHING = nullcontext()


@contextmanager
def _doing(place: int, ask: int) -> Iterator[None]:
    (facts,) = _watched
    facts[place + 1] = monotonic()  # written before the number, without which it is not read
    facts[place] = ask + 1
    try:
        yield
    finally:
        facts[place] = 0
