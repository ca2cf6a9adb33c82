"""Finite spaces: the configurations are numbered, as the rows of a table are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.benchmarks.spaces.base import Configuration, Space
from nasbench.benchmarks.spaces.hyperparameters import Hyperparameter


class FiniteSpace(Space):
    """Finitely many configurations, numbered from 0."""

    hyperparameters: tuple[Hyperparameter, ...]
    """The hyper-parameters, in the order of `values`."""
    size: int
    """Number of configurations."""
    revision: ClassVar[str] = ""
    """The end of the checksum of a table over this space. Change it when a view proposes otherwise than before, so that
    older runs count as stale."""

    @abstractmethod
    def index(self, configuration: Configuration) -> int:
        """The number of a configuration, in [0, size). Raises ForeignConfiguration if it is not of this space."""

    @abstractmethod
    def configuration(self, index: int) -> Configuration:
        """The configuration with a number: the inverse of `index`. Raises IndexError outside [0, size)."""

    @abstractmethod
    def neighbours(self, configuration: Configuration) -> list[Configuration]:
        """All possible results of `mutate`, without repetition."""

    def key(self, configuration: Configuration) -> str:
        """The text that stands for a configuration in files; by default its values, joined by colons."""
        return ":".join(map(str, self.values(configuration).values()))

    def sample_rows(self, n: int, rng: Generator) -> NDArray[np.int64]:
        """The numbers of the configurations that n calls of `sample` would draw from the same stream, shape (n,)."""
        return np.array([self.index(self.sample(rng)) for _ in range(n)], np.int64)

    def digits(self, rows: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """The index of each hyper-parameter's value in some rows, shape (rows, hyper-parameters).

        None if a hyper-parameter is a real number.
        """
        return None

    def __iter__(self) -> Iterator[Configuration]:
        """All configurations in the order of their numbers."""
        return map(self.configuration, range(self.size))

    def check(self, configuration: Configuration) -> None:
        self.index(configuration)
