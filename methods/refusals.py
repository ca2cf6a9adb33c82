"""Draws among the configurations that a run does not refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from nasbench.benchmarks.spaces import Configuration

T = TypeVar("T")

_MOST_DRAWS = 300


@dataclass
class Refusals:
    """What a run refuses to evaluate, because it is known to violate a constraint, and how draws avoid it."""

    refuses: Callable[[Configuration], bool]
    """Whether a configuration is refused."""
    patience: int = _MOST_DRAWS
    """Draws before a refused one is taken. Each time all are in vain it halves, for a constraint that nothing satisfies
    would otherwise cost 300 draws per proposal; a draw that is not refused restores it."""

    def first(self, draw: Callable[[], T], of: Callable[[T], Configuration]) -> T:
        """The first draw that is not refused; the last one if there is none.

        Args:
            of: the configuration of a draw.
        """
        for _ in range(self.patience):
            drawn = draw()
            if not self.refuses(of(drawn)):
                self.patience = _MOST_DRAWS
                return drawn
        self.patience = max(1, self.patience // 2)
        return drawn
