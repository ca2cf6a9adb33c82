"""Listed spaces: the configurations are the rows of a table, not all combinations of the values in its columns."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.base.errors import UsageError, check_choice
from nasbench.benchmarks.spaces._finite import FiniteSpace
from nasbench.benchmarks.spaces.base import Configuration, ForeignConfiguration, Values
from nasbench.benchmarks.spaces.flat import Coordinate, coordinate
from nasbench.benchmarks.spaces.hyperparameters import (
    Categorical,
    Choice,
    Float,
    Hyperparameter,
    Integer,
    Ordinal,
    values_text,
)

Array = NDArray[np.float64]

_NEAREST = 8  # neighbours of a row whose hyper-parameters are real numbers


class ListedSpace(FiniteSpace):
    """The rows of a table; a configuration is the number of its row.

    Rows are drawn uniformly. The neighbours of a row are its eight nearest rows, and the rows of whose eight nearest it
    is one. The distance is Euclidean: each hyper-parameter is scaled to [0, 1], linearly or logarithmically, and two
    different categories have distance 1.

    Args:
        points: the coordinates of each row (see `spaces.flat`), shape (rows, hyper-parameters), all rows different.
    """

    table_kind = "listed"
    revision = "+binned"  # the words of numbers, each of which was a word of its own

    def __init__(self, hyperparameters: Sequence[Hyperparameter], points: NDArray[np.number]) -> None:
        names = [h.name for h in hyperparameters]
        if not names or len(set(names)) != len(names):
            raise UsageError(f"a list needs one or more hyper-parameters with distinct names, not {names}")
        if not len(points):
            raise UsageError("a list of configurations needs one or more rows")
        self.hyperparameters: tuple[Hyperparameter, ...] = tuple(hyperparameters)
        self.points, self.size = points, len(points)

    def sample(self, rng: Generator) -> int:
        return int(rng.integers(self.size))

    def sample_rows(self, n: int, rng: Generator) -> NDArray[np.int64]:
        if type(self).sample is not ListedSpace.sample:
            return super().sample_rows(n, rng)
        return rng.integers(self.size, size=n)  # the same numbers as n single draws

    def index(self, configuration: Configuration) -> int:
        if type(configuration) is not int or not 0 <= configuration < self.size:
            raise ForeignConfiguration(f"a configuration here is a row in [0, {self.size}), not {configuration!r}")
        return configuration

    def configuration(self, index: int) -> int:
        if not 0 <= index < self.size:
            raise IndexError(f"row {index} is outside [0, {self.size})")
        return index

    def mutate(self, configuration: Configuration, rng: Generator) -> int:
        """A neighbour, drawn uniformly. Raises UsageError if the table has only one row."""
        neighbours = self.neighbours(configuration)
        if not neighbours:
            raise UsageError("this table has a single row: nothing can mutate")
        return neighbours[int(rng.integers(len(neighbours)))]

    def neighbours(self, configuration: Configuration) -> list[int]:
        return self._near[configuration]

    def find(self, coordinates: Sequence[Coordinate]) -> int | None:
        """The row with given coordinates; None if the table has no such row."""
        return self._numbers.get(_key(np.array(coordinates, float)))

    def distances(self, coordinates: Sequence[Coordinate]) -> Array:
        """The squared distances of all rows from given coordinates, shape (rows,)."""
        distances: Array = self._mismatches(coordinates).astype(float)
        for h, column, x in zip(self.hyperparameters, self._columns, coordinates, strict=True):
            if not isinstance(h, Categorical):
                distances += np.square(column - _scaled(h, np.array(x, float)))
        return distances

    def values(self, configuration: Configuration) -> Values:
        return self.by_hyperparameter(configuration)

    def by_hyperparameter(self, configuration: Configuration) -> Values:
        """The value of each hyper-parameter, whatever `values` says in the table's own words."""
        pairs = zip(self.hyperparameters, self.points[configuration].tolist(), strict=True)
        return {h.name: _value(h, x) for h, x in pairs}

    def from_values(self, values: Values) -> int:
        names = [h.name for h in self.hyperparameters]
        for name in values:
            check_choice("hyper-parameter", name, names)
        for name in names:
            if name not in values:
                raise UsageError(f"{name} is missing; hyper-parameters: {', '.join(names)}")
        row = self.find([_number(h, values[h.name]) for h in self.hyperparameters])
        if row is None:
            raise UsageError(f"the table has no row with {values}")
        return row

    def to_json(self, configuration: Configuration) -> str:
        return json.dumps(self.values(configuration))

    def describe(self) -> list[tuple[str, str, str]]:
        rows = [(h.name, h.kind, values_text(h)) for h in self.hyperparameters]
        return [*rows, ("rows", "listed", f"{self.size:,}, and nothing else")]

    def as_flat(self) -> NearestRows:
        """The view for methods that propose coordinates; a new one for each search."""
        return NearestRows(self)

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        """The row at each point."""
        return {_key(point): row for row, point in enumerate(self.points.astype(float))}

    @cached_property
    def _columns(self) -> list[NDArray[np.number]]:
        """One array of shape (rows,) per hyper-parameter: categories as numbers, all other values scaled to [0, 1]."""
        return [
            column.astype(smallest_integers(column)) if isinstance(h, Categorical) else _scaled(h, column)
            for h, column in zip(self.hyperparameters, self.points.T, strict=True)
        ]

    def _mismatches(self, coordinates: Sequence[Coordinate]) -> NDArray[np.int16]:
        """The number of categories in which each row differs from given coordinates, shape (rows,)."""
        mismatches = np.zeros(self.size, np.int16)
        for h, column, x in zip(self.hyperparameters, self._columns, coordinates, strict=True):
            if isinstance(h, Categorical):
                mismatches += column != x
        return mismatches

    @cached_property
    def _near(self) -> list[list[int]]:
        """The neighbours of each row."""
        from scipy.spatial import cKDTree  # slow to import

        axes: list[NDArray[np.number]] = []
        for h, column in zip(self.hyperparameters, self._columns, strict=True):
            if isinstance(h, Categorical):
                axes += [(column == k) / math.sqrt(2) for k in range(len(h.values))]
            else:
                axes.append(column)
        places = np.array(axes).T
        count = min(_NEAREST + 1, self.size)
        nearest = np.atleast_2d(cKDTree(places).query(places, count)[1]).reshape(self.size, count)
        neighbours: list[set[int]] = [set() for _ in range(self.size)]
        for row, others in enumerate(nearest.tolist()):
            for other in [other for other in others if other != row][:_NEAREST]:
                neighbours[row].add(other)
                neighbours[other].add(row)
        return [sorted(rows) for rows in neighbours]


