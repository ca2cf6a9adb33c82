"""The tree of decisions in a list of conditional hyper-parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.benchmarks.spaces.flat import Condition, Coordinate, Flat
from nasbench.benchmarks.spaces.hyperparameters import (
    Categorical,
    Float,
    Hyperparameter,
    Ordinal,
    draw,
    has_many,
)
from nasbench.methods.surrogates.trees import Points

Array = NDArray[np.float64]
Coordinates = list[Coordinate]
Path = tuple[Coordinate, ...]
"""The values of the deciding hyper-parameters, None for an absent one."""

_STEP = 0.15  # standard deviation of a step to a neighbour, as a share of a number's range
_FEW = 4  # up to this number of values, a step of an ordinal leads to any of them


class Tree:
    """Paths, leaves and nodes of a flat view.

    A hyper-parameter *decides* if the presence of another one depends on it. The values of all deciding ones are a path
    and lead to a leaf, whose process sees all other present hyper-parameters. Nodes are the root, each distinct
    condition, and each value of a deciding hyper-parameter. A node has a bias, and a weight per column of the
    hyper-parameters that depend on its condition: leaves share the nodes above the point where their paths part.
    """

    def __init__(self, flat: Flat) -> None:
        self._flat = flat
        hyperparameters, conditions = flat.hyperparameters, flat.conditions
        self.deciding = sorted({condition.parent for condition in conditions if condition is not None})
        self._leaves: dict[Path, int] = {}
        nodes: dict[Condition | None, list[int]] = {None: []}
        for d, (h, condition) in enumerate(zip(hyperparameters, conditions, strict=True)):
            nodes.setdefault(condition, [])
            if d not in self.deciding:
                nodes[condition].append(d)
            else:
                count = _count(h)
                for value in range(count):
                    nodes.setdefault(Condition(d, tuple(value == other for other in range(count))), [])
        self._nodes = nodes
        self._columns: dict[int, slice] = {}
        width = 0
        is_category: list[bool] = []
        for d, h in enumerate(hyperparameters):
            if d not in self.deciding:
                size = len(h.values) if isinstance(h, Categorical) else 1
                self._columns[d] = slice(width, width + size)
                is_category += [isinstance(h, Categorical)] * size
                width += size
        self.is_category = np.array(is_category, bool)
        """Whether each input column of a leaf's process is an indicator of a category (else: a number)."""
        self.is_bias = np.array([bias for members in nodes.values() for bias in self._biases(members)], bool)
        """Whether each coefficient of the linear model is a node's bias (else: a weight)."""

    def paths(self, most: int) -> list[Mapping[int, Coordinate]] | None:
        """Every path as the values of the hyper-parameters that decide on it; None if there are more than `most`."""
        paths: list[dict[int, Coordinate]] = [{}]
        for d in self.deciding:
            condition, count = self._flat.conditions[d], _count(self._flat.hyperparameters[d])
            extended = []
            for path in paths:
                there = condition is None or condition.holds([path.get(i) for i in range(d)])
                extended += [{**path, d: value} for value in range(count)] if there else [path]
            paths = extended
            if len(paths) > most:
                return None
        return list(paths)

    def path(self, coordinates: Sequence[Coordinate]) -> Path:
        """The path of a configuration."""
        return tuple(coordinates[d] for d in self.deciding)

    def name(self, path: Path) -> str:
        """A path in words, such as `layers=3`; empty if no hyper-parameter decides."""
        pairs = [(self._flat.hyperparameters[d], x) for d, x in zip(self.deciding, path, strict=True) if x is not None]
        return " ".join(f"{h.name}={h.values[int(x)]}" for h, x in pairs if isinstance(h, Categorical | Ordinal))

    def points(self, several: Sequence[Sequence[Coordinate]]) -> Points:
        """Configurations as inputs of the process."""
        local = np.zeros((len(several), len(self.is_category)))
        shared = np.zeros((len(several), len(self.is_bias)))
        leaves = np.empty(len(several), np.int64)
        for i, coordinates in enumerate(several):
            leaves[i] = self._leaves.setdefault(self.path(coordinates), len(self._leaves))
            for d, columns in self._columns.items():
                x = coordinates[d]
                if x is not None:
                    local[i, columns] = _features(self._flat.hyperparameters[d], x)
            at = 0
            for condition, members in self._nodes.items():
                if condition is None or condition.holds(coordinates):
                    shared[i, at] = 1.0
                    for d in members:
                        size = self._columns[d].stop - self._columns[d].start
                        shared[i, at + 1 : at + 1 + size] = local[i, self._columns[d]]
                        at += size
                else:
                    at += sum(self._columns[d].stop - self._columns[d].start for d in members)
                at += 1
        return Points(leaves, local, shared)

    def drawn(self, rng: Generator, path: Mapping[int, Coordinate] | None = None) -> Coordinates:
        """Coordinates drawn from the prior, on a given path or on any."""
        return self._completed([None] * len(self._flat.hyperparameters), rng, path or {})

    def neighbour(self, coordinates: Sequence[Coordinate], rng: Generator, keeps_path: bool = False) -> Coordinates:
        """Coordinates with one hyper-parameter moved by a step or to another category; newly present ones are drawn."""
        choices = [
            d
            for d, (h, x) in enumerate(zip(self._flat.hyperparameters, coordinates, strict=True))
            if x is not None and has_many(h) and not (keeps_path and d in self.deciding)
        ]
        moved = list(coordinates)
        if choices:
            d = choices[int(rng.integers(len(choices)))]
            x = moved[d]
            assert x is not None
            moved[d] = _stepped(self._flat.hyperparameters[d], x, rng)
        return self._completed(moved, rng, {})

    def _completed(self, coordinates: Coordinates, rng: Generator, path: Mapping[int, Coordinate]) -> Coordinates:
        for d, (h, condition) in enumerate(zip(self._flat.hyperparameters, self._flat.conditions, strict=True)):
            if condition is not None and not condition.holds(coordinates):
                coordinates[d] = None
            elif d in path:
                coordinates[d] = path[d]
            elif coordinates[d] is None:
                coordinates[d] = draw(h, rng)
        return coordinates

    def _biases(self, members: Sequence[int]) -> Iterator[bool]:
        yield True
        for d in members:
            yield from [False] * (self._columns[d].stop - self._columns[d].start)


