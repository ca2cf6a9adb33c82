"""Settings nested in benchmarks, families and search spaces; all members of a level have the same weight."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nasbench.results.curves import Array


@dataclass(frozen=True, eq=False)
class Tasks:
    """The space, family and benchmark of each setting, as numbers; each level is nested in the one above it."""

    space: NDArray[np.intp]
    """Number of the search space of each setting, shape (settings,)."""
    family: NDArray[np.intp]
    """Number of the family of each setting, same shape."""
    bench: NDArray[np.intp]
    """Number of the benchmark of each setting, same shape."""

    _known: dict[bytes, Tasks] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def weights(self) -> Array:
        """1 / spaces / families of the space / benchmarks of the family / constraints of the benchmark; sum 1."""
        shares = np.ones(1)
        for level in reversed(self._levels):
            shares = (shares / level.sizes)[level.parents]
        return shares / len(self._levels[-1].sizes)

    def by_bench(self, values: Array) -> Array:
        """Mean over the constraints of each benchmark, shape (benchmarks,)."""
        return self._means(values, 1)

    def by_family(self, values: Array) -> Array:
        """Mean over the benchmarks of each family, shape (families,)."""
        return self._means(values, 2)

    def by_space(self, values: Array) -> Array:
        """Mean over the families of each space, shape (spaces,)."""
        return self._means(values, 3)

    @cached_property
    def spaces(self) -> NDArray[np.intp]:
        """The numbers of the spaces, ascending: the order of `by_space`."""
        return np.unique(self.space)

    def of(self, kept: NDArray[np.intp]) -> Tasks:
        """The tasks of some settings; cached, because every pair of methods needs them."""
        key = kept.tobytes()
        if key not in self._known:
            self._known[key] = Tasks(self.space[kept], self.family[kept], self.bench[kept])
        return self._known[key]

    def _means(self, values: Array, levels: int) -> Array:
        for level in self._levels[:levels]:
            values = np.bincount(level.parents, weights=values) / level.sizes
        return values

    @cached_property
    def _levels(self) -> tuple[_Level, ...]:
        """Settings in benchmarks, benchmarks in families, families in spaces."""
        levels, rows = [], np.arange(len(self.bench))
        for names in (self.bench, self.family, self.space):
            _, first, parents, sizes = np.unique(
                names[rows], return_index=True, return_inverse=True, return_counts=True
            )
            levels.append(_Level(parents, sizes))
            rows = rows[first]
        return tuple(levels)


@dataclass(frozen=True, eq=False)
class _Level:
    """The nesting of one level in the next."""

    parents: NDArray[np.intp]
    """The member of the next level that contains each member."""
    sizes: NDArray[np.intp]
    """The number of members in each member of the next level."""
