"""Grid spaces: finite products of named hyper-parameters."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.base.errors import UsageError, check_choice
from nasbench.benchmarks.spaces._finite import FiniteSpace
from nasbench.benchmarks.spaces.base import Configuration, ForeignConfiguration, Values
from nasbench.benchmarks.spaces.hyperparameters import Choice, draw, index_of, values_text

Choices: TypeAlias = tuple[int, ...]

_INT64 = 2**63 - 1


class GridSpace(FiniteSpace):
    """The product of finite hyper-parameters.

    A configuration is a tuple of choice indices, one per hyper-parameter. Its index (the row of a table) is the
    mixed-radix number with these digits; the first hyper-parameter is the most significant.
    """

    def __init__(self, hyperparameters: Sequence[Choice]) -> None:
        names = [h.name for h in hyperparameters]
        if not names or len(set(names)) != len(names):
            raise UsageError(f"a grid needs one or more hyper-parameters with distinct names, not {names}")
        self.hyperparameters: tuple[Choice, ...] = tuple(hyperparameters)
        self.sizes = tuple(len(h.values) for h in hyperparameters)
        self.size = math.prod(self.sizes)
        self._strides = tuple(math.prod(self.sizes[d + 1 :]) for d in range(len(self.sizes)))
        self._radices = tuple(zip(self._strides, self.sizes, strict=True))
        self._mutable = tuple(d for d, size in enumerate(self.sizes) if size > 1)
        self._has_prior = any(h.prior for h in hyperparameters)
        self._latest: tuple[Configuration, int] = (object(), 0)
        self._json = [[f"{json.dumps(h.name)}: {json.dumps(v)}" for v in h.values] for h in hyperparameters]

    def sample(self, rng: Generator) -> Choices:
        if self._has_prior:
            return tuple([int(draw(h, rng)) for h in self.hyperparameters])
        if self.size > _INT64:  # row numbers overflow NumPy's integers
            return tuple([int(rng.integers(size)) for size in self.sizes])
        return self.configuration(int(rng.integers(self.size)))

    def sample_rows(self, n: int, rng: Generator) -> NDArray[np.int64]:
        if self.size > _INT64 or self._has_prior or type(self).sample is not GridSpace.sample:
            return super().sample_rows(n, rng)
        return rng.integers(self.size, size=n)  # the same numbers as n single draws

    def mutate(self, configuration: Configuration, rng: Generator) -> Choices:
        """Changes one hyper-parameter, drawn uniformly, to another value, drawn uniformly.

        Raises UsageError if every hyper-parameter has a single value.
        """
        if not self._mutable:
            raise UsageError("no hyper-parameter of this space has a second value: nothing can mutate")
        choices: Choices = configuration
        d = self._mutable[int(rng.integers(len(self._mutable)))]
        choice = int(rng.integers(self.sizes[d] - 1))
        choice += choice >= choices[d]
        return (*choices[:d], choice, *choices[d + 1 :])

    def neighbours(self, configuration: Configuration) -> list[Configuration]:
        """All configurations that differ in one choice."""
        return [
            (*configuration[:d], choice, *configuration[d + 1 :])
            for d, size in enumerate(self.sizes)
            for choice in range(size)
            if choice != configuration[d]
        ]

    def index(self, configuration: Configuration) -> int:
        """The row of a configuration, in [0, size). Raises ForeignConfiguration if it is not of this space."""
        latest, row = self._latest
        if configuration is latest:  # an evaluation calls this several times
            return row
        if type(configuration) is not tuple or len(configuration) != len(self.sizes):
            raise ForeignConfiguration(
                f"a configuration here is a tuple of {len(self.sizes)} choice indices, not {configuration!r}; "
                "space.from_values makes one of names and values"
            )
        row = 0
        for choice, (stride, size) in zip(configuration, self._radices, strict=True):
            if type(choice) is not int or not 0 <= choice < size:
                raise ForeignConfiguration(f"{choice!r} in {configuration!r} is not an int in [0, {size})")
            row += choice * stride
        self._latest = configuration, row
        return row

    def configuration(self, index: int) -> Choices:
        """The configuration of a row: the inverse of `index`. Raises IndexError outside [0, size)."""
        if not 0 <= index < self.size:
            raise IndexError(f"row {index} is outside [0, {self.size})")
        return tuple([index // stride % size for stride, size in self._radices])

    def __iter__(self) -> Iterator[Choices]:
        """All configurations in the order of their rows."""
        return itertools.product(*map(range, self.sizes))

    def values(self, configuration: Configuration) -> Values:
        return {h.name: h.values[c] for h, c in zip(self.hyperparameters, configuration, strict=True)}

    def from_values(self, values: Values) -> Choices:
        names = {h.name for h in self.hyperparameters}
        for name in values:
            check_choice("hyper-parameter", name, names)
        choices = []
        for h in self.hyperparameters:
            if h.name not in values:
                raise UsageError(f"{h.name} is missing; allowed: {values_text(h)}")
            choices.append(index_of(h, values[h.name]))
        return tuple(choices)

    def to_json(self, configuration: Configuration) -> str:
        return "{" + ", ".join([values[c] for values, c in zip(self._json, configuration, strict=True)]) + "}"

    def digits(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        digits = np.empty((len(rows), len(self.sizes)), np.int64)
        for d, column in enumerate(np.unravel_index(rows, self.sizes)):
            digits[:, d] = column
        return digits

    def as_flat(self) -> GridSpace:
        return self

    @property
    def conditions(self) -> tuple[None, ...]:
        """None for every hyper-parameter: none depends on another."""
        return (None,) * len(self.sizes)

    def coordinates(self, configuration: Configuration) -> Choices:
        choices: Choices = configuration
        return choices

    def at(self, coordinates: Sequence[float | int | None]) -> Choices:
        return tuple(int(choice) for choice in coordinates if choice is not None)

    def as_sequence(self) -> GridWalk:
        """The view for methods that choose one value after the other."""
        return GridWalk([(size, h.prior) for size, h in zip(self.sizes, self.hyperparameters, strict=True)], ())

    def describe(self) -> list[tuple[str, str, str]]:
        return [(h.name, h.kind, values_text(h)) for h in self.hyperparameters]


class GridWalk:
    """A configuration of a grid that is partly chosen (see `spaces._sequence.Walk`)."""

    def __init__(self, choices: Sequence[tuple[int, Sequence[float]]], configuration: Choices) -> None:
        """Each hyper-parameter with its number of values and their prior, which is empty if it is uniform."""
        self._choices, self.configuration = choices, configuration
        due: tuple[int, Sequence[float]] = (0, ())
        if len(configuration) < len(choices):
            due = choices[len(configuration)]
        self.options = due[0]
        """Number of values of the next choice; 0 if no choice is left."""
        self.weights: Sequence[float] | None = due[1] or None

    def take(self, option: int) -> GridWalk:
        """This walk with one more choice: value number `option` of the next hyper-parameter."""
        return GridWalk(self._choices, (*self.configuration, option))
