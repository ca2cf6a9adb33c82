"""What may be known of a task before its first evaluation: an expert's belief, and the results of other tasks."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from functools import cache, lru_cache
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.base.errors import UsageError, check_choice
from nasbench.benchmarks.abilities import KnowsAllMeans
from nasbench.benchmarks.constraints import NO_BOUNDS, Bound, Bounds
from nasbench.benchmarks.contract import BENCHMARKS, Benchmark
from nasbench.benchmarks.spaces import Configuration, FiniteSpace
from nasbench.benchmarks.spaces.listed import ListedSpace
from nasbench.benchmarks.spec import open_benchmark

EXPERTS = {"good": (0.0, 0.01), "weak": (0.0, 0.25), "misleading": (0.75, 1.0)}
"""Simulated experts: where their belief lies among the feasible configurations, from the best mean objective (0) to the
worst (1)."""

Array = NDArray[np.float64]

_TABULATED = re.compile(r"nasbench tabulate (.+?): [\d,]+ configuration")  # how the source of its tables begins


class _OfATask:
    """What is known of a table's task beforehand.

    Args:
        benchmark: a benchmark with a finite space whose means are known.
        bounds: the constraints of the task.
    """

    def __init__(self, benchmark: Benchmark, bounds: Bounds = NO_BOUNDS) -> None:
        self._benchmark, self._bounds = benchmark, tuple(bounds)

    @classmethod
    def of(cls, benchmark: Benchmark, bounds: Bounds = NO_BOUNDS) -> Self | None:
        """What is known of a benchmark's task; None if its means are not known or its space is not finite."""
        is_table = isinstance(benchmark, KnowsAllMeans) and isinstance(benchmark.space, FiniteSpace)
        return cls(benchmark, bounds) if is_table else None


class Experts(_OfATask):
    """Simulated experts, who know the task itself. Only methods that say so may ask them (`Needs.experts`)."""

    def belief(self, expert: str, rng: Generator) -> Configuration:
        """The configuration that a simulated expert believes in, drawn uniformly from its range in `EXPERTS`.

        Where nothing is feasible, any configuration. Raises UsageError for an expert that does not exist.
        """
        check_choice("expert", expert, EXPERTS)
        low, high = EXPERTS[expert]
        shares = _standing(self._benchmark, self._benchmark, self._bounds)
        order = np.argsort(shares, kind="stable")[: np.isfinite(shares).sum()]
        if not len(order):
            return self._benchmark.space.sample(rng)
        first = min(math.floor(low * len(order)), len(order) - 1)
        chosen = order[rng.integers(first, max(math.ceil(high * len(order)), first + 1))]
        return _space(self._benchmark).configuration(int(chosen))


