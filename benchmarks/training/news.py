"""Tells in the log, now and then, how far a training is that takes minutes."""

from __future__ import annotations

import logging
from time import monotonic

from nasbench.benchmarks.training import lockstep

_LOG = logging.getLogger("nasbench")

SECONDS = 30.0
"""At least between two messages of a training, and before its first."""


class News:
    """The messages of one training; of several side by side (`lockstep`) the first one speaks."""

    def __init__(self) -> None:
        self._said = monotonic()

    def tell(self, message: str, *facts: object) -> None:
        """Logs a message, with its facts filled in as `logging` does, if the last one is long enough ago."""
        beside = lockstep.member()
        if monotonic() - self._said < SECONDS or (beside is not None and not beside.is_first):
            return
        self._said = monotonic()
        _LOG.info(message, *facts)
