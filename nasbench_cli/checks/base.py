"""A check: a promise in words, and a function that finds out."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nasbench.benchmarks.spaces import Configuration, Space


class Failed(AssertionError):
    """A promise that is not kept, in a sentence."""


@dataclass(frozen=True)
class Check:
    """Called with the name of a method or of a benchmark; raises Failed, with a sentence, where the promise is broken.

    Of a method: also with the name of the benchmark to try it on; by default the first one here that it fits.
    """

    promise: str
    function: Callable[..., str | None]
    """Of the opened subject; what it returns is worth telling."""
    opened: Callable[..., Any]
    """From the name or names."""

    def __call__(self, *names: str) -> str | None:
        return self.function(self.opened(*names))

    def __str__(self) -> str:
        return self.promise


def require(condition: object, sentence: str) -> None:
    """Raises Failed unless a condition holds."""
    if not condition:
        raise Failed(sentence)


def check_member(space: Space, configuration: Configuration, where: str) -> None:
    """That a configuration belongs to a space, is a key, and survives the way to a file and back."""
    try:
        space.check(configuration)
    except Exception as error:
        raise Failed(f"{where} gives {configuration!r}, which is not of the space: {error}") from error
    try:
        hash(configuration)
    except TypeError:
        raise Failed(f"{where} gives {configuration!r}, which has no hash: configurations are immutable") from None
    values = space.values(configuration)
    text = space.to_json(configuration)
    require(
        json.loads(text) == json.loads(json.dumps(values)), f"to_json({configuration!r}) is not the JSON of its values"
    )
    back = space.from_values(json.loads(text))
    require(back == configuration, f"{configuration!r} comes back from its values as {back!r}")


def global_state() -> dict[str, str]:
    """Of the random generators that all code shares."""
    found = {"random": repr(random.getstate()), "numpy": repr(np.random.get_state(legacy=False))}
    if "torch" in sys.modules:
        found["torch"] = sys.modules["torch"].get_rng_state().numpy().tobytes().hex()
    return found


def changes(before: dict[str, str]) -> list[str]:
    """Whose global random state is another by now."""
    after = global_state()
    return [name for name in before if before[name] != after[name]]


def require_untouched(changed: list[str]) -> None:
    """Raises Failed if there are any."""
    require(not changed, f"it draws from the global random state of {' and '.join(changed)}: use its own generator")


def scrambled() -> None:
    """Leaves the global random state somewhere else: who depends on it, or on the time, is found out."""
    random.random()
    np.random.random()


def same(one: object, other: object) -> bool:
    """Equality under which NaN equals NaN."""
    return bool(np.array_equal(np.asarray(one, float), np.asarray(other, float), equal_nan=True))
