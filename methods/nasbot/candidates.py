"""Candidates of the acquisition: the whole space if it can be listed, else found by evolution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.benchmarks.spaces import AsGraph, AsScalars, Configuration, FiniteSpace, Space
from nasbench.benchmarks.spaces.graphs.canonical import canonical
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.space import NetworkSpace
from nasbench.methods.nasbot.families import USUAL, Weighing, family_of
from nasbench.methods.nasbot.otmann import NUS, Encoded, Packed, packed, to_all

Array = NDArray[np.float64]
Acquisition: TypeAlias = Callable[[Array], Array]
"""Values of candidates, from their distances to the configurations asked for, shape (measures, candidates, asked)."""
Allowed: TypeAlias = Callable[[Configuration], bool]
"""Whether a configuration satisfies every constraint that is known without an evaluation."""

MOST_LISTED = 50_000
_MOST_DRAWS = 200  # draws for a mutant that is allowed and new
STEPS = np.array([0.5, 0.25, 0.125, 0.075, 0.05])
"""Probability that a mutant differs by 1, 2, … modifications."""


class Point(NamedTuple):
    """A configuration as input of the kernel."""

    network: Encoded
    scalars: tuple[float, ...]
    """The scalars beside the network (the view `as_scalars`), each in [0, 1]."""
    identity: Hashable
    """Equal for equal candidates: the network in any order of its layers, or the configuration where it may hold more
    than its network."""

    @classmethod
    def of(cls, space: Space, configuration: Configuration, weighing: Weighing = USUAL) -> Point:
        """The point of a configuration, in a space that has the view `AsGraph`."""
        assert isinstance(space, AsGraph)  # see `Method.needs`
        network = encoded(space.as_graph(configuration), weighing)
        if not isinstance(space, AsScalars):
            return cls(network, (), network.graph)
        return cls(network, space.as_scalars(configuration), network.graph if space.shows_all() else configuration)


class Candidates(ABC):
    """Networks to propose, and their distances to those that were asked for.

    A configuration that is not allowed is proposed only if nothing else is left.
    """

    scalars = 0
    """Number of scalars beside each network."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        """Number of mutants made by each modifier, if the space reports modifiers."""

    @abstractmethod
    def add(self, configuration: Configuration) -> None:
        """Adds a configuration that has been asked for: distances to it are computed, and it is not proposed again."""

    @abstractmethod
    def between(self) -> Array:
        """Distances between all configurations asked for, shape (measures, asked, asked)."""

    @abstractmethod
    def random(self, rng: Generator) -> Configuration:
        """A random candidate that has not been asked for."""

    @abstractmethod
    def best(self, acquisition: Acquisition, rng: Generator) -> Configuration:
        """The candidate with the largest acquisition; in a tie, a random one."""


class Listed(Candidates):
    """Every network of a finite space; configurations with the same graph are one candidate."""

    def __init__(self, space: FiniteSpace, allowed: Allowed = lambda _: True, weighing: Weighing = USUAL) -> None:
        super().__init__()
        self._networks, self._packed, members, self._number = _listed(space, weighing)
        kept = [[member for member in group if allowed(member)] for group in members]
        self._penalties = np.where([not group for group in kept], -np.inf, 0.0)
        self._members = [allowed_group or group for allowed_group, group in zip(kept, members, strict=True)]
        self._asked: list[int] = []
        self._distances = np.empty((0, 2 * len(NUS), len(members)))
        """Distances of each asked network to all networks; the array has spare rows."""

    def add(self, configuration: Configuration) -> None:
        number, count = self._number[configuration], len(self._asked)
        if count == len(self._distances):
            self._distances = np.concatenate([self._distances, np.empty((32, *self._distances.shape[1:]))])
        known = self._asked.index(number) if number in self._asked else None
        self._distances[count] = self._row(number) if known is None else self._distances[known]
        self._asked.append(number)

    def between(self) -> Array:
        return self._to_asked[:, self._asked]

    def random(self, rng: Generator) -> Configuration:
        return self._chosen(np.zeros(len(self._members)), rng)

    def best(self, acquisition: Acquisition, rng: Generator) -> Configuration:
        return self._chosen(acquisition(self._to_asked), rng)

    @property
    def _to_asked(self) -> Array:
        """Shape (measures, networks, asked)."""
        return self._distances[: len(self._asked)].transpose(1, 2, 0)

    def _chosen(self, values: Array, rng: Generator) -> Configuration:
        """A random configuration among the networks with the largest value that have not been asked for."""
        values = values + self._penalties
        values[self._asked] = -np.inf
        members = self._members[_largest(values, rng)]
        return members[int(rng.integers(len(members)))]

    def _row(self, number: int) -> Array:
        """Distances of all networks to the network `number`, shape (measures, networks)."""
        return to_all(self._networks[number], self._packed).reshape(2 * len(NUS), -1)


class Evolved(Candidates):
    """Mutants of the configurations asked for, found by evolution of the acquisition (section 4).

    The number of evolution's steps grows with the number of configurations asked for.
    """

    def __init__(
        self,
        space: Space,
        allowed: Allowed = lambda _: True,
        begins: int | None = None,
        weighing: Weighing = USUAL,
    ) -> None:
        super().__init__()
        self._space, self._allowed, self._begins, self._weighing = space, allowed, begins, weighing
        self._asked: list[Configuration] = []
        self._points: list[Point] = []
        self._packed: Packed | None = None
        """The networks of all configurations asked for."""
        self._rows: list[Array] = []
        """Distances of each configuration asked for to the earlier ones."""
        self.scalars = len(self._point(space.sample(np.random.default_rng(0))).scalars)

    def add(self, configuration: Configuration) -> None:
        point = self._point(configuration)
        self._rows.append(self._to_asked([point])[:, 0])
        self._asked.append(configuration)
        self._points.append(point)
        self._packed = None

    def between(self) -> Array:
        count = len(self._rows)
        distances = np.zeros((2 * len(NUS) + self.scalars, count, count))
        for i, row in enumerate(self._rows):
            distances[:, i, :i] = distances[:, :i, i] = row
        return distances

    def random(self, rng: Generator) -> Configuration:
        seen, drawn = {point.identity for point in self._points}, None
        for _ in range(_MOST_DRAWS):
            drawn = mutant(self._space, self._asked[int(rng.integers(len(self._asked)))], rng, self.made)
            if self._allowed(drawn) and self._point(drawn).identity not in seen:
                break
        return drawn

    def best(self, acquisition: Acquisition, rng: Generator) -> Configuration:
        budget = int(np.clip(25 * np.sqrt(len(self._asked)), 50, 500))
        brood = int(np.clip(3 * np.sqrt(budget), 5, 100))
        known = self._asked[: self._begins]
        first = len(known)
        values = self._valued(self.between()[:, :first], known, acquisition)
        fresh: dict[Hashable, tuple[Configuration, float]] = {}
        seen = {point.identity for point in self._points}
        while (left := budget + first - len(known)) > 0:
            mutants = [mutant(self._space, known[i], rng, self.made) for i in parents(values, min(brood, left), rng)]
            points = [self._point(m) for m in mutants]
            new_values = self._valued(self._to_asked(points), mutants, acquisition)
            known += mutants
            values = np.append(values, new_values)
            for point, configuration, value in zip(points, mutants, new_values.tolist(), strict=True):
                fresh.setdefault(point.identity, (configuration, value))
        new = [pair for identity, pair in fresh.items() if identity not in seen] or list(fresh.values())
        new = [pair for pair in new if self._allowed(pair[0])] or new
        return new[_largest(np.array([value for _, value in new]), rng)][0]

    def _point(self, configuration: Configuration) -> Point:
        return Point.of(self._space, configuration, self._weighing)

    def _valued(self, distances: Array, configurations: Sequence[Configuration], acquisition: Acquisition) -> Array:
        """The acquisition of configurations; zero if one is not allowed."""
        values: Array = acquisition(distances) * np.array([float(self._allowed(c)) for c in configurations])
        return values

    def _to_asked(self, points: Sequence[Point]) -> Array:
        """Distances of points to the configurations asked for, shape (measures, points, asked)."""
        measures = 2 * len(NUS)
        distances = np.zeros((measures + self.scalars, len(points), len(self._points)))
        if not self._points:
            return distances
        if self._packed is None:
            self._packed = packed([point.network for point in self._points])
        rows: dict[LayerGraph, Array] = {}  # configurations that differ in scalars only share a network
        for i, point in enumerate(points):
            row = rows.get(point.network.graph)
            if row is None:
                row = rows[point.network.graph] = to_all(point.network, self._packed).reshape(measures, -1)
            distances[:measures, i] = row
        for k in range(self.scalars):
            values, asked = (np.array([p.scalars[k] for p in group]) for group in (points, self._points))
            distances[measures + k] = (values[:, None] - asked) ** 2
        return distances


def candidates_of(
    space: Space, allowed: Allowed = lambda _: True, begins: int | None = None, weighing: Weighing = USUAL
) -> Candidates:
    """The whole space if it can be listed, which was measured to be faster than evolution; else evolution.

    A space with scalars beside its networks is not listed: most of its configurations differ in the scalars alone.

    Args:
        begins: number of configurations, the first asked for, from which evolution begins; by default all.
    """
    if isinstance(space, FiniteSpace) and space.size <= MOST_LISTED and not isinstance(space, AsScalars):
        return Listed(space, allowed, weighing)
    return Evolved(space, allowed, begins, weighing)


@lru_cache(maxsize=1 << 14)
def encoded(graph: LayerGraph, weighing: Weighing = USUAL) -> Encoded:
    """A network encoded for OTMANN, the same for every order of its layers."""
    return _encoded(canonical(graph), weighing)


@lru_cache(maxsize=1 << 14)
def _encoded(graph: LayerGraph, weighing: Weighing) -> Encoded:
    return Encoded(graph, family_of(graph.kind, weighing))


def parents(values: Array, count: int, rng: Generator) -> NDArray[np.int64]:
    """Indices drawn with replacement, with probabilities proportional to exp((value - mean) / 2 deviations)."""
    scaled = values / (np.abs(values).max() or 1.0)  # improvements may be as small as 1e-188
    deviation = scaled.std()
    weights = np.exp((scaled - scaled.mean()) / (2 * deviation)) if deviation > 0 else np.ones(len(values))
    return rng.choice(len(values), count, p=weights / weights.sum())


def mutant(space: Space, parent: Configuration, rng: Generator, made: Counter[str]) -> Configuration:
    """A configuration one to five modifications away; modifiers are counted in `made` if the space reports them."""
    for _ in range(1 + int(rng.choice(len(STEPS), p=STEPS))):
        if isinstance(space, NetworkSpace):
            parent, name = space.modified(parent, rng)
            made[name] += 1
        else:
            parent = space.mutant(parent, rng)
    return parent


@lru_cache(maxsize=4)
def _listed(
    space: FiniteSpace, weighing: Weighing
) -> tuple[list[Encoded], Packed, list[list[Configuration]], dict[Configuration, int]]:
    """Every distinct network of a space, the configurations of each, and the network's number by configuration."""
    assert isinstance(space, AsGraph)  # see `Method.needs`
    classes: dict[LayerGraph, list[Configuration]] = {}
    for index in range(space.size):
        configuration = space.configuration(index)
        graph = canonical(space.as_graph(configuration))
        classes.setdefault(graph, []).append(configuration)
    members = list(classes.values())
    number = {configuration: i for i, group in enumerate(members) for configuration in group}
    networks = [Encoded(graph, family_of(graph.kind, weighing)) for graph in classes]
    return networks, packed(networks), members, number


def _largest(values: Array, rng: Generator) -> int:
    return int(rng.choice(np.flatnonzero(values == values.max())))
