"""Failures that are the same, and methods that fail in all of their first runs."""

from __future__ import annotations

import re

FEWEST = 10
"""Number of runs of a method that fail in the same way before its other runs are left out."""

OF_BENCHMARK = "fails outside its evaluations"
"""Words of a reason of which the benchmark is the cause, not the method."""

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def kind(reason: str) -> str:
    """What is the same in reasons of one kind: the text without its numbers, and the place with its line."""
    text, parenthesis, place = reason.rpartition(" (")
    return _NUMBER.sub("0", text) + parenthesis + place if parenthesis else _NUMBER.sub("0", reason)


class FirstRuns:
    """The first results of each method in a command, as they come in."""

    def __init__(self) -> None:
        self.over: set[str] = set()
        """Methods of which the first runs have all failed in the same way."""
        self._failures: dict[str, list[str]] = {}  # by method, until its fate is known
        self._sound: set[str] = set()

    def ends(self, method: str, failure: str) -> bool:
        """Notes the result of a run; returns whether it is the one that ends its method.

        Args:
            failure: why the run stopped; empty if it did not.
        """
        if OF_BENCHMARK in failure or method in self._sound | self.over:
            return False
        failures = self._failures.setdefault(method, [])
        failures.append(kind(failure))
        if not failure or failures[-1] != failures[0]:
            self._sound.add(method)
        elif len(failures) == FEWEST:
            self.over.add(method)
        return method in self.over
