"""Hashed features of the configurations of any space, for linear models."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias
from zlib import crc32

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.benchmarks.spaces._finite import FiniteSpace
from nasbench.benchmarks.spaces.base import Configuration, Space
from nasbench.benchmarks.spaces.hyperparameters import Categorical, Ordinal, binned
from nasbench.benchmarks.spaces.parameters import ParameterSpace
from nasbench.benchmarks.spaces.views import AsTokens

Indices: TypeAlias = NDArray[np.int64]

_MOST_ROWS = 1 << 63  # numbers of rows beyond overflow NumPy's integers
_MOST_KNOWN = 100_000  # configurations whose buckets are kept


class Hashed:
    """Configurations as indices of buckets (Weinberger et al., ICML 2009): each token adds 1 to the bucket of its hash.

    Args:
        buckets: the number of buckets; the index `buckets` is padding.
    """

    def __init__(self, space: Space, buckets: int) -> None:
        self._space, self._buckets = space, buckets
        self._known: dict[Configuration, Indices] = {}
        self._tokens = tokenizer(space)
        self._rows = _numbered(space)
        choices = [h for h in self._rows.hyperparameters if isinstance(h, Categorical | Ordinal)] if self._rows else []
        if self._rows is not None and len(choices) == len(self._rows.hyperparameters):
            words = [[f"{h.name}={value}" for value in h.values] for h in choices]
            self._starts = np.cumsum([0, *map(len, words[:-1])])
            self._table = np.array([self._bucket(word) for group in words for word in group])
        else:
            self._rows = None

    def of(self, configuration: Configuration) -> Indices:
        """The buckets of one configuration, one per token."""
        buckets = self._known.get(configuration)
        if buckets is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            buckets = np.array([self._bucket(token) for token in self._tokens(configuration)], np.int64)
            self._known[configuration] = buckets
        return buckets

    def draw(self, n: int, rng: Generator) -> tuple[Callable[[int], Configuration], Indices]:
        """n random configurations, as a function of their number, and their buckets, shape (n, tokens), padded."""
        space = self._rows
        if space is not None:
            rows = space.sample_rows(n, rng)
            return lambda i: space.configuration(int(rows[i])), self._table[space.digits(rows) + self._starts]
        drawn = [self._space.sample(rng) for _ in range(n)]
        buckets = [self.of(configuration) for configuration in drawn]
        padded = np.full((n, max(map(len, buckets))), self._buckets, np.int64)
        for row, indices in zip(padded, buckets, strict=True):
            row[: len(indices)] = indices
        return drawn.__getitem__, padded

    def _bucket(self, token: str) -> int:
        return crc32(token.encode()) % self._buckets


def _numbered(space: Space) -> FiniteSpace | None:
    """The space if its configurations have numbers that an array can hold, and no words of their own."""
    if isinstance(space, FiniteSpace) and not isinstance(space, AsTokens) and space.size < _MOST_ROWS:
        return space
    return None


def tokenizer(space: Space) -> Callable[[Configuration], list[str]]:
    """The function that writes a configuration of a space as words.

    The words are its values by name, numbers in bins. A program adds its modules and their sequences.
    """
    if isinstance(space, AsTokens):
        return space.as_tokens
    ranges = {h.name: h for h in space.hyperparameters} if isinstance(space, ParameterSpace | FiniteSpace) else {}
    return lambda configuration: [
        f"{name}={binned(ranges.get(name), value)}" for name, value in space.values(configuration).items()
    ]
