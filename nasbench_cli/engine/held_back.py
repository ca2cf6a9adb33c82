"""The repetition of each configuration that is held back from a run, to score its incumbents by."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks import Benchmark, Bound
from nasbench.benchmarks.abilities import KnowsRepetitions
from nasbench.benchmarks.spaces import Block, Configuration
from nasbench.benchmarks.tabular import TabularBenchmark

Worth: TypeAlias = tuple[float, bool | None]
"""Objective of the incumbent in the repetition held back, and whether it satisfies the constraints there; NaN and None
where there is no incumbent, or nothing is held back of its configuration."""

UNKNOWN: Worth = (math.nan, None)

_HALF = 32  # the upper half of a seed is independent of the repetition that the whole seed draws


def holds_back(benchmark: Benchmark) -> bool:
    """Whether one repetition of each configuration is held back from runs on a benchmark."""
    return isinstance(benchmark, KnowsRepetitions) and benchmark.repetitions > 1


class HeldBack:
    """Holds one repetition of each configuration back from one run, drawn at random.

    So every incumbent is scored by a repetition that had no part in its choice, and by one only, however often its run
    has asked for it. Otherwise a run that observes all repetitions of its incumbent would be scored by the lucky one,
    too; and means over as many as each run has left are not alike if the noise is skewed, or common to configurations.
    A configuration that has one repetition has nothing to hold back.
    """

    def __init__(self, benchmark: Benchmark, bounds: tuple[Bound, ...]) -> None:
        assert isinstance(benchmark, KnowsRepetitions)
        self._benchmark, self._bounds = benchmark, bounds
        self._held: dict[Configuration, int] = {}

    def draw(self, configuration: Configuration, seed: int) -> int:
        """The seed of a new evaluation: the given one, or one that draws another repetition than that held back.

        Args:
            seed: uniform in [0, 2**63).
        """
        count = self._benchmark.repetition_count(configuration)
        if count < 2:
            return seed
        drawn, other = seed % count, 1 + (seed >> _HALF) % (count - 1)
        held = self._held.setdefault(configuration, (drawn + other) % count)
        return seed if drawn != held else (held + other) % count

    def worth(self, configuration: Configuration) -> Worth:
        """What a configuration is worth that the run has evaluated."""
        held = self._held.get(configuration)
        if held is None:
            return UNKNOWN
        metrics = self._benchmark.evaluate(configuration, held).metrics
        objective = metrics.get(self._benchmark.objective.name, math.nan)
        if math.isnan(objective):
            return UNKNOWN
        return objective, all(bound.holds(metrics[bound.metric.name]) for bound in self._bounds)


def draw_block(
    benchmark: TabularBenchmark, block: Block, seeds: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The seeds that `HeldBack.draw` returns for many configurations, and the repetitions held back (-1: none).

    Args:
        block: the configurations, in the order of asking.
    """
    counts = benchmark.repetition_counts_block(block)
    several = counts > 1
    others = np.where(several, counts - 1, 1)
    other = (1 + (seeds >> np.uint64(_HALF)) % others.astype(np.uint64)).astype(np.int64)
    drawn = (seeds % counts.astype(np.uint64)).astype(np.int64)
    _, first, same = np.unique(block, return_index=True, return_inverse=True)
    held = np.where(several, ((drawn + other) % counts)[first][same], -1)
    return np.where(drawn == held, ((held + other) % counts).astype(np.uint64), seeds), held


def worth_block(
    benchmark: TabularBenchmark,
    bounds: tuple[Bound, ...],
    block: Block,
    held: NDArray[np.int64],
    is_new: NDArray[np.bool_],
) -> tuple[NDArray[np.float64], NDArray[np.object_]]:
    """What the incumbent is worth after each evaluation: objectives and feasibilities, shape (evaluations,).

    Args:
        block: the configurations in the order in which their evaluations finish.
        held: the repetition held back of each, -1 for none, shape (evaluations,).
        is_new: whether each becomes the incumbent, shape (evaluations,).
    """
    values = benchmark.values[block[is_new], held[is_new]]
    is_known = (held[is_new] >= 0) & ~np.isnan(values[:, 0])
    feasible = np.logical_and.reduce(
        [bound.holds(values[:, benchmark.column(bound.metric.name)]) for bound in bounds], initial=True
    ) & np.ones(len(values), bool)
    number = np.cumsum(is_new)  # of incumbents so far
    objectives = np.append(math.nan, np.where(is_known, values[:, 0], math.nan))
    verdicts = np.append(np.array([None]), np.where(is_known, feasible.astype(object), None))
    return objectives[number], verdicts[number]
