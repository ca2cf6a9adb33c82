"""What an incumbent is worth: the contract of a score."""

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
    """The stored columns that scores name; one that the fragment's version lacks is absent. What is true, false or not
    known is 1, 0 or -1."""
    exists: NDArray[np.bool_]
    """Whether anything feasible was found yet, shape (rows,)."""
    row: NDArray[np.intp]
    """The row at which the incumbent was evaluated, shape (rows,); the run's first row before there is one."""
    observed: Array
    """What the method observed of it, shape (rows,); NaN before anything feasible was trained to the highest level."""


class Score(ABC):
    """What an incumbent counts with in a report; lower is better. The method chooses it by what it observes."""

    name: str
    """What the user writes after `--score`."""
    phrase: str
    """What is compared, as the end of a sentence: `the mean of …`."""
    note: str
    """How the score is computed, in a sentence without its full stop."""
    columns: tuple[str, ...] = ()
    """The columns of a trajectory that it needs."""

    @abstractmethod
    def values(self, incumbents: Incumbents) -> Array | None:
        """The worth of the incumbent after each row, shape (rows,); NaN where there is none that counts.

        None where the rows do not tell: then what was observed counts.
        """

    def limit(self, settings: pd.DataFrame, name: str) -> Array:
        """The best (`oracle`) or worst (`worst`) value that an incumbent can have, shape (settings,); NaN if unknown.

        Args:
            settings: a row per setting, with the fields of `trajectory.Setting`.
        """
        return settings[name].to_numpy(float).copy()
