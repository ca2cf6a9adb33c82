"""Progress messages of long trainings in the log."""

from __future__ import annotations

import logging
from time import monotonic

_LOG = logging.getLogger("nasbench")

SECONDS = 30.0
"""Shortest time before the first message of a training, and between messages."""


class News:
    """The progress messages of one training."""

    def __init__(self) -> None:
        self._said = monotonic()

    def tell(self, message: str, *facts: object) -> None:
        """Logs a message with its facts (see `logging`), unless the last message is too recent."""
        if monotonic() - self._said < SECONDS:
            return
        self._said = monotonic()
        _LOG.info(message, *facts)
