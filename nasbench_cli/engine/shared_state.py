"""What all objects of a class share and may change, so that one run could leave something behind for another."""

from __future__ import annotations

import hashlib
import logging
import pickle
import random
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sized
from contextlib import contextmanager
from typing import Any

import numpy as np

from nasbench.cli.engine.events import Notice, publish

_MUTABLE = (list, dict, set, bytearray, deque, np.ndarray, np.random.Generator, random.Random)
_LARGE = 1 << 26  # bytes
_CHANGEABLE = (*_MUTABLE, int, float, str, tuple, type(None))  # the latter are bound anew


@contextmanager
def runs_watched(method: type, name: str) -> Iterator[None]:
    """Warns if runs of a method in this block change what all its objects share: the next ones may see it."""
    before = shared_state(method)
    yield
    if kept := changed(before, method):
        publish(
            Notice(
                logging.WARNING,
                name,
                f"its runs leave something behind that later ones can see, in `{kept[0]}`: "
                f"`nasbench check {name}` says whether they are still independent",
            )
        )


def shared_state(item: type) -> dict[str, str]:
    """What all objects of a class share and may change, as text to compare: numbers, containers and generators in its
    bodies and modules."""
    bodies = [base for base in item.__mro__ if base is not object]
    places: list[tuple[str, Mapping[str, object]]] = [
        (f"{base.__module__}.{base.__qualname__}", vars(base)) for base in bodies
    ]
    places += [
        (base.__module__, vars(sys.modules[base.__module__])) for base in bodies if base.__module__ in sys.modules
    ]
    return {
        f"{name} of {place}": _content(value)
        for place, members in places
        for name, value in members.items()
        if isinstance(value, _CHANGEABLE) and not name.startswith("__")
    }


def changed(before: dict[str, str], item: type) -> list[str]:
    """The names of what has changed since `before` was taken by `shared_state`."""
    after = shared_state(item)
    return sorted(name for name in after if after[name] != before.get(name))


def _content(value: Any) -> str:
    """A text that changes with what a value holds; with its length alone, if it has one, if it cannot be pickled.

    Of an array too large to be copied some numbers count.
    """
    if isinstance(value, np.ndarray) and value.nbytes > _LARGE:
        value = value.flat[:: max(1, value.size // 1000)], value.shape
    try:
        return hashlib.sha256(pickle.dumps(value)).hexdigest()
    except Exception:
        return str(len(value)) if isinstance(value, Sized) else ""
