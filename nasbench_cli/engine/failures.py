"""Failures that are the same, and methods that fail in all of their first runs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nasbench.base.numbers import count
from nasbench.results.store.fragment import RunRecord
from nasbench.results.store.trajectory import Setup

FEWEST = 10
"""Number of runs of a method that fail in the same way before its other runs are left out."""

OF_BENCHMARK = "fails outside its evaluations"
"""Words of a reason of which the benchmark is the cause, not the method."""

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def kind(reason: str) -> str:
    """What is the same in reasons of one kind: the text without its numbers, and the place with its line."""
    text, parenthesis, place = reason.rpartition(" (")
    return _NUMBER.sub("0", text) + parenthesis + place if parenthesis else _NUMBER.sub("0", reason)


def told(failures: Iterable[tuple[Setup, RunRecord]]) -> list[str]:
    """A sentence per method and reason of failed runs and evaluations, of runs that stopped first.

    Failed evaluations of a setup count as those of one reason, the first: each configuration may have its own.

    Args:
        failures: the setup and the record of each run with a failure.
    """
    groups: dict[tuple[bool, str, str], list[tuple[Setup, RunRecord]]] = {}
    of_setup: dict[str, str] = {}
    for setup, record in failures:
        reason = record.failure or of_setup.setdefault(setup.title, record.first_reason)
        groups.setdefault((not record.failure, setup.method, kind(reason)), []).append((setup, record))
    return [_sentence(group) for _, group in sorted(groups.items(), key=lambda group: group[0][0])]


def _sentence(group: list[tuple[Setup, RunRecord]]) -> str:
    """Runs that failed for the same reason: how many, the first of them, and its reason."""
    setup, record = group[0]
    first, what = f"{setup.title}, seed {record.seed}", "stopped"
    if len(group) > 1:
        first = f"{count(len(group), 'run')}, {first} first"
    if not record.failure:
        what = count(sum(record.failed_evaluations for _, record in group), "failed evaluation")
    return f"{first}: {what}: {record.first_reason}"


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
