"""How networks of a space grow, level by level: by blocks, by nodes of a cell, or one choice after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.spaces import AsBlocks, AsFlat, AsSequence, Categorical, Configuration, Space
from nasbench.benchmarks.spaces.blocks import Cell
from nasbench.benchmarks.spaces.cells.operations import EDGES
from nasbench.benchmarks.spaces.errors import UsageError
from nasbench.benchmarks.spaces.network_grids import CellGrid
from nasbench.methods.popnas.cells import blocks_of, canonical, counts, time_features
from nasbench.methods.popnas.fronts import Element

_NODES = 3  # of NAS-Bench-201's cell, beside its input
_MOST_CHOICES = 1000

Array: TypeAlias = NDArray[np.float64]
Group: TypeAlias = tuple[Any, ...]
"""What one level decides: a block, or option numbers of the choices of the level."""
Member: TypeAlias = tuple[Group, ...]
"""A network that can be evaluated, as the groups that are decided; the rest is filled in."""


class Growth(ABC):
    """The levels of a space; a member of level b has b groups."""

    @property
    @abstractmethod
    def levels(self) -> int:
        """The last level of the members that have been looked at."""

    @abstractmethod
    def groups(self, member: Member) -> Sequence[Group]:
        """What the next level may add to a member; nothing where it is whole."""

    def idle(self, member: Member) -> Group | None:
        """What the next level may add that leaves the network as it is; None where everything changes it."""
        return None

    @abstractmethod
    def key(self, member: Member) -> Hashable:
        """The same for members that are the same network."""

    @abstractmethod
    def configuration(self, member: Member) -> Configuration:
        """The configuration of a member, what is not decided filled in."""

    @abstractmethod
    def elements(self, member: Member) -> Sequence[Element]:
        """The parts of a member, of which an exploration brings back those that a front neglects."""

    @abstractmethod
    def features(self, members: Sequence[Member], seconds: Mapping[Hashable, float]) -> Array:
        """What predictors see, shape (members, features).

        Args:
            members: those to describe.
            seconds: of the trainings that are known, by key.
        """

    def foremost(self) -> Sequence[Member]:
        """Members of the first level without which the features lack something."""
        return ()


class BlockGrowth(Growth):
    """A level adds one block to the cell: POPNAS as published."""

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
        """The operators by the seconds that they take beyond an empty cell, the slowest 1 (dynamic reindex).

        No empty cell can be trained here: it stands at nine tenths of the fastest. An operator that has not been timed
        counts with the mean.
        """
        found = [seconds.get(canonical(cell), np.nan) for cell in self.foremost()]
        if np.isnan(found).all():
            return [1.0] * self._operators
        beyond = np.array(found) - 0.9 * np.nanmin(found)
        beyond = np.where(np.isnan(beyond), np.nanmean(beyond), beyond)
        weights: list[float] = (beyond / (beyond.max() or 1.0)).tolist()
        return weights


class StepGrowth(Growth):
    """A level decides one choice; later ones take their middle value. Nothing grows: a progressive search.

    Raises UsageError where the choices of the space do not end, or one is a real number.
    """

    def __init__(self, space: Space) -> None:
        assert isinstance(space, AsSequence)
        self._space, self._first = space, space.as_sequence
        self._known = lru_cache(maxsize=200_000)(self._filled)
        self._deepest = 0
        self._known(())

    @property
    def levels(self) -> int:
        return self._deepest  # some options lead to more choices than others

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
        """A column for each value of a choice that occurs, and for each choice among numbers one with their order."""
        rows = [self._space.values(self._known(member)[1]) for member in members]
        values: dict[str, dict[Any, None]] = {}
        for row in rows:
            for name, value in row.items():
                values.setdefault(name, {})[value] = None
        columns = []
        for name, own in values.items():
            chosen = [row.get(name) for row in rows]
            columns += [[float(value == one) for value in chosen] for one in own]
            if len(own) > 2 and all(isinstance(value, int | float) for value in own):
                order = {value: place / (len(own) - 1) for place, value in enumerate(sorted(own))}
                columns.append([order.get(value, 0.5) for value in chosen])
        return np.array(columns).T

    def _filled(self, member: Member) -> tuple[tuple[int, ...], Configuration, tuple[int, ...]]:
        """The options of all choices, the configuration that they make, and of how many each was chosen."""
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
        """What stands for a choice that is not decided."""
        return options // 2


class NodeGrowth(StepGrowth):
    """A level decides all edges into one node of NAS-Bench-201's cell, which ends there: an adaptation of POPNAS.

    The last node that is decided is passed on to the end by skip connections, and no other edge leads there. So there
    are 5, 125 and 15,625 cells of one, two and three nodes.
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
        """Each edge's operation, and how often each occurs: what was seen on one edge tells of the next level's."""
        chosen = np.array([self._known(member)[0] for member in members])
        hot = chosen[:, :, None] == np.arange(self._operations)
        found: Array = np.hstack([hot.reshape(len(chosen), -1), hot.sum(axis=1)]).astype(float)
        return found

    def _filling(self, place: int, options: int) -> int:
        source, target = EDGES[place]
        return self._skip if source == target - 1 else self._none


def growth_of(space: Space) -> Growth:
    """How the networks of a space grow. Raises UsageError where its choices do not end."""
    if isinstance(space, AsBlocks):
        return BlockGrowth(space)
    if space.table_kind == CellGrid.table_kind and isinstance(space, AsFlat):
        operations = space.as_flat().hyperparameters[0]
        if isinstance(operations, Categorical) and {"skip_connect", "none"} <= set(operations.values):
            return NodeGrowth([str(value) for value in operations.values], space)
    return StepGrowth(space)
