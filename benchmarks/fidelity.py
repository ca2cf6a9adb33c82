"""Fidelities: the extent of an evaluation, along one axis (epochs) or several (epochs, training-set size)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, product
from typing import NamedTuple

from nasbench.base.errors import UsageError

HIGHEST = 10**9
"""Largest value of an axis."""


class Level(Mapping[str, int]):
    """A point of a fidelity: the value of each axis by name, such as `Level(epochs=27)`.

    >>> Level(epochs=27)["epochs"], Level(epochs=27, size=500).work
    (27, 13500)
    """

    __slots__ = ("_hash", "_values", "work")

    work: int
    """Product of the values, 1 without an axis. The cost of a level is taken to be proportional to it."""

    def __init__(self, **values: int) -> None:
        self._values, self.work = values, math.prod(values.values())
        self._hash = hash(frozenset(values.items()))

    def __getitem__(self, axis: str) -> int:
        return self._values[axis]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Level) and self._values == other._values)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Level({', '.join(f'{axis}={value}' for axis, value in self.items())})"

    def __str__(self) -> str:
        return ", ".join(f"{axis} {value}" for axis, value in self.items()) or "whole"


class Axis(NamedTuple):
    """One axis of a fidelity."""

    name: str
    """The quantity that is counted, such as `epochs`."""
    unit: str
    """The meaning of an increase by 1, for people: `1 epoch`, `200 steps`."""
    values: tuple[int, ...]
    """The possible values, ascending, above 0; a whole evaluation goes up to the last one."""
    continuable: bool = True
    """Whether smaller values are earlier points of the same training; otherwise each value is a separate training."""

    def __str__(self) -> str:
        return f"{self.name} {spans(self.values)}" + ("" if self.continuable else ", each a separate training")


class Fidelity:
    """The levels at which an evaluation may stop: all combinations of the values of its axes.

    >>> Fidelity("epochs", "1 epoch", (1, 3, 9)).highest
    Level(epochs=9)
    """

    def __init__(
        self, name: str, unit: str, values: Sequence[int], continuable: bool = True, *, beside: Sequence[Axis] = ()
    ) -> None:
        """A fidelity with one axis (see `Axis`), along which searches move, and perhaps others `beside` it.

        Raises UsageError unless the values of each axis are integers from 1 to 10⁹, ascending (Python's), and the axes
        have different names.
        """
        self.axes: tuple[Axis, ...] = (Axis(name, unit, tuple(values), continuable), *beside)
        names = [axis.name for axis in self.axes]
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise UsageError(f"two axes of the fidelity have the name {twice[0]!r}")
        for axis in self.axes:
            are_levels = all(type(value) is int and 0 < value <= HIGHEST for value in axis.values)
            if not axis.values or not are_levels or sorted(set(axis.values)) != [*axis.values]:
                raise UsageError(
                    f"the values of {axis.name} are no ascending integers (of type int) from 1 to 10⁹: {axis.values}"
                )

    @cached_property
    def ladder(self) -> tuple[Level, ...]:
        """The levels along the first axis, ascending, with all other axes at their highest value."""
        first, *others = self.axes
        whole = {axis.name: axis.values[-1] for axis in others}
        return tuple(Level(**{first.name: value}, **whole) for value in first.values)

    @cached_property
    def rungs(self) -> dict[Level, int]:
        """The place of each level on the ladder, from 0."""
        return {level: place for place, level in enumerate(self.ladder)}

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """Every level, ascending by work."""
        names = [axis.name for axis in self.axes]
        points = product(*(axis.values for axis in self.axes))
        return tuple(
            sorted((Level(**dict(zip(names, point, strict=True))) for point in points), key=lambda level: level.work)
        )

    @cached_property
    def highest(self) -> Level:
        """The level of a whole evaluation."""
        return self.ladder[-1]

    @property
    def continuable(self) -> bool:
        """Whether the levels of the ladder are points of one training."""
        return self.axes[0].continuable

    def continues(self, reached: Level, level: Level) -> bool:
        """Whether a training that has reached a level may continue up to another one."""
        grown = [axis for axis in self.axes if level[axis.name] != reached[axis.name]]
        return bool(grown) and all(axis.continuable and level[axis.name] > reached[axis.name] for axis in grown)

    def may_continue(self, reached: Level) -> bool:
        """Whether a training that has reached a level may continue at all."""
        return any(axis.continuable and reached[axis.name] < axis.values[-1] for axis in self.axes)

    @cached_property
    def _all(self) -> frozenset[Level]:
        return frozenset(self.levels)

    def __contains__(self, level: object) -> bool:
        return level in self._all

    def __str__(self) -> str:
        return "; ".join(map(str, self.axes))


def spans(numbers: Sequence[int]) -> str:
    """Ascending integers for people: `1 to 200`, `2 to 200 in steps of 2`, or a full list where steps differ."""
    steps = {after - before for before, after in pairwise(numbers)}
    if len(numbers) > 2 and len(steps) == 1:
        step = steps.pop()
        return f"{numbers[0]} to {numbers[-1]}" + (f" in steps of {step}" if step > 1 else "")
    return ", ".join(map(str, numbers))
