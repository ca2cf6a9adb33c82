"""What can be wrong with a store or a report."""

from __future__ import annotations


class StoreError(Exception):
    """A store cannot be read or written as asked; its message is one sentence that says what to do."""
