"""The sequential view of a space: one choice after the other (tree search)."""

from __future__ import annotations

from typing import Protocol

from nasbench.benchmarks.spaces.base import Configuration


class Walk(Protocol):
    """A space, partly decided: what `Space.as_sequence()` begins with. Immutable."""

    @property
    def options(self) -> int:
        """How many values the next choice has; 0 where all is decided."""

    @property
    def configuration(self) -> Configuration:
        """Where all is decided: the configuration."""

    def take(self, option: int) -> Walk:
        """One choice further: the next hyper-parameter takes its value number `option`."""
