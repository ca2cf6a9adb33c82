"""The exceptions whose messages are written for the user, and functions that write such messages."""

from __future__ import annotations

import importlib.util
import sys
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from nasbench.base.nearest import nearest


class NasbenchError(Exception):
    """The root of all errors for the user: the message is one sentence that also says what is possible."""


class UsageError(NasbenchError):
    """A request of the user cannot be fulfilled."""


class StoreError(NasbenchError):
    """A store cannot be read or reported as the user asks."""


class Interrupted(StoreError):
    """The system failed (disk full, read-only, a process died); nothing is lost, and the same command continues."""


class Misfit(UsageError):
    """A method cannot search what a benchmark is, whatever its options; the message says why. Others may run there."""


class StoppedAt(KeyboardInterrupt):
    """The user's Ctrl-C in a long call of a method or a benchmark; the message is the line of its code that ran."""


def with_extra(extra: str) -> str:
    """The commands that install an extra (or several: `live,gp`), as the end of an error message."""
    return f"`make setup EXTRAS={extra}` in a clone, or `pip install '.[{extra}]'` there into an environment of yours"


def require_torch(what: str) -> None:
    """Raises UsageError where PyTorch is missing; `what` says who needs it, such as `digits trains networks`."""
    if importlib.util.find_spec("torch") is None:
        raise UsageError(f"{what} with PyTorch: {with_extra('live')}")


def unknown(kind: str, name: str, allowed: Iterable[str], many: Iterable[str] = ()) -> UsageError:
    """The error for an unknown name: it suggests the nearest allowed name, and lists all of them.

    Args:
        many: further allowed names, too many to list: the three nearest are suggested, and all are counted by their
            first word.
    """
    names, families = sorted(allowed), sorted(many)
    parts = [part.strip() for part in name.split(",")]
    if len(parts) > 1 and set(parts) <= {*names, *families}:
        return UsageError(f"{name!r} are several names where one {kind} is expected: give the option once for each")
    meant = suggestion(name, [*names, *families], 3 if families else 1)
    if name.endswith(".py"):
        meant = f" (a file; the name of the {kind} in it is expected)"
    listed = ", ".join([*names, *counted(families)]) or "none"
    advice = "; `nasbench list` has them all" if families else ""
    return UsageError(f"unknown {kind} {name!r}{meant}; allowed: {listed}{advice}")


def suggestion(name: str, allowed: Collection[str], most: int = 1) -> str:
    """` (did you mean …?)` with up to `most` of the nearest allowed names; empty if none is near."""
    close = nearest(name, allowed)[:most]
    return f" (did you mean {' or '.join(filter(None, [', '.join(close[:-1]), *close[-1:]]))}?)" if close else ""


def not_utf8(what: str) -> str:
    """Why a path that is no UTF-8 text to Python is none, and what helps: it is not, or the locale hides that it is."""
    encoding = sys.getfilesystemencoding()
    if encoding == "utf-8":
        return f"{what} is not UTF-8 text: rename it"
    return f"this locale reads {what} as {encoding}: set PYTHONUTF8=1, or a locale of UTF-8 (LC_ALL=C.UTF-8)"


def check_choice(kind: str, name: str, allowed: Collection[str]) -> None:
    """Raises UsageError, with the nearest allowed name and all of them, for a name that is not allowed."""
    if name not in allowed:
        raise unknown(kind, name, allowed)


def check_range(option: str, value: float, low: float, high: float = 100_000) -> None:
    """Raises UsageError unless an option lies in [low, high]; by default `high` is more than any search needs."""
    if not low <= value <= high:
        raise UsageError(f"{option} must lie in [{low}, {high}], not {value}")


def check_least(option: str, value: int, least: int) -> None:
    """Raises UsageError if the value of an option is less than `least`."""
    if value < least:
        raise UsageError(f"{option} must be at least {least}, not {value}")


Types: TypeAlias = Mapping[str, tuple[type | tuple[type, ...], str]]
"""Attribute → its type, and the type in words."""


def check_types(thing: object, types: Types, whose: str) -> None:
    """Raises UsageError if an attribute has another type: a text for a tuple would be taken for its letters."""
    for name, (kind, what) in types.items():
        value = getattr(thing, name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise UsageError(f"{name} of {whose} must be {what}, not {value!r}")


def counted(names: Iterable[str]) -> list[str]:
    """Names grouped by their first word, with the size of each group: `hpolib-… (4)`."""
    families: dict[str, list[str]] = {}
    for name in names:
        word, _, rest = name.partition("-")
        families.setdefault(f"{word}-…" if rest else name, []).append(name)
    return [f"{word} ({len(members)})" if len(members) > 1 else members[0] for word, members in families.items()]


class Problems:
    """Collects all errors in a text of the user, to report them at once."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._sentences: dict[str, None] = {}

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Notes a UsageError that ends the block; the code after the block continues."""
        try:
            yield
        except UsageError as error:
            self.note(str(error))

    def note(self, sentence: str) -> None:
        """Adds a sentence; repeated sentences count once."""
        self._sentences[sentence] = None

    def refuse(self) -> None:
        """Raises UsageError with all noted sentences, if there are any."""
        if len(self._sentences) == 1:
            raise UsageError(next(iter(self._sentences)))
        if self._sentences:
            listed = "; ".join(f"({number}) {sentence}" for number, sentence in enumerate(self._sentences, 1))
            raise UsageError(f"{self._where} has {len(self._sentences)} errors: {listed}")


def unprintable(text: str) -> str:
    """What keeps a text from being one line that can be printed, as the end of a sentence; empty if nothing does."""
    letter = next((letter for letter in text if not letter.isprintable()), "")
    if not letter:
        return ""
    if len(text.splitlines()) > 1 or letter.splitlines() == [""]:
        return "it has several lines"
    name = unicodedata.name(letter, "a control character").lower()
    return f"its character U+{ord(letter):04X} ({name}) cannot be printed"
