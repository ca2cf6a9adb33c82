"""RGPE (Feurer, Letham, Hutter and Bakshy, 2018): processes of other tasks, weighed by how well they rank this one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.base.errors import check_range
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.constraints import Bound
from nasbench.benchmarks.spaces import AsFlat, Configuration
from nasbench.methods.about import About, Needs, Options
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.mixed import Mixed, Rows
from nasbench.methods.problem import Observation, Problem

if TYPE_CHECKING:
    from nasbench.methods.surrogates.rows import RowProcess

Array = NDArray[np.float64]

_DRAWS = 256  # from each posterior, to weigh the processes
_FEWEST = 3  # observations before processes are weighed, and before the task has a process of its own
_DILUTION = 0.95  # quantile of the own losses, above whose value the median loss of another task discards it
_PARENTS = 5  # best observations, whose mutants are half of the candidates


def _alone(problem: Problem, options: Options) -> str:
    has_others = problem.knowledge is not None and problem.knowledge.tasks
    return "" if has_others else "learns from other tables on the same space, and there is none"


@METHODS.register("rgpe")
class RGPE(Method):
    """Expected improvement by Gaussian processes of this task and of other tables, weighed by how they rank.

    A process is fitted to `known` random configurations of each other table on the same space, and one to the task's
    own observations. The weight of a process is the share of posterior draws in which it misranks the fewest pairs of
    observations that differ; the task's own is judged without the first of each pair. Objectives are turned into normal
    scores, task by task. The probability that the task's constraints hold, by processes of its own observations, is a
    factor of the expected improvement. Candidates are new ones, while there are any, and no random ones come first.
    Pending evaluations are in no process.

    Take it for a task beside other tables on the same space.

    Beside its source: objectives become normal scores, where the paper standardises them.

    Options:
        known: configurations that are known of each other table, at least 3.
        candidates: configurations compared per ask: half of them random, half mutants of the five best; at least 2.
    """

    about = About(
        repeatable=Repeatable.SAME_KERNELS,
        source=(
            "M. Feurer, B. Letham, F. Hutter and E. Bakshy. Practical Transfer Learning for Bayesian Optimization. "
            "2018."
        ),
        version=2,
        seconds=0.025,
    )
    needs = Needs(views=(AsFlat,), knowledge=True, unless=_alone)

    def __init__(self, problem: Problem, rng: Generator, *, known: int = 50, candidates: int = 500) -> None:
        check_range("known", known, _FEWEST)
        check_range("candidates", candidates, 2)
        self._problem, self._rng, self._known, self._candidates = problem, rng, known, candidates
        self._mixed = Mixed(problem.flat)
        self._others: list[RowProcess] = []
        self._bounds: dict[Bound, RowProcess] = {}
        self._told: list[Observation] = []
        self._asked: set[Configuration] = set()

    @classmethod
    def make_ready(cls) -> None:
        import scipy.stats  # noqa: F401

        import nasbench.methods.surrogates.rows  # noqa: F401

    def ask(self) -> Configuration:
        if not self._others:
            self._begin()
        candidates = self._new()
        rows = self._rows(candidates)
        ok = [o for o in self._told if o.evaluation.status == "ok"]
        chosen = candidates[int(np.argmax(self._acquisition(rows, ok)))]
        self._asked.add(chosen)
        return chosen

    def tell(self, observation: Observation) -> None:
        self._told.append(observation)

    def _begin(self) -> None:
        """Fits the processes of the other tasks."""
        knowledge = self._problem.knowledge
        assert knowledge is not None  # see `misfit`
        for configurations, objectives in knowledge.evaluated(self._known, self._rng).values():
            self._others.append(self._process())
            self._others[-1].fit(self._rows(configurations), normal_scores(objectives))
        self._own = self._process()
        self._bounds = {bound: self._process() for bound in self._problem.learnt_bounds}

    def _process(self) -> RowProcess:
        from nasbench.methods.surrogates.rows import RowProcess

        return RowProcess(self._mixed.categorical)

    def _rows(self, configurations: Sequence[Configuration]) -> Rows:
        return np.array([self._mixed.row(c) for c in configurations]).reshape(-1, len(self._mixed.levels))

    def _new(self) -> list[Configuration]:
        """Configurations that were not proposed yet, and that satisfy the constraints that are known; at least one."""
        space, rng = self._problem.space, self._rng
        best = sorted(self._told, key=lambda o: o.rank(self._problem.constraints))[:_PARENTS]
        drawn = [space.sample(rng) for _ in range(self._candidates // 2)]
        for i in range(self._candidates - len(drawn)):
            drawn.append(space.mutant(best[i % len(best)].configuration, rng) if best else space.sample(rng))
        drawn = list(dict.fromkeys(drawn))
        new = [c for c in drawn if c not in self._asked]
        return [c for c in new if self._problem.allows(c)] or new or drawn

    def _acquisition(self, rows: Rows, ok: Sequence[Observation]) -> Array:
        """Expected improvement times the probability of feasibility, at rows; shape (n,).

        Before anything feasible is observed: the probability, and among equals the lower mean.
        """
        from nasbench.methods.surrogates.acquisition import expected_improvement, probability

        told = self._rows([o.configuration for o in ok])
        processes = list(self._others)
        weights = np.full(len(processes), 1 / len(processes))
        if len(ok) >= _FEWEST:
            scores = normal_scores(np.array([o.objective for o in ok]))
            self._own.fit(told, scores)
            processes.append(self._own)
            weights = ranking_weights(losses(processes, told, scores, self._rng))
        mean, deviation = mixture(processes, weights, rows)
        holds = np.ones(len(rows))
        for bound, process in self._bounds.items() if len(ok) >= _FEWEST else ():
            values = np.array([bound.counted(o.evaluation.metrics[bound.metric.name]) for o in ok])
            middle, spread = values.mean(), values.std() or 1.0
            process.fit(told, (values - middle) / spread)
            predicted, variance = process.predict(rows)
            holds *= probability(bound, middle + spread * predicted, spread * np.sqrt(variance))
        feasible = [o.feasible for o in ok]
        if not any(feasible):
            return holds - 1e-9 * mean
        best = float(mixture(processes, weights, told[feasible])[0].min())
        return expected_improvement(mean, deviation, best) * holds


def normal_scores(values: Array) -> Array:
    """Each value's quantile among all, (rank - 1/2) / n, as that of the normal distribution; shape (n,)."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    scores: Array = ndtri((rankdata(values) - 0.5) / len(values))
    return scores


