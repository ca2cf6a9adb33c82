"""Growth of networks level by level: by blocks, by nodes of a cell, or by single choices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.base.errors import UsageError
from nasbench.benchmarks.spaces import AsBlocks, AsFlat, AsSequence, Categorical, Configuration, Space
from nasbench.benchmarks.spaces.blocks import Cell
from nasbench.benchmarks.spaces.cells.operations import EDGES
from nasbench.benchmarks.spaces.listed import ListedSpace
from nasbench.benchmarks.spaces.network_grids import CellGrid
from nasbench.methods.growing.popnas.cells import blocks_of, canonical, counts, time_features
from nasbench.methods.growing.popnas.fronts import Element

_NODES = 3  # nodes of NAS-Bench-201's cell, without its input
_MOST_CHOICES = 1000

Array: TypeAlias = NDArray[np.float64]
Group: TypeAlias = tuple[Any, ...]
"""The decision of one level: a block, or the option numbers of the level's choices."""
Member: TypeAlias = tuple[Group, ...]
"""A network, given by the groups decided so far; the other choices get default values."""


class Growth(ABC):
    """The levels at which the networks of a space grow; a member of level b has b groups."""

    @property
    @abstractmethod
    def levels(self) -> int:
        """The last level, as far as the members seen so far show."""

    @abstractmethod
    def groups(self, member: Member) -> Sequence[Group]:
        """The groups that the next level may add to a member; empty if the member is complete."""

    def idle(self, member: Member) -> Group | None:
        """The group of the next level that leaves the network unchanged; None if every group changes it."""
        return None

    @abstractmethod
    def key(self, member: Member) -> Hashable:
        """A key that is equal for members that are the same network."""

    @abstractmethod
    def configuration(self, member: Member) -> Configuration:
        """The configuration of a member, with default values for undecided choices."""

    @abstractmethod
    def elements(self, member: Member) -> Sequence[Element]:
        """The parts of a member, for the exploration front."""

    @abstractmethod
    def features(self, members: Sequence[Member], seconds: Mapping[Hashable, float]) -> Array:
        """Inputs of the predictors, shape (members, features).

        Args:
            members: the members to describe.
            seconds: training times observed so far, by key.
        """

    def foremost(self) -> Sequence[Member]:
        """Members of the first level that the features need."""
        return ()


class BlockGrowth(Growth):
    """Growth by one block of the cell per level, as in POPNAS."""

    def __init__(self, space: AsBlocks) -> None:
        self._space = space.as_blocks()
        self._operators = len(self._space.operators)
        self._blocks = lru_cache(maxsize=None)(lambda number: blocks_of(number, self._space.lookbacks, self._operators))

    @property
    def levels(self) -> int:
        return self._space.most

    def groups(self, member: Member) -> Sequence[Group]:
        return self._blocks(len(member) + 1) if len(member) < self.levels else ()

    def key(self, member: Cell) -> Hashable:
        return canonical(member)

    def configuration(self, member: Cell) -> Configuration:
        return self._space.configuration(member)

    def elements(self, member: Cell) -> Sequence[Element]:
        halves = [half for block in member for half in block]
        return [("input", source) for source, _ in halves] + [("operator", operator) for _, operator in halves]

    def foremost(self) -> Sequence[Member]:
        return [(((-1, operator), (-1, operator)),) for operator in range(self._operators)]

    def features(self, members: Sequence[Cell], seconds: Mapping[Hashable, float]) -> Array:
        weights = self.weights(seconds)
        cells, lookbacks = self._space.cells, self._space.lookbacks
        return np.array([time_features(c, weights, cells) + counts(c, lookbacks, self._operators) for c in members])

    def weights(self, seconds: Mapping[Hashable, float]) -> list[float]:
        """Weights of the operators by their seconds beyond an empty cell, the slowest 1 (dynamic reindex).

        No empty cell can be trained here, so its time is taken as nine tenths of the fastest. An operator that has not
        been timed gets the mean.
        """
        times = [seconds.get(canonical(cell), np.nan) for cell in self.foremost()]
        if np.isnan(times).all():
            return [1.0] * self._operators
        beyond = np.array(times) - 0.9 * np.nanmin(times)
        beyond = np.where(np.isnan(beyond), np.nanmean(beyond), beyond)
        weights: list[float] = (beyond / (beyond.max() or 1.0)).tolist()
        return weights


