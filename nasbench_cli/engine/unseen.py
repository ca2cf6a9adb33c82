"""Scores of incumbents over the repetitions that their run has not observed, which did not influence the choice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks import Bound, Metric
from nasbench.benchmarks.abilities import KnowsRepetitions
from nasbench.benchmarks.metrics import Values
from nasbench.benchmarks.spaces import Block, Configuration
from nasbench.benchmarks.tabular import TabularBenchmark

Worth: TypeAlias = tuple[float, bool | None]
"""Mean objective of the incumbent over the unseen repetitions, and whether it satisfies the constraints by their means;
NaN and None where there is no incumbent, no repetition is left, or the benchmark knows none."""

UNKNOWN: Worth = (math.nan, None)


def unseen(
    benchmark: KnowsRepetitions,
    objective: Metric,
    bounds: tuple[Bound, ...],
    configuration: Configuration,
    seeds: Sequence[int],
) -> Worth:
    """The score of an incumbent over its unseen repetitions.

    Args:
        seeds: seeds of all its evaluations so far, from which a table draws repetitions.
    """
    means = benchmark.unseen_metrics(configuration, seeds)
    return UNKNOWN if means is None else _worth(means, objective, bounds)


def unseen_block(
    benchmark: TabularBenchmark,
    bounds: tuple[Bound, ...],
    block: Block,
    repetitions: NDArray[np.int64],
    is_new: NDArray[np.bool_],
) -> tuple[NDArray[np.float64], NDArray[np.object_]]:
    """The results of `unseen` after each evaluation of a run: objectives and feasibilities, shape (evaluations,).

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
