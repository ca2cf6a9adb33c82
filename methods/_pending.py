"""Pending asks of a method, and a fact that it remembers of each."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

from nasbench.benchmarks.spaces import Configuration
from nasbench.methods.problem import Observation

T = TypeVar("T")


class Pending(Generic[T]):
    """A fact for each pending ask. Evaluations finish in any order, and a configuration may be asked for twice."""

    def __init__(self) -> None:
        self._facts: dict[Configuration, deque[T]] = {}

    def __contains__(self, configuration: Configuration) -> bool:
        return configuration in self._facts

    def __iter__(self) -> Iterator[tuple[Configuration, T]]:
        return ((configuration, fact) for configuration, facts in self._facts.items() for fact in facts)

    def add(self, configuration: Configuration, fact: T) -> None:
        """Adds what is to be remembered of an ask."""
        self._facts.setdefault(configuration, deque()).append(fact)

    def answer(self, observation: Observation) -> T:
        """Takes the fact of the first pending ask for the observation's configuration."""
        facts = self._facts[observation.configuration]
        fact = facts.popleft()
        if not facts:
            del self._facts[observation.configuration]
        return fact
