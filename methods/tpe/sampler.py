"""The observations of one TPE run, and the next proposal. Importing this module loads numba, so methods import late."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from filelock import FileLock
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.benchmarks.spaces import Configuration, Coordinate, Flat, GridSpace, Ordinal
from nasbench.benchmarks.spaces.flat import differ
from nasbench.methods.tpe import compiled
from nasbench.methods.tpe.dimensions import NARROWEST, Dimensions
from nasbench.methods.tpe.splits import BAD, GOOD, OUT, split_constraint, split_objective

_LOG = logging.getLogger("nasbench")
_TRIES = 10
"""Proposals in a row that may be forbidden combinations which stand for barred configurations."""


@dataclass(frozen=True)
class Rules:
    """The rules that distinguish the methods of this family and their variants."""

    candidates: int
    """Number of candidates drawn from the good density of every metric."""
    relative: bool = True
    """True: scores are relative density ratios, and the objective is split at feasible observations (c-TPE). False:
    scores are plain ratios, and the split ignores feasibility (naive)."""
    joint: bool = True
    """Whether candidates are drawn from the joint mixture (the paper), or each hyper-parameter separately (scripts)."""
    oldest_only: bool = False
    """Whether only the oldest of tied smallest values is good if no observation satisfies a constraint (scripts)."""
    continuous_log: bool = False
    """Whether ordinals on a log scale have densities between their levels (scripts); see `Dimensions`."""
    vanishing: bool = False
    """Whether the smoothing of categorical kernels vanishes as observations arrive (Optuna); see `Dimensions`."""
    narrowest: float = NARROWEST
    """Smallest bandwidth of real and integer hyper-parameters, as a share of the range; see `Dimensions`."""


class Sampler:
    """Keeps the observations of one run and makes the next proposal.

    Args:
        limits: limit of each constraint, satisfied by values <= limit (`Bound.loss`, `Bound.limit`).
        belief: see `Dimensions`.
    """

    def __init__(self, flat: Flat, limits: list[float], rules: Rules, belief: Sequence[Coordinate] = ()) -> None:
        dimensions = Dimensions(
            flat.hyperparameters, flat.conditions, rules.continuous_log, rules.vanishing, rules.narrowest, belief
        )
        self._flat, self._dimensions, self._limits, self._rules = flat, dimensions, limits, rules
        self._n = 0
        self._levels = np.zeros((len(dimensions), 64), np.int32)
        self._points = np.full((len(dimensions), 64), np.nan)
        self._values = np.full((1 + len(limits), 64), np.nan)
        self._present = np.zeros((len(limits), 64), np.bool_)  # which rows are observations of each constraint
        self._evaluated = np.zeros(64, np.bool_)
        self._ok = np.zeros(64, np.bool_)
        self._feasible = np.zeros(64, np.bool_)
        self._failures = 0
        self._forbidden: dict[tuple[Coordinate, ...], tuple[Coordinate, ...]] = {}
        """Forbidden combination → coordinates of the configuration that it stands for, barred when it was proposed."""

    def observe(self, configuration: Configuration, objective: float, values: list[float], feasible: bool) -> None:
        """Adds a finished evaluation: its objective and its constraints' values."""
        j = self._append(configuration)
        self._values[0, j] = objective
        self._values[1:, j], self._present[:, j] = values, True
        self._ok[j], self._feasible[j], self._evaluated[j] = True, feasible, True

    def observe_failure(self, configuration: Configuration, looked_up: Flat | None = None) -> None:
        """Adds a failed evaluation: it violates the hard constraint, and nothing else is known (appendix D).

        Args:
            looked_up: see `observe_known`.
        """
        j = self._append(configuration, looked_up)
        self._evaluated[j] = True
        self._failures += 1

    def observe_known(
        self, configuration: Configuration, values: dict[int, float], looked_up: Flat | None = None
    ) -> None:
        """Adds some constraints' values, by position, without a training.

        Args:
            looked_up: for a configuration that was not proposed (knowledge augmentation, appendix C), a view through
                which to read it: the search's own would take a row of a list for one that was proposed. One that was
                proposed was refused before training, which counts as an evaluation of it.
        """
        j = self._append(configuration, looked_up)
        self._evaluated[j] = looked_up is None
        for constraint, value in values.items():
            self._values[1 + constraint, j], self._present[constraint, j] = value, True

    def groups(self, needed: int) -> NDArray[np.int8]:
        """Splits the observations into good, bad and out, shape (metrics, N).

        The metrics are the objective, each constraint, and the hard constraint if it has ever been violated.

        Args:
            needed: see `split_objective`.
        """
        n = self._n
        eligible = self._feasible[:n] if self._rules.relative else self._ok[:n]
        rows = [split_objective(self._values[0, :n], eligible, needed)]
        for i, limit in enumerate(self._limits):
            values, present = self._values[1 + i, :n], self._present[i, :n]
            rows.append(split_constraint(values, limit, present, self._rules.oldest_only))
        if self._failures:
            known = self._present[:, :n].any(axis=0) & ~self._ok[:n]
            rows.append(np.where(known, OUT, np.where(self._ok[:n], GOOD, BAD)).astype(np.int8))
        return np.array(rows)

    def weights(self, groups: NDArray[np.int8]) -> NDArray[np.float64]:
        """Weights of the good observations of the objective, in their order; empty if all have the weight 1.

        Args:
            groups: see `groups`.
        """
        return np.zeros(0)

    def suggest(
        self, needed: int, barred_at: int, rng: Generator, pending: Sequence[Configuration] = ()
    ) -> Configuration:
        """Proposes the candidate with the highest score; in a tie, the first drawn.

        Args:
            needed: see `split_objective`.
            barred_at: candidates with this number of evaluations are not proposed, unless all have it; 0: no limit.
            pending: configurations under evaluation: bad observations of the objective that were evaluated, and no
                observations of constraints.
        """
        groups, evaluated = self.groups(needed), self._evaluated[: self._n]
        if pending:
            under_way = [self._flat.coordinates(configuration) for configuration in pending]
            groups, evaluated = self._behind(under_way, BAD, groups, evaluated)
        times = self._times_evaluated([*self._forbidden.values()], evaluated)
        barred = [c for c, n in zip(self._forbidden, times, strict=True) if n >= barred_at > 0]
        if barred:
            groups, evaluated = self._behind(barred * barred_at, OUT, groups, evaluated)
        options = (self._rules.candidates, self._rules.joint, self._rules.relative, barred_at)
        weights = self.weights(groups)
        for _ in range(_TRIES):
            levels, points = compiled.suggest(
                self._dimensions.packed, self._levels, self._points, evaluated, groups, options, rng, weights
            )
            proposed = self._dimensions.unpack(levels, points)
            configuration = self._flat.at(proposed)
            own = self._flat.coordinates(configuration)
            if not (barred_at and differ(proposed, own) and self._times_evaluated([own], evaluated)[0] >= barred_at):
                break
            if np.isnan(points).all():  # a point of a continuous hyper-parameter is hardly ever drawn again
                self._forbidden[tuple(proposed)] = tuple(own)
            groups, evaluated = self._behind([proposed] * barred_at, OUT, groups, evaluated)
        return configuration

    def _times_evaluated(self, rows: Sequence[Sequence[Coordinate]], evaluated: NDArray[np.bool_]) -> list[int]:
        """Number of evaluations at each row of coordinates; `evaluated` says which observations are evaluations."""
        if not rows:
            return []
        known = compiled.fingerprints(self._levels[:, : len(evaluated)], self._points)[evaluated]
        return [int(np.count_nonzero(known == own)) for own in compiled.fingerprints(*self._packed(rows))]

    def acquisition(self, configurations: Sequence[Configuration], needed: int) -> NDArray[np.float64]:
        """Logarithm of the acquisition that `suggest` maximises, one value per configuration."""
        at_levels, at_points = self._packed([self._flat.coordinates(c) for c in configurations])
        groups = self.groups(needed)
        values: NDArray[np.float64] = compiled.acquisition(
            self._dimensions.packed,
            self._levels,
            self._points,
            groups,
            self._rules.relative,
            at_levels,
            at_points,
            self.weights(groups),
        )
        return values

    def _behind(
        self, rows: Sequence[Sequence[Coordinate]], group: int, groups: NDArray[np.int8], evaluated: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
        """Groups and what is evaluated, with further evaluations: of the objective in this group, of nothing else.

        They are written behind the observations, where the next observations overwrite them.
        """
        for j, coordinates in enumerate(rows, len(evaluated)):
            self._write(j, coordinates)
        groups = np.pad(groups, ((0, 0), (0, len(rows))), constant_values=OUT)
        groups[0, len(evaluated) :] = group
        return groups, np.append(evaluated, np.ones(len(rows), np.bool_))

    def _packed(self, rows: Sequence[Sequence[Coordinate]]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Levels and points of rows of coordinates, as the observations have them: of shape (hyperparameters, rows)."""
        levels, points = zip(*map(self._dimensions.pack, rows), strict=True)
        return np.array(levels).T.copy(), np.array(points).T.copy()

    def _append(self, configuration: Configuration, looked_up: Flat | None = None) -> int:
        j = self._n
        self._write(j, (self._flat if looked_up is None else looked_up).coordinates(configuration))
        self._n += 1
        return j

    def _write(self, j: int, coordinates: Sequence[Coordinate]) -> None:
        if j == self._levels.shape[1]:
            self._grow()
        self._levels[:, j], self._points[:, j] = self._dimensions.pack(coordinates)

    def _grow(self) -> None:
        for name in ("_levels", "_points", "_values", "_present", "_evaluated", "_ok", "_feasible"):
            array = getattr(self, name)
            fill = np.nan if array.dtype == np.float64 else 0
            setattr(self, name, np.concatenate([array, np.full_like(array, fill)], axis=-1))


def compile_ahead() -> None:
    """Compiles a search into numba's cache: some seconds, once per installation."""
    space = GridSpace([Ordinal("a", (1, 2, 3))])
    sampler = Sampler(space, [2.0], Rules(candidates=2))
    for choice in (0, 1, 2):
        sampler.observe((choice,), float(choice), [float(choice)], choice < 2)
    sampler.suggest(1, 1, np.random.default_rng(0))


@cache
def make_compiled() -> None:
    """Compiles a search unless numba's cache holds it; one process compiles, and others wait for it."""
    folder = Path(compiled.suggest.stats.cache_path or "")
    if _is_compiled(folder):
        return
    with FileLock(folder / "compiled.lock"):  # one process at a time compiles
        if not _is_compiled(folder):
            _LOG.info("compiling TPE (some seconds, once per installation)")
            compile_ahead()


def _is_compiled(folder: Path) -> bool:
    """Whether numba's cache holds `suggest`, compiled by this version of Python and not older than the code."""
    version = "".join(map(str, sys.version_info[:2]))
    made = [path.stat().st_mtime for path in folder.glob(f"compiled.suggest-*.py{version}*.nbc")]
    return max(made, default=-math.inf) >= Path(compiled.__file__).stat().st_mtime


if __name__ == "__main__":
    compile_ahead()
