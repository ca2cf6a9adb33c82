"""The contract of a score: the value by which an incumbent is compared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Incumbents:
    """The incumbent after each row of a fragment."""

    columns: Mapping[str, NDArray[Any]]
    """The stored columns that scores name. Booleans that may be
    unknown are 1, 0 or -1."""
    exists: NDArray[np.bool_]
    """Whether there is an incumbent, shape (rows,)."""
    row: NDArray[np.intp]
    """The row at which the incumbent was evaluated, shape (rows,); the run's first row if there is none."""
    observed: Array
    """Its observed objective, shape (rows,); NaN before a feasible configuration was trained to the highest level."""
    is_whole: NDArray[np.bool_]
    """Whether the row is a full evaluation, shape (rows,): one up to the highest level."""


class Score(ABC):
    """A value of incumbents in a report; lower is better. The method chooses incumbents by observed values."""

    name: str
    """The value of the option `--score`."""
    phrase: str
    """The compared quantity as a noun phrase without an article: `incumbent's mean over …`."""
    note: str
    """The computation of the score, as a sentence without its full stop."""
    columns: tuple[str, ...] = ()
    """The columns of a trajectory that it needs."""
    is_of_objective: bool = True
    """Whether it is a value of the objective, which claims and numbers of papers are about."""

    @abstractmethod
    def values(self, incumbents: Incumbents) -> Array | None:
        """The value of the incumbent after each row, shape (rows,); NaN if there is none that counts.

        None if the rows lack this score; then the observed value counts.
        """

    def described(self, settings: pd.DataFrame) -> pd.DataFrame:
        """The settings, one per row with the fields of `trajectory.Setting`, as they are for this score."""
        return settings

    def limit(self, settings: pd.DataFrame, name: str) -> Array:
        """The best (`oracle`) or worst (`worst`) possible value of an incumbent, shape (settings,); NaN if unknown.

        Args:
            settings: one row per setting, with the fields of `trajectory.Setting`.
        """
        return settings[name].to_numpy(float).copy()
