"""The one exception that is written for the person at the keyboard."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


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


class Problems:
    """Collects what is wrong with something that a person wrote, so that all of it is said at once."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._sentences: dict[str, None] = {}

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Notes the UsageError that ends the block, if one does; what comes after the block goes on."""
        try:
            yield
        except UsageError as error:
            self.note(str(error))

    def note(self, sentence: str) -> None:
        """Adds a sentence; one that was noted before counts once."""
        self._sentences[sentence] = None

    def refuse(self) -> None:
        """Raises UsageError with all that was noted, if there is anything; a single problem is said as it is."""
        if len(self._sentences) == 1:
            raise UsageError(next(iter(self._sentences)))
        if self._sentences:
            listed = "; ".join(f"({number}) {sentence}" for number, sentence in enumerate(self._sentences, 1))
            raise UsageError(f"{self._where} has {len(self._sentences)} errors: {listed}")
