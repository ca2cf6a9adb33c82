"""Errors of stores and reports, and suggestions for misspelt names."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence


class StoreError(Exception):
    """An error of the user's request to a store; its message is one sentence that says what to do."""


class Interrupted(StoreError):
    """An error of the system (disk full, read-only, a process died); nothing is lost, the same command continues."""


def nearest(name: str, allowed: Sequence[str]) -> str:
    """` (did you mean …?)` with the most similar allowed name, or an empty text."""
    matches = difflib.get_close_matches(name, allowed, n=1, cutoff=0.4)
    return f" (did you mean {matches[0]}?)" if matches else ""


def not_utf8(what: str) -> str:
    """Why a path that is no UTF-8 text to Python is none, and what helps: it is not, or the locale hides that it is."""
    encoding = sys.getfilesystemencoding()
    if encoding == "utf-8":
        return f"{what} is not UTF-8 text: rename it"
    return f"this locale reads {what} as {encoding}: set PYTHONUTF8=1, or a locale of UTF-8 (LC_ALL=C.UTF-8)"