class StepGrowth(Growth):
    """A progressive search: each level decides one choice, and later choices take their middle option.

    Raises UsageError if the choices of the space do not end, or if one is a real number.
    """

    def __init__(self, space: Space) -> None:
        assert isinstance(space, AsSequence)
        self._space, self._first = space, space.as_sequence
        self._known = lru_cache(maxsize=200_000)(self._filled)
        self._deepest = 0
        self._known(())

    @property
    def levels(self) -> int:
        return self._deepest  # the number of choices depends on the options taken

    def groups(self, member: Member) -> Sequence[Group]:
        counts = self._known(member)[2]
        return [(option,) for option in range(counts[len(member)])] if len(member) < len(counts) else ()

    def idle(self, member: Member) -> Group | None:
        groups, begin = self.groups(member), sum(map(len, member))
        return self._known(member)[0][begin : begin + len(groups[0])] if groups else None

    def key(self, member: Member) -> Hashable:
        return self._known(member)[0]

    def configuration(self, member: Member) -> Configuration:
        return self._known(member)[1]

    def elements(self, member: Member) -> Sequence[Element]:
        return [("operator", (place, option)) for place, (option,) in enumerate(member)]

    def features(self, members: Sequence[Member], seconds: Mapping[Hashable, float]) -> Array:
        """One column per value of each choice that occurs, and one with the order for each choice among numbers."""
        described = self._space.by_hyperparameter if isinstance(self._space, ListedSpace) else self._space.values
        rows = [described(self._known(member)[1]) for member in members]
        values: dict[str, dict[Any, None]] = {}
        for row in rows:
            for name, value in row.items():
                values.setdefault(name, {})[value] = None
        columns = []
        for name, occurring in values.items():
            chosen = [row.get(name) for row in rows]
            columns += [[float(value == candidate) for value in chosen] for candidate in occurring]
            if len(occurring) > 2 and all(isinstance(value, int | float) for value in occurring):
                order = {value: place / (len(occurring) - 1) for place, value in enumerate(sorted(occurring))}
                columns.append([order.get(value, 0.5) for value in chosen])
        return np.array(columns).T

    def _filled(self, member: Member) -> tuple[tuple[int, ...], Configuration, tuple[int, ...]]:
        """The options of all choices, their configuration, and the number of options of each choice."""
        walk, decided = self._first(), [option for group in member for option in group]
        options: list[int] = []
        counts: list[int] = []
        while walk.options:
            place = len(options)
            if place >= _MOST_CHOICES:
                raise UsageError(f"popnas cannot search this space: it has more than {_MOST_CHOICES} choices in a row")
            counts.append(walk.options)
            options.append(decided[place] if place < len(decided) else self._filling(place, walk.options))
            walk = walk.take(options[-1])
        self._deepest = max(self._deepest, len(options))
        return tuple(options), walk.configuration, tuple(counts)

    def _filling(self, place: int, options: int) -> int:
        """The option of an undecided choice."""
        return options // 2


class NodeGrowth(StepGrowth):
    """An adaptation of POPNAS: each level decides all edges into one node of NAS-Bench-201's cell.

    Skip connections lead from the last decided node to the end, and no other edges. So there are 5, 125 and 15,625
    cells of one, two and three nodes.
    """

    def __init__(self, operations: Sequence[str], space: Space) -> None:
        self._operations = len(operations)
        self._skip, self._none = operations.index("skip_connect"), operations.index("none")
        super().__init__(space)

    @property
    def levels(self) -> int:
        return _NODES

    def groups(self, member: Member) -> Sequence[Group]:
        edges = len(member) + 1
        return list(product(range(self._operations), repeat=edges)) if edges <= _NODES else ()

    def elements(self, member: Member) -> Sequence[Element]:
        return [("operator", option) for group in member for option in group]

    def features(self, members: Sequence[Member], seconds: Mapping[Hashable, float]) -> Array:
        """The operation of each edge, and the count of each operation, which also informs about later edges."""
        chosen = np.array([self._known(member)[0] for member in members])
        hot = chosen[:, :, None] == np.arange(self._operations)
        rows: Array = np.hstack([hot.reshape(len(chosen), -1), hot.sum(axis=1)]).astype(float)
        return rows

    def _filling(self, place: int, options: int) -> int:
        source, target = EDGES[place]
        return self._skip if source == target - 1 else self._none


def growth_of(space: Space) -> Growth:
    """The growth of a space's networks. Raises UsageError if the choices of the space do not end."""
    if isinstance(space, AsBlocks):
        return BlockGrowth(space)
    if space.table_kind == CellGrid.table_kind and isinstance(space, AsFlat):
        operations = space.as_flat().hyperparameters[0]
        if isinstance(operations, Categorical) and {"skip_connect", "none"} <= set(operations.values):
            return NodeGrowth([str(value) for value in operations.values], space)
    return StepGrowth(space)
