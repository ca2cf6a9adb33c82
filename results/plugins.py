"""Scores and parts of reports that other distributions bring by entry points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points

from nasbench.results.errors import StoreError, nearest


def names(group: str, built_in: Sequence[str]) -> tuple[str, ...]:
    """The names of all members of a group, built-in ones first; nothing is imported."""
    return (*built_in, *(point.name for point in entry_points(group=group) if point.name not in built_in))


def entry_point(group: str, kind: str, name: str, built_in: Sequence[str]) -> EntryPoint:
    """The entry point of a group with this name. Raises StoreError, with the nearest name, if there is none."""
    for point in entry_points(group=group):
        if point.name == name:
            return point
    known = names(group, built_in)
    raise StoreError(f"there is no {kind} {name!r}{nearest(name, known)}; allowed: {', '.join(known)}")


@contextmanager
def errors_named(what: str) -> Iterator[None]:
    """Turns what third-party code raises, `sys.exit` included, into a StoreError that begins with `what`.

    A StoreError is for the user already, and passes unchanged.
    """
    try:
        yield
    except StoreError:
        raise
    except (Exception, SystemExit) as error:
        raise StoreError(f"{what}: {type(error).__name__}: {error}") from error