def _count(h: Hyperparameter) -> int:
    assert isinstance(h, Categorical | Ordinal)  # conditions are on these alone
    return len(h.values)


def _features(h: Hyperparameter, x: float) -> Array | float:
    """A coordinate in [0, 1], a number by its scale and a level by its place, or as the indicator of its category."""
    if isinstance(h, Categorical):
        row = np.zeros(len(h.values))
        row[int(x)] = 1.0
        return row
    if isinstance(h, Ordinal):
        return x / max(len(h.values) - 1, 1)
    low, high, place = (math.log(v) if h.log else float(v) for v in (h.low, h.high, x))
    return (place - low) / (high - low)


def _stepped(h: Hyperparameter, x: float, rng: Generator) -> float | int:
    """Another value of the hyper-parameter; a nearby one for a number."""
    if isinstance(h, Categorical) or (isinstance(h, Ordinal) and len(h.values) <= _FEW):
        other = int(rng.integers(len(h.values) - 1))
        return other + (other >= x)
    if isinstance(h, Ordinal):
        up = x < len(h.values) - 1 and (x == 0 or rng.random() < 0.5)
        return int(x) + (1 if up else -1)
    step = rng.normal(0.0, _STEP)
    place = float(np.clip(_features(h, x) + step, 0.0, 1.0))
    low, high = (math.log(v) if h.log else float(v) for v in (h.low, h.high))
    value = low + place * (high - low)
    value = min(max(math.exp(value) if h.log else value, h.low), h.high)
    if isinstance(h, Float):
        return value
    whole = round(value)
    if whole != x:
        return whole
    up = whole < h.high and (whole == h.low or step > 0)
    return whole + (1 if up else -1)
