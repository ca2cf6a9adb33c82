"""Tells in the log, now and then, how far a training is that takes minutes."""

from __future__ import annotations

import logging
from time import monotonic

_LOG = logging.getLogger("nasbench")

SECONDS = 30.0
"""At least between two messages of a training, and before its first."""


class News:
    """The messages of one training."""

    def __init__(self) -> None:
        self._said = monotonic()

    def tell(self, message: str, *facts: object) -> None:
        """Logs a message, with its facts filled in as `logging` does, if the last one is long enough ago."""
        if monotonic() - self._said < SECONDS:
            return
        self._said = monotonic()
        _LOG.info(message, *facts)
