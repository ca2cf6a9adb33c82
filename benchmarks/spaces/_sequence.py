"""The sequential view of a space: one choice after the other (tree search)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from nasbench.benchmarks.spaces.base import Configuration


class Walk(Protocol):
    """A partly chosen configuration, immutable; `as_sequence()` returns one without any choice."""

    @property
    def options(self) -> int:
        """Number of values of the next choice; 0 if no choice is left."""

    @property
    def weights(self) -> Sequence[float] | None:
        """How often `Space.sample` takes each option, up to a factor; None if all equally often."""

    @property
    def configuration(self) -> Configuration:
        """The configuration, once no choice is left."""

    def take(self, option: int) -> Walk:
        """This walk with one more choice: the next hyper-parameter takes its value number `option`, from 0."""
