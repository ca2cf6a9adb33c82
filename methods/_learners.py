"""Methods by which other methods search: they learn from evaluations that they did not ask for."""

from __future__ import annotations

from nasbench.base.errors import UsageError
from nasbench.methods.contract import METHODS, Method


def learner(name: str, asker: str) -> type[Method]:
    """The method of a name, which must learn from evaluations that it did not ask for.

    Args:
        asker: name of the method that searches by it.

    Raises UsageError, with the methods that do, for another one.
    """
    try:
        method = METHODS.get(name)
    except UsageError:
        if name in METHODS.broken:
            raise
        method = None
    if method is None or not method.about.learns_from_all:
        able = ", ".join(each for each in sorted(METHODS.names()) if METHODS.get(each).about.learns_from_all)
        why = "is no method" if method is None else "learns from its own proposals only"
        raise UsageError(f"{asker} cannot search by {name}, which {why}; allowed: {able}")
    return method