class Knowledge(_OfATask):
    """What is known of other tasks. Nothing of it depends on an objective of the task itself."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """The other tables on the same space, by name; never the task itself."""
        return tuple(peer.name for peer in _peers(self._benchmark))

    def portfolio(self, size: int) -> tuple[Configuration, ...]:
        """The configurations of a greedy portfolio on the other tasks (Wistuba, Schilling and Schmidt-Thieme, 2015).

        Each next configuration minimises the mean over the other tasks of the best standing so far: the share of the
        feasible configurations with a better mean, and 1 for an infeasible configuration. A constraint is carried over
        by the share of all configurations that satisfies it, for other tasks have other seconds and sizes.

        Raises UsageError if there is no other task.
        """
        if not self.tasks:
            raise UsageError(f"no other table has the space of {self._benchmark.name}")
        space = _space(self._benchmark)
        return tuple(map(space.configuration, _greedy(self._benchmark, self._bounds, min(size, space.size))))

    def evaluated(self, number: int, rng: Generator) -> dict[str, tuple[tuple[Configuration, ...], Array]]:
        """What is known of each other task, by name: random configurations, and their mean objectives, shape (n,).

        Every task gives `number` of those that did not fail, or all if it has fewer.
        """
        known = {}
        for peer in _peers(self._benchmark):
            objectives = _means(peer)[:, 0]
            succeeded = np.flatnonzero(np.isfinite(objectives))
            chosen = rng.choice(succeeded, size=min(number, len(succeeded)), replace=False)
            space = _space(peer)
            known[peer.name] = tuple(space.configuration(int(i)) for i in chosen), objectives[chosen]
        return known


def _space(benchmark: Benchmark) -> FiniteSpace:
    assert isinstance(benchmark.space, FiniteSpace)
    return benchmark.space


def _means(benchmark: Benchmark) -> Array:
    assert isinstance(benchmark, KnowsAllMeans)
    return benchmark.all_means()


@cache
def _peers(benchmark: Benchmark) -> tuple[Benchmark, ...]:
    """The other tables on the same space, in the order of their names."""
    found = []
    for name in BENCHMARKS.names():
        with suppress(UsageError):  # its data are missing
            other = open_benchmark(name)
            if _same_space(benchmark, other) and not _same_task(benchmark, other):
                found.append(other)
    return tuple(found)


def _same_task(one: Benchmark, other: Benchmark) -> bool:
    """Whether two tables are equal, or made by `nasbench tabulate` of the same benchmark."""
    mine, theirs = (_TABULATED.match(benchmark.source) for benchmark in (one, other))
    return one.checksum == other.checksum or (mine is not None and theirs is not None and mine[1] == theirs[1])


def _same_space(one: Benchmark, other: Benchmark) -> bool:
    spaces = (one.search_space or one.family, other.search_space or other.family)
    if Knowledge.of(other) is None or spaces[0] != spaces[1] or other.name == one.name:
        return False
    mine, theirs = _space(one), _space(other)
    metrics = {metric.name for metric in other.metrics}
    same = mine.describe() == theirs.describe() and mine.size == theirs.size
    if isinstance(mine, ListedSpace) and isinstance(theirs, ListedSpace):  # what is known is known by row
        same = same and np.array_equal(mine.points, theirs.points)
    return same and {metric.name for metric in one.metrics} <= metrics


@cache
def _greedy(benchmark: Benchmark, bounds: Bounds, size: int) -> tuple[int, ...]:
    """The numbers of the configurations of a greedy portfolio, in its order."""
    standings = np.array([_standing(benchmark, peer, bounds) for peer in _peers(benchmark)])
    standings = np.where(np.isfinite(standings), standings, 1.0)
    best, chosen = np.ones(len(standings)), list[int]()
    for _ in range(size):
        totals = np.minimum(best[:, None], standings).sum(axis=0)
        totals[chosen] = np.inf
        ties = np.flatnonzero(totals == totals.min())  # once each task has its best: the best on average
        chosen.append(int(ties[np.argmin(standings[:, ties].sum(axis=0))]))
        best = np.minimum(best, standings[:, chosen[-1]])
    return tuple(chosen)


@lru_cache(maxsize=8)  # an array per task: not all of a suite's are kept
def _standing(benchmark: Benchmark, task: Benchmark, bounds: Bounds) -> Array:
    """The share of a task's feasible configurations with a better mean objective, by configuration; NaN if infeasible.

    Args:
        benchmark: the benchmark whose values the bounds limit.
        task: the benchmark whose objective counts.
    """
    means = _means(task)
    feasible = np.isfinite(means[:, 0])
    for side in (side for bound in bounds for side in bound.sides):
        feasible &= _within(side, benchmark, task)
    objective = means[feasible, 0]
    shares = np.full(len(means), np.nan)
    shares[feasible] = np.searchsorted(np.sort(objective), objective) / max(len(objective), 1)
    return shares


def _within(bound: Bound, benchmark: Benchmark, task: Benchmark) -> NDArray[np.bool_]:
    """Whether each configuration satisfies a one-sided bound on a task; on another one, the same share of them does."""
    own, values = (_means(b)[:, [m.name for m in b.metrics].index(bound.metric.name)] for b in (benchmark, task))
    holds: NDArray[np.bool_] = bound.holds(own)
    if task is benchmark:
        return holds
    known = np.isfinite(values)
    count = -(-int(holds.sum()) * int(known.sum()) // int(np.isfinite(own).sum()))  # the share, rounded up
    if not count:
        return np.zeros(len(values), bool)
    keys = np.where(known, bound.loss(values), np.inf)
    within: NDArray[np.bool_] = keys <= np.sort(keys)[count - 1]
    return within