class ListedChoices(ListedSpace):
    """The rows of a table whose hyper-parameters are all choices, in ascending order (lexicographically).

    The neighbours of a row are the rows that differ in one choice, or, if there are none, the nearest rows.
    """

    revision = ""

    def __init__(self, hyperparameters: Sequence[Choice], points: NDArray[np.number]) -> None:
        super().__init__(hyperparameters, points)

    def digits(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        digits: NDArray[np.int64] = self.points[rows].astype(np.int64)
        return digits

    def neighbours(self, configuration: Configuration) -> list[int]:
        point = self.points[configuration].tolist()
        differ = np.zeros(self.size, np.int16)
        for column, x in zip(self._choices, point, strict=True):
            differ += column != x
        rows = np.flatnonzero(differ == 1)
        if not len(rows) and self.size > 1:
            distances = self.distances(point)
            distances[configuration] = np.inf
            rows = np.flatnonzero(distances <= distances.min())
        nearest: list[int] = rows.tolist()
        return nearest

    @cached_property
    def _choices(self) -> NDArray[np.integer]:
        """The transposed points, shape (hyper-parameters, rows): contiguous columns are ten times faster."""
        return np.ascontiguousarray(self.points.T, dtype=smallest_integers(self.points))

    def as_sequence(self) -> RowWalk:
        """The view for methods that choose one value after the other, each among the values of the remaining rows."""
        return self._walk

    @cached_property
    def _walk(self) -> RowWalk:
        return RowWalk(self.points, 0, self.size, 0)


class RowWalk:
    """A partly chosen row (see `spaces._sequence.Walk`): the rows in [low, high) agree with the choices so far."""

    def __init__(self, points: NDArray[np.number], low: int, high: int, depth: int) -> None:
        self._points, self._low, self._high, self._depth = points, low, high, depth
        self._taken: dict[int, RowWalk] = {}

    @property
    def options(self) -> int:
        """Number of values of the next choice; 0 once a single row is left."""
        return 0 if self._high - self._low == 1 else len(self._starts) - 1

    @cached_property
    def weights(self) -> list[int]:
        """The number of rows behind each option: `sample` draws rows, so it takes an option in this proportion."""
        return [high - low for low, high in pairwise(self._starts)]

    @property
    def configuration(self) -> int:
        """The remaining row."""
        return self._low

    def take(self, option: int) -> RowWalk:
        """This walk with one more choice: value number `option` among those that remain."""
        if option not in self._taken:
            low, high = self._starts[option], self._starts[option + 1]
            self._taken[option] = RowWalk(self._points, low, high, self._depth + 1)
        return self._taken[option]

    @cached_property
    def _starts(self) -> list[int]:
        """The first row with each value of the next choice, and the end."""
        column = self._points[self._low : self._high, self._depth]
        changes = np.flatnonzero(column[1:] != column[:-1]) + self._low + 1
        return [self._low, *changes.tolist(), self._high]


class ListedRows:
    """The flat view of a listed space, without a memory: coordinates without a row stand for the nearest row."""

    def __init__(self, space: ListedSpace) -> None:
        self._space = space
        self.hyperparameters = space.hyperparameters
        self.conditions = (None,) * len(space.hyperparameters)

    def coordinates(self, configuration: Configuration) -> list[Coordinate]:
        """The coordinates of a row."""
        row: list[float] = self._space.points[configuration].tolist()
        return [x if isinstance(h, Float) else int(x) for h, x in zip(self.hyperparameters, row, strict=True)]

    def at(self, coordinates: Sequence[Coordinate]) -> int:
        """The row with given coordinates, or the nearest row; the first of equally near rows."""
        return self._nearest(coordinates, ())

    def _nearest(self, coordinates: Sequence[Coordinate], passed_over: Collection[int]) -> int:
        """The row with given coordinates, or the nearest row, without those in `passed_over` if others remain.

        Coordinates that are another way to write a row in `passed_over` stand for the nearest row, too: a method that
        proposes them does not know that it repeats itself.
        """
        row = self._space.find(coordinates)
        written_otherwise = row in passed_over and list(coordinates) != self._space.points[row].tolist()
        if row is None or (written_otherwise and len(passed_over) < self._space.size):
            distances = self._space.distances(coordinates)
            if len(passed_over) < self._space.size:
                distances[list(passed_over)] = np.inf
            row = int(distances.argmin())
        return row


class NearestRows(ListedRows):
    """The flat view for proposals: coordinates without a row stand for the nearest row that is not yet used.

    A view belongs to one search. A row is used once the view has returned it, or its coordinates; it is then proposed
    again only by its own coordinates, not by other ways to write it (isomorphic networks). When all rows are
    used, the view returns the nearest row again. It returns the first of equally near rows.
    """

    def __init__(self, space: ListedSpace) -> None:
        super().__init__(space)
        self._used: set[int] = set()

    def coordinates(self, configuration: Configuration) -> list[Coordinate]:
        """The coordinates of a row, which is used from now on."""
        self._used.add(configuration)
        return super().coordinates(configuration)

    def at(self, coordinates: Sequence[Coordinate]) -> int:
        """The row with given coordinates, or an unused row near them; it is used from now on."""
        row = self._nearest(coordinates, self._used)
        self._used.add(row)
        return row


def listed(hyperparameters: Sequence[Hyperparameter], points: NDArray[np.number]) -> ListedSpace:
    """The listed space of given rows, with the views that its hyper-parameters allow."""
    choices = [h for h in hyperparameters if isinstance(h, Categorical | Ordinal)]
    if len(choices) == len(hyperparameters):
        return ListedChoices(choices, points)
    return ListedSpace(hyperparameters, points)


def smallest_integers(numbers: NDArray[np.number]) -> type[np.int16] | type[np.int32]:
    """The integers of the fewest bytes that hold these, which are not negative."""
    return np.int16 if numbers.max(initial=0) < 2**15 else np.int32


def _key(point: Array) -> bytes:
    """A dictionary key, equal for equal points; -0.0 equals 0.0."""
    return (point + 0.0).tobytes()


def _scaled(h: Ordinal | Float | Integer, column: NDArray[np.number]) -> Array:
    """Coordinates along a hyper-parameter, scaled to [0, 1], logarithmically if it is logarithmic."""
    if isinstance(h, Ordinal):
        return np.asarray(column / max(len(h.values) - 1, 1), float)
    low, high, x = (np.log(v) if h.log else np.asarray(v, float) for v in (h.low, h.high, column))
    return np.asarray((x - low) / (high - low))


def _number(h: Hyperparameter, value: object) -> Coordinate:
    """The coordinate of a value. Raises UsageError if it is no number where one is due."""
    if isinstance(h, Float | Integer) and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise UsageError(f"{h.name} cannot be {value!r}; allowed: {values_text(h)}")
    return coordinate(h, value)


def _value(h: Hyperparameter, x: float) -> object:
    if isinstance(h, Categorical | Ordinal):
        return h.values[int(x)]
    return int(x) if isinstance(h, Integer) else x
