"""What can be wrong with a store or a report."""

from __future__ import annotations


class StoreError(Exception):
    """A store cannot be used as asked; its message is one sentence that says what to do."""


class Interrupted(StoreError):
    """The system stood in the way (disk full, read-only, a process died): nothing is lost, and asking again goes on."""
