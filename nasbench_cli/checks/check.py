"""A check: a promise in words, and a function that tests whether it is kept."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import SkipTest

import numpy as np

from nasbench.base.foreign import end_copies
from nasbench.benchmarks import Benchmark, Evaluation, Level
from nasbench.benchmarks.spaces import Configuration, Space
from nasbench.cli.engine.evaluations import explained


class Failed(AssertionError):
    """Raised by a check when a promise is broken; the message is one sentence that says how."""


class NotTested(SkipTest):
    """Raised by a check that cannot test its promise here; the message says why. Test runners count it as skipped."""


@dataclass(frozen=True)
class Check:
    """One promise of a method, a benchmark or an executor: called with a name, it raises Failed if it is broken,
    and NotTested if that cannot be known here.

    A check of a method takes a second name, the benchmark to try it on; by default the first one here that it fits.
    """

    promise: str
    """The promise in words, as `nasbench check` prints it."""
    function: Callable[..., str | None]
    """Examines the opened subject. It returns a remark worth printing, or None; it raises Failed or
    NotTested."""
    opened: Callable[..., Any]
    """Opens the subject from its name or names."""

    def __call__(self, *names: str) -> str | None:
        return self.function(self.opened(*names))

    def __str__(self) -> str:
        return self.promise


def require(condition: object, sentence: str) -> None:
    """Raises Failed with a sentence unless a condition holds."""
    if not condition:
        raise Failed(sentence)


def check_member(space: Space, configuration: Configuration, where: str) -> None:
    """Requires that a configuration belongs to a space, can be hashed, and survives the way to JSON and back.

    Raises Failed, naming `where` the configuration comes from.
    """
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


def answer(
    benchmark: Benchmark, configuration: Configuration, seed: int, level: Level | None = None, state: Path | None = None
) -> Evaluation:
    """What the benchmark answers; a failed evaluation where it raises, as in a run."""
    try:
        told = benchmark.evaluate(configuration, seed, level, state)
    except BaseException as error:
        told = Evaluation({}, 0.0, "failed", explained(error, type(benchmark)))
    end_copies()
    return told


def global_state() -> dict[str, str]:
    """States of the global random generators (`random`, numpy, torch if it is loaded), as text to compare."""
    states = {"random": repr(random.getstate()), "numpy": repr(np.random.get_state(legacy=False))}
    if "torch" in sys.modules:
        states["torch"] = sys.modules["torch"].get_rng_state().numpy().tobytes().hex()
    return states


def changes(before: dict[str, str]) -> list[str]:
    """The packages whose global random state has changed since `before` was taken by `global_state`."""
    after = global_state()
    return [name for name in before if before[name] != after[name]]


def require_untouched(changed: list[str]) -> None:
    """Raises Failed if any package's global random state has changed."""
    require(not changed, f"it draws from the global random state of {' and '.join(changed)}: use its own generator")


def scrambled() -> None:
    """Advances the global random state, so that code which depends on it gives another result."""
    random.random()
    np.random.random()


def same(one: object, other: object) -> bool:
    """Whether two numbers or arrays of numbers are equal, where NaN equals NaN."""
    return bool(np.array_equal(np.asarray(one, float), np.asarray(other, float), equal_nan=True))
