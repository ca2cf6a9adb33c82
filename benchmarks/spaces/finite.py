"""Finite spaces: the configurations are numbered, as the rows of a table are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.spaces.base import Block, Configuration, Space
from nasbench.benchmarks.spaces.hyperparameters import Hyperparameter


class FiniteSpace(Space):
    """Finitely many configurations, numbered from 0; a block of them is an integer array of their numbers."""

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

    def digits(self, block: Block) -> NDArray[np.int64] | None:
        """The index of each hyper-parameter's value, shape (configurations, hyper-parameters).

        None if a hyper-parameter is a real number.
        """
        return None

    def __iter__(self) -> Iterator[Configuration]:
        """All configurations in the order of their numbers."""
        return map(self.configuration, range(self.size))

    def check(self, configuration: Configuration) -> None:
        self.index(configuration)

    def has_block(self, block: Block, n: int) -> bool:
        """Whether `block` is the numbers of n configurations."""
        return (
            isinstance(block, np.ndarray)
            and block.shape == (n,)
            and block.dtype == np.int64
            and bool(((block >= 0) & (block < self.size)).all())
        )

    def block_to_json(self, rows: NDArray[np.int64]) -> NDArray[np.object_]:
        """`to_json` of many configurations, as an array of str of the same shape; each text is made once."""
        for row in set(rows[self._row_json[rows] == ""].tolist()):
            self._row_json[row] = self.to_json(self.configuration(row))
        texts: NDArray[np.object_] = self._row_json[rows]
        return texts

    @cached_property
    def _row_json(self) -> NDArray[np.object_]:
        """The JSON of each configuration once it has been made, empty before."""
        return np.full(self.size, "", dtype=object)