def mixture(processes: Sequence[RowProcess], weights: Array, rows: Rows) -> tuple[Array, Array]:
    """Mean and standard deviation at rows of the sum of independent processes, times their weights; shape (n,) each."""
    predicted = [process.predict(rows) for process in processes]
    mean: Array = weights @ np.array([mean for mean, _ in predicted])
    variance: Array = weights**2 @ np.array([variance for _, variance in predicted])
    return mean, np.sqrt(variance)


def losses(processes: Sequence[RowProcess], rows: Rows, values: Array, rng: Generator) -> NDArray[np.int64]:
    """The number of misranked ordered pairs of different values in each posterior draw of each process.

    Shape (processes, draws).

    Args:
        processes: those of the other tasks, and last the task's own, which was fitted to these rows and values: the
            first of each pair is left out of it.
    """
    normals = rng.standard_normal((len(processes) + 1, len(rows), _DRAWS))
    drawn = (process.sample(rows, z) for process, z in zip(processes[:-1], normals, strict=False))
    counted = [_misranked(repeat(others), values) for others in drawn]
    return np.array([*counted, _misranked(processes[-1].left_out(normals[-2:]), values)])


def _misranked(drawn: Iterable[Array], values: Array) -> NDArray[np.int64]:
    """The number of misranked ordered pairs in each draw, shape (draws,).

    Args:
        drawn: for the first of each pair draws at all values, shape (values, draws).
    """
    count = np.zeros(_DRAWS, np.int64)
    for j, draws in zip(range(len(values)), drawn, strict=False):
        others = values != values[j]
        count += ((draws[j] < draws[others]) != (values[j] < values[others])[:, None]).sum(axis=0)
    return count


def ranking_weights(losses: NDArray[np.int64]) -> Array:
    """The share of draws in which each process has the least loss; several that have it share a draw. Shape (n,).

    A process whose median loss is above the 95 % quantile of the last one's (the task's own) weighs nothing.
    """
    kept = np.median(losses, axis=1) <= np.quantile(losses[-1], _DILUTION)
    least = np.where(kept[:, None], losses, np.inf)
    winners = least == least.min(axis=0)
    weights: Array = (winners / winners.sum(axis=0)).mean(axis=1)
    return weights
