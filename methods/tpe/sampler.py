"""Observations as TPE keeps them, and its proposals. Importing this module loads numba; the methods do so late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.benchmarks.spaces import Configuration, Flat, GridSpace, Ordinal
from nasbench.methods.tpe import compiled
from nasbench.methods.tpe.dimensions import Dimensions
from nasbench.methods.tpe.splits import BAD, GOOD, OUT, split_constraint, split_objective


@dataclass(frozen=True)
class Rules:
    """What distinguishes the methods of this family."""

    candidates: int
    """Drawn from the good density of every metric."""
    relative: bool
    """Score by relative density ratios (c-TPE), or by plain ones (naive)."""
    feasible_first: bool
    """Split the objective at feasible observations (c-TPE), or at any (naive, vanilla)."""
    joint: bool
    """Draw candidates from the joint mixture (the paper), or each hyper-parameter on its own (the scripts)."""
    oldest_only: bool
    """See `split_constraint`."""
    snap_late: bool
    """See `Dimensions` (`continuous_log`)."""


class Sampler:
    """The observations of one run and the next proposal."""

    def __init__(self, flat: Flat, limits: list[float], rules: Rules) -> None:
        """`limits`: a constraint is satisfied by values <= its limit (the caller turns lower bounds around)."""
        dimensions = Dimensions(flat.hyperparameters, flat.conditions, rules.snap_late)
        self._flat, self._dimensions, self._limits, self._rules = flat, dimensions, limits, rules
        self._n = 0
        self._levels = np.zeros((len(dimensions), 64), np.int32)
        self._points = np.full((len(dimensions), 64), np.nan)
        self._values = np.full((1 + len(limits), 64), np.nan)
        self._present = np.zeros((len(limits), 64), np.bool_)  # of constraints: which rows are observations of them
        self._ok = np.zeros(64, np.bool_)
        self._feasible = np.zeros(64, np.bool_)
        self._repeated = np.zeros((len(limits), 64), np.bool_)
        self._seen: list[set[Configuration]] = [set() for _ in limits]
        self._failures = 0

    def observe(self, configuration: Configuration, objective: float, values: list[float], feasible: bool) -> None:
        """A finished evaluation: its objective and its constraints' values."""
        j = self._append(configuration)
        self._values[0, j] = objective
        self._record(configuration, j, dict(enumerate(values)))
        self._ok[j], self._feasible[j] = True, feasible

    def observe_failure(self, configuration: Configuration) -> None:
        """An evaluation that yielded nothing: known to violate the hard constraint, and nothing else (appendix D)."""
        self._append(configuration)
        self._failures += 1

    def observe_known(self, configuration: Configuration, values: dict[int, float]) -> None:
        """Some constraints' values, by their positions, without an evaluation (knowledge augmentation, appendix C)."""
        self._record(configuration, self._append(configuration), values)

    def groups(self, needed: int) -> NDArray[np.int8]:
        """Good, bad or out, for the objective, each constraint, and the hard constraint if it has ever been violated.

        Shape (metrics, N). `needed`: see `split_objective`.
        """
        n = self._n
        eligible = self._feasible[:n] if self._rules.feasible_first else self._ok[:n]
        rows = [split_objective(self._values[0, :n], eligible, needed)]
        for i, limit in enumerate(self._limits):
            values, present, repeated = self._values[1 + i, :n], self._present[i, :n], self._repeated[i, :n]
            rows.append(split_constraint(values, limit, present, repeated, self._rules.oldest_only))
        if self._failures:
            known = self._present[:, :n].any(axis=0) & ~self._ok[:n]
            rows.append(np.where(known, OUT, np.where(self._ok[:n], GOOD, BAD)).astype(np.int8))
        return np.array(rows)

    def suggest(self, needed: int, rng: Generator) -> Configuration:
        """The candidate with the highest score; the first, if several have it."""
        options = (self._rules.candidates, self._rules.joint, self._rules.relative)
        levels, points = compiled.suggest(
            self._dimensions.packed, self._levels, self._points, self.groups(needed), options, rng
        )
        return self._flat.at(self._dimensions.unpack(levels, points))

    def acquisition(self, configurations: Sequence[Configuration], needed: int) -> NDArray[np.float64]:
        """The logarithm of what `suggest` maximises, at some configurations: one value each."""
        packed = [self._dimensions.pack(self._flat.coordinates(c)) for c in configurations]
        at_levels, at_points = (np.array(part).T.copy() for part in zip(*packed, strict=True))
        found: NDArray[np.float64] = compiled.acquisition(
            self._dimensions.packed,
            self._levels,
            self._points,
            self.groups(needed),
            self._rules.relative,
            at_levels,
            at_points,
        )
        return found

    def _record(self, configuration: Configuration, j: int, values: dict[int, float]) -> None:
        """Constraints' values of the j-th row; repetitions are counted constraint by constraint."""
        for constraint, value in values.items():
            seen = self._seen[constraint]
            self._values[1 + constraint, j], self._present[constraint, j] = value, True
            self._repeated[constraint, j] = configuration in seen
            seen.add(configuration)

    def _append(self, configuration: Configuration) -> int:
        j = self._n
        if j == self._levels.shape[1]:
            self._grow()
        self._levels[:, j], self._points[:, j] = self._dimensions.pack(self._flat.coordinates(configuration))
        self._n += 1
        return j

    def _grow(self) -> None:
        for name in ("_levels", "_points", "_values", "_present", "_ok", "_feasible", "_repeated"):
            array = getattr(self, name)
            fill = np.nan if array.dtype == np.float64 else 0
            setattr(self, name, np.concatenate([array, np.full_like(array, fill)], axis=-1))


def compile_ahead() -> None:
    """Compiles everything a search calls, into numba's cache: some seconds, once on a machine."""
    space = GridSpace([Ordinal("a", (1, 2, 3))])
    sampler = Sampler(space, [2.0], Rules(2, True, True, True, False, False))
    for choice in (0, 1, 2):
        sampler.observe((choice,), float(choice), [float(choice)], choice < 2)
    sampler.suggest(1, np.random.default_rng(0))
    is_compiled.cache_clear()


@cache
def is_compiled() -> bool:
    """Whether numba's cache beside the code has the compiled search."""
    return any(Path(compiled.__file__).parent.glob("__pycache__/compiled.suggest*.nbi"))


if __name__ == "__main__":
    compile_ahead()
