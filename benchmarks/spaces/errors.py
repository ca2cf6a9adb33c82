"""The one exception that is written for the person at the keyboard."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UsageError(Exception):
    """Something the user asked for cannot be done; its message is one sentence that says what can."""


def with_extra(extra: str) -> str:
    """How to install an extra (or several, as `live,gp`), in a clone and elsewhere: the end of an error's sentence."""
    return f"`make setup EXTRAS={extra}` in a clone, `pip install 'nasbench[{extra}]'` elsewhere"


def unknown(kind: str, name: str, allowed: Iterable[str]) -> UsageError:
    """The error for a name that is not among the allowed ones: suggests the nearest and lists them all."""
    names = sorted(allowed)
    nearest = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    suggestion = f" (did you mean {nearest[0]}?)" if nearest else ""
    return UsageError(f"unknown {kind} {name!r}{suggestion}; allowed: {', '.join(names) or 'none'}")
