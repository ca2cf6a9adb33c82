"""What can be wrong with a store or a report."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


class StoreError(Exception):
    """A store cannot be used as asked; its message is one sentence that says what to do."""


class Interrupted(StoreError):
    """The system stood in the way (disk full, read-only, a process died): nothing is lost, and asking again goes on."""


def nearest(name: str, allowed: Sequence[str]) -> str:
    """` (did you mean …?)` where something similar is allowed, else nothing."""
    found = difflib.get_close_matches(name, allowed, n=1, cutoff=0.4)
    return f" (did you mean {found[0]}?)" if found else ""
