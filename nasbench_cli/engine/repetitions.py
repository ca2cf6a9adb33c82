"""The repetitions of a table that a run observes, and the scores of its incumbents by the others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks import Benchmark, Bound, Metric
from nasbench.benchmarks.abilities import KnowsRepetitions
from nasbench.benchmarks.metrics import Values
from nasbench.benchmarks.spaces import Block, Configuration
from nasbench.benchmarks.tabular import TabularBenchmark

Worth: TypeAlias = tuple[float, bool | None]
"""Mean objective of the incumbent over the unseen repetitions, and whether it satisfies the constraints by their means;
NaN and None where there is no incumbent, no repetition is left, or the benchmark knows none."""

UNKNOWN: Worth = (math.nan, None)


def are_held_back(benchmark: Benchmark) -> bool:
    """Whether a run on a benchmark leaves one repetition of each configuration unobserved."""
    return isinstance(benchmark, KnowsRepetitions) and benchmark.repetitions > 1


class Repetitions:
    """The repetitions that one run observes of each configuration.

    An evaluation draws one at random, but never the last unobserved one, which is held back. So every incumbent has a
    repetition that had no part in its choice. Otherwise a run that asks for its incumbent again and again would be
    scored by the lucky repetition it was chosen by, and one that asks once would not. A configuration that has one
    repetition has nothing to hold back.
    """

    def __init__(self, benchmark: Benchmark, bounds: tuple[Bound, ...]) -> None:
        assert isinstance(benchmark, KnowsRepetitions)
        self._benchmark, self._objective, self._bounds = benchmark, benchmark.objective, bounds
        self._drawn: dict[Configuration, dict[int, int]] = {}  # of all evaluations: repetition → a seed that draws it
        self._observed: dict[Configuration, set[int]] = {}  # of those that are finished
        self._incumbent: Configuration | None = None
        self._worth = UNKNOWN

    def draw(self, configuration: Configuration, seed: int) -> int:
        """The seed of a new evaluation: the given one, or an earlier evaluation's if it drew the last repetition."""
        drawn, repetition = self._drawn.setdefault(configuration, {}), self._benchmark.repetition(configuration, seed)
        if repetition not in drawn:
            if drawn and self._benchmark.unseen_metrics(configuration, {*drawn, repetition}) is None:
                return list(drawn.values())[seed % len(drawn)]
            drawn[repetition] = seed
        return seed

    def observe(self, configuration: Configuration, seed: int, is_incumbent: bool) -> Worth:
        """The score of the incumbent after another finished evaluation.

        Args:
            is_incumbent: whether that evaluation is the new incumbent.
        """
        repetition = self._benchmark.repetition(configuration, seed)
        observed = self._observed.setdefault(configuration, set())
        changes = repetition not in observed
        observed.add(repetition)
        if is_incumbent and configuration != self._incumbent:
            self._incumbent, changes = configuration, True
        if changes and configuration == self._incumbent:
            means = self._benchmark.unseen_metrics(configuration, observed)
            self._worth = UNKNOWN if means is None else _worth(means, self._objective, self._bounds)
        return self._worth


def draw_block(benchmark: TabularBenchmark, block: Block, seeds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The seeds that `Repetitions.draw` returns for a block of configurations, in the order of asking."""
    repetitions, seeds = Repetitions(benchmark, ()), seeds.copy()
    rows, counts = np.unique(block, return_counts=True)
    for row in rows[counts > 1].tolist():
        configuration = benchmark.space.configuration(row)
        for ask in np.flatnonzero(block == row).tolist():
            seeds[ask] = repetitions.draw(configuration, int(seeds[ask]))
    return seeds


def unseen_block(
    benchmark: TabularBenchmark,
    bounds: tuple[Bound, ...],
    block: Block,
    repetitions: NDArray[np.int64],
    is_new: NDArray[np.bool_],
) -> tuple[NDArray[np.float64], NDArray[np.object_]]:
    """What `Repetitions.observe` returns after each evaluation: objectives and feasibilities, shape (evaluations,).

    Args:
        block: the configurations in the order in which their evaluations finish.
        repetitions: the repetition that each configuration drew, shape (evaluations,).
        is_new: whether each configuration becomes the incumbent, shape (evaluations,).
    """
    worth, feasible = np.full(len(block), np.nan), np.empty(len(block), object)
    starts = np.flatnonzero(is_new).tolist()
    ends = [*starts[1:], len(block)]
    incumbents, rows = (block[starts][:, None] == block).nonzero()  # every evaluation of each incumbent
    seen = np.zeros((len(starts), benchmark.repetitions), bool)
    changes, known = [], []  # rows after which the score changes, with the repetitions seen by then
    for incumbent, row in zip(incumbents.tolist(), rows.tolist(), strict=True):
        is_known = seen[incumbent, repetitions[row]] and row != starts[incumbent]
        seen[incumbent, repetitions[row]] = True
        if starts[incumbent] <= row < ends[incumbent] and not is_known:
            changes.append(row)
            known.append(seen[incumbent].copy())
    if changes:
        for row, means in zip(changes, benchmark.unseen_metrics_block(block[changes], np.array(known)), strict=True):
            worth[row:], feasible[row:] = _worth(
                Values(benchmark.places, tuple(means.tolist())), benchmark.objective, bounds
            )
    return worth, feasible


def _worth(means: Mapping[str, float], objective: Metric, bounds: tuple[Bound, ...]) -> Worth:
    if math.isnan(means[objective.name]):
        return UNKNOWN
    return means[objective.name], all(bound.holds(means[bound.metric.name]) for bound in bounds)
