"""The one exception that is written for the person at the keyboard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from nasbench.benchmarks.spaces.nearest import nearest


class UsageError(Exception):
    """Something the user asked for cannot be done; its message is one sentence that says what can."""


def with_extra(extra: str) -> str:
    """How to install an extra (or several, as `live,gp`), in a clone and elsewhere: the end of an error's sentence."""
    return f"`make setup EXTRAS={extra}` in a clone, `pip install 'nasbench[{extra}]'` elsewhere"


def unknown(kind: str, name: str, allowed: Iterable[str], many: Iterable[str] = ()) -> UsageError:
    """The error for a name that is not among the allowed ones: suggests the nearest and lists them all.

    Args:
        many: more names that are allowed, of which there are too many to list: the three nearest are suggested, and the
            others counted by what they begin with.
    """
    names, families = sorted(allowed), sorted(many)
    close = nearest(name, [*names, *families])[: 3 if families else 1]
    suggestion = f" (did you mean {' or '.join(filter(None, [', '.join(close[:-1]), *close[-1:]]))}?)" if close else ""
    listed = ", ".join([*names, *_counted(families)]) or "none"
    advice = "; `nasbench list` has them all" if families else ""
    return UsageError(f"unknown {kind} {name!r}{suggestion}; allowed: {listed}{advice}")


def _counted(names: Iterable[str]) -> list[str]:
    """Names that begin with the same word as one, with their number: `hpolib-… (4)`."""
    families: dict[str, list[str]] = {}
    for name in names:
        families.setdefault(name.partition("-")[0], []).append(name)
    return [f"{word}-… ({len(members)})" if len(members) > 1 else members[0] for word, members in families.items()]


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
