"""Parameter spaces: any mixture of hyper-parameters, some of them conditional."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from numpy.random import Generator

from nasbench.base.errors import UsageError, check_choice, unknown
from nasbench.benchmarks.spaces.base import Configuration, ForeignConfiguration, Space, Values
from nasbench.benchmarks.spaces.flat import Condition, Coordinate, coordinate
from nasbench.benchmarks.spaces.hyperparameters import (
    Float,
    Hyperparameter,
    Integer,
    belongs,
    draw,
    has_many,
    values_text,
)

Point: TypeAlias = tuple[Coordinate, ...]


class ParameterSpace(Space):
    """Named hyper-parameters of any type; some may be present only if another one takes certain values.

    A configuration is the tuple of its coordinates (see `spaces.flat`), None for an absent hyper-parameter.

    Args:
        hyperparameters: parents before their children.
        conditions: child → (parent, the parent's values under which the child is present).
    """

    def __init__(
        self,
        hyperparameters: Sequence[Hyperparameter],
        conditions: Mapping[str, tuple[str, Sequence[object]]] | None = None,
    ) -> None:
        self.hyperparameters = tuple(hyperparameters)
        self._names = [h.name for h in hyperparameters]
        if not self._names or len(set(self._names)) != len(self._names):
            raise UsageError(f"a space needs one or more hyper-parameters with distinct names, not {self._names}")
        for name in conditions or {}:
            check_choice("hyper-parameter", name, self._names)
        self.conditions = tuple(
            self._condition(d, (conditions or {}).get(h.name)) for d, h in enumerate(hyperparameters)
        )

    def sample(self, rng: Generator) -> Point:
        return self._completed([None] * len(self._names), rng)

    def mutate(self, configuration: Configuration, rng: Generator) -> Point:
        """Changes one present hyper-parameter, drawn uniformly, to another value; new children are drawn."""
        present = [
            d
            for d, (h, x) in enumerate(zip(self.hyperparameters, configuration, strict=True))
            if x is not None and has_many(h)
        ]
        if not present:
            raise UsageError("no hyper-parameter of this configuration has a second value: nothing can mutate")
        d = present[int(rng.integers(len(present)))]
        coordinates = list(configuration)
        while coordinates[d] == configuration[d]:
            coordinates[d] = draw(self.hyperparameters[d], rng, prior=False)
        return self._completed(coordinates, rng)

    def check(self, configuration: Configuration) -> None:
        if type(configuration) is not tuple or len(configuration) != len(self._names):
            raise ForeignConfiguration(
                f"a configuration here is a tuple of {len(self._names)} coordinates, not {configuration!r}; "
                "space.from_values makes one of names and values"
            )
        for d, (h, x) in enumerate(zip(self.hyperparameters, configuration, strict=True)):
            if (x is not None) != self._is_present(d, configuration):
                raise ForeignConfiguration(f"{h.name} must be {'absent' if x is not None else 'present'} here")
            if x is not None and not belongs(h, x):
                raise ForeignConfiguration(f"{x!r} is not a coordinate of {h.name}")

    def values(self, configuration: Configuration) -> Values:
        pairs = zip(self.hyperparameters, configuration, strict=True)
        return {h.name: x if isinstance(h, Float | Integer) else h.values[x] for h, x in pairs if x is not None}

    def from_values(self, values: Values) -> Point:
        for name in values:
            check_choice("hyper-parameter", name, self._names)
        point = tuple(coordinate(h, values[h.name]) if h.name in values else None for h in self.hyperparameters)
        try:
            self.check(point)
        except ForeignConfiguration as error:
            raise UsageError(f"{values}: {error}") from None
        return point

    def to_json(self, configuration: Configuration) -> str:
        return json.dumps(self.values(configuration))

    def describe(self) -> list[tuple[str, str, str]]:
        rows = []
        for h, condition in zip(self.hyperparameters, self.conditions, strict=True):
            rows.append((h.name, h.kind, values_text(h) + (f" ({self._when(condition)})" if condition else "")))
        return rows

    def _when(self, condition: Condition) -> str:
        """A condition in words: `given booster = gbtree or dart`."""
        parent = self.hyperparameters[condition.parent]
        assert not isinstance(parent, Float | Integer)
        values = [str(value) for value, permits in zip(parent.values, condition.permitted, strict=True) if permits]
        return f"given {parent.name} = {' or '.join(values)}"

    def as_flat(self) -> ParameterSpace:
        return self

    def coordinates(self, configuration: Configuration) -> Point:
        point: Point = configuration
        return point

    def at(self, coordinates: Sequence[Coordinate]) -> Point:
        return tuple(coordinates)

    def _condition(self, child: int, given: tuple[str, Sequence[object]] | None) -> Condition | None:
        if given is None:
            return None
        name, values = given
        parent = self._names.index(name) if name in self._names[:child] else None
        if parent is None:
            raise UsageError(f"{self._names[child]} depends on {name}, which must stand before it")
        h = self.hyperparameters[parent]
        if isinstance(h, Float | Integer):
            raise UsageError(f"{self._names[child]} depends on {name}, which must be categorical or ordinal")
        for value in values:
            if value not in h.values:
                raise unknown(f"value of {name}", str(value), map(str, h.values))
        return Condition(parent, tuple(value in values for value in h.values))

    def _is_present(self, d: int, coordinates: Sequence[Coordinate]) -> bool:
        condition = self.conditions[d]
        return condition is None or condition.holds(coordinates)

    def _completed(self, coordinates: list[Coordinate], rng: Generator) -> Point:
        """The configuration, once missing hyper-parameters are drawn, and hyper-parameters without a place dropped."""
        for d, h in enumerate(self.hyperparameters):
            if not self._is_present(d, coordinates):
                coordinates[d] = None
            elif coordinates[d] is None:
                coordinates[d] = draw(h, rng)
        return tuple(coordinates)
