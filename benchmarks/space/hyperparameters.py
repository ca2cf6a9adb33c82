"""The hyper-parameters of a grid: a name and a finite list of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.errors import UsageError


@dataclass(frozen=True)
class Categorical:
    """Values without an order."""

    name: str
    values: tuple[str | int | float | bool, ...]

    def __post_init__(self) -> None:
        _check_values(self)

    @property
    def kind(self) -> str:
        return "categorical"


@dataclass(frozen=True)
class Ordinal:
    """Numeric levels, ascending; `log` says that ratios, not differences, measure their distance."""

    name: str
    values: tuple[int | float, ...]
    log: bool = False

    def __post_init__(self) -> None:
        _check_values(self)
        if list(self.values) != sorted(self.values):
            raise UsageError(f"the levels of {self.name} must ascend: {list(self.values)}")
        if self.log and self.values[0] <= 0:
            raise UsageError(f"the levels of {self.name} must be positive on a log scale: {list(self.values)}")

    @property
    def kind(self) -> str:
        return "ordinal, log" if self.log else "ordinal"


Hyperparameter: TypeAlias = Categorical | Ordinal


def _check_values(hyperparameter: Hyperparameter) -> None:
    values = hyperparameter.values
    if not values or len(set(values)) != len(values):
        raise UsageError(f"{hyperparameter.name} needs one or more distinct values, not {list(values)}")
