"""Scalable constrained Bayesian optimisation (Eriksson and Poloczek, AISTATS 2021; arXiv 2002.08526)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.base.errors import check_choice, check_range
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.constraints import NO_BOUNDS, Bound
from nasbench.benchmarks.spaces import AsFlat, Configuration
from nasbench.benchmarks.spaces.hyperparameters import has_many
from nasbench.methods._pending import Pending
from nasbench.methods.about import About, Needs
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.gaussian.scbo.trust_region import TrustRegion, candidates, proportions
from nasbench.methods.mixed import Mixed, Rows
from nasbench.methods.problem import Observation, Problem

if TYPE_CHECKING:
    from nasbench.methods.surrogates.rows import RowProcess

_TRIES = 50


@METHODS.register("scbo")
class SCBO(Method):
    """A trust region with constrained Thompson sampling: one Gaussian process for the objective and per constraint.

    Each ask draws all functions from their posteriors at 2^`power` candidates inside the region. It proposes the best
    candidate that is feasible in the draw, or else the one that violates least. The region's sides are in proportion to
    the objective's length-scales. Objectives are standardised; constraints are transformed by sgn(y) ln(1 + |y|) of
    their relative excess, and then standardised. Each region begins with `initial` random configurations. A failed
    evaluation counts with the worst excess known. By default pending evaluations (asynchronous workers) are ignored:
    the draws differ.

    Take it for real-valued spaces with constraints and a hundred evaluations.

    Beside its source: a run is better than one of BoTorch's recipe with probability 0.36, and 0.53 with that
    recipe's noise, box and centre.

    Options:
        initial: random configurations that begin each region, at least 2.
        power: 2^power candidates are compared per ask; 4 to 13.
        pending: ignored, or mean: the posterior mean counts as the observed value of every pending evaluation.
    """

    about = About(
        repeatable=Repeatable.SAME_KERNELS,
        source="D. Eriksson and M. Poloczek. Scalable Constrained Bayesian Optimization. AISTATS 2021.",
        version=3,
        seconds=0.06,
    )
    needs = Needs(views=(AsFlat,))

    def __init__(
        self, problem: Problem, rng: Generator, *, initial: int = 10, power: int = 10, pending: str = "ignored"
    ) -> None:
        check_choice("pending", pending, ("ignored", "mean"))
        check_range("initial", initial, 2)
        check_range("power", power, 4, 13)
        self._problem, self._rng = problem, rng
        self._initial, self._power, self._heeds_pending = initial, power, pending == "mean"
        flat = problem.flat
        self._mixed = Mixed(flat)
        self._d = max(1, sum(map(has_many, flat.hyperparameters)))
        self._pending = Pending[tuple[int, bool]]()
        """For each pending ask the number of its region, and whether it was proposed inside the box."""
        self._seen: set[bytes] = set()
        self._number = -1
        self._begin()

    @classmethod
    def make_ready(cls) -> None:
        import scipy.special
        import scipy.stats  # noqa: F401

        import nasbench.methods.surrogates.rows  # noqa: F401

    def _begin(self) -> None:
        """Begins a region; observations of the last one are dropped, as in the paper."""
        from nasbench.methods.surrogates.rows import RowProcess

        self._number += 1
        self._region, self._asked = TrustRegion(self._d), 0
        self._told: list[Observation] = []
        functions = 1 + len(self._problem.constraints)
        self._processes = [RowProcess(self._mixed.categorical) for _ in range(functions)]

    def ask(self) -> Configuration:
        if self._region.over:
            self._begin()
        proposed: Configuration | None = None
        if self._asked >= self._initial and sum(o.evaluation.status == "ok" for o in self._told) >= 2:
            proposed = self._proposal()
            if proposed is None:  # the box holds nothing new
                self._begin()
        configuration = self._fresh() if proposed is None else proposed
        self._asked += 1
        self._pending.add(configuration, (self._number, proposed is not None))
        self._seen.add(_key(self._mixed.row(configuration)))
        return configuration

    def tell(self, observation: Observation) -> None:
        number, inside = self._pending.answer(observation)
        if number != self._number:
            return  # it belongs to an earlier region
        self._told.append(observation)
        self._region.told(observation.rank(self._problem.constraints), inside)

    def _fresh(self) -> Configuration:
        """A random configuration, new if one of a few draws is."""
        for _ in range(_TRIES):
            configuration = self._problem.sample(self._rng)
            if _key(self._mixed.row(configuration)) not in self._seen:
                break
        return configuration

    def _proposal(self) -> Configuration | None:
        """The configuration to evaluate; None if every candidate inside the box has been asked for."""
        rows = np.array([self._mixed.row(o.configuration) for o in self._told])
        ok = np.array([o.evaluation.status == "ok" for o in self._told])
        under_way = self._under_way()
        objective = self._processes[0]
        objective.fit(rows[ok], standardised(np.array([o.objective for o in self._told])[ok]), under_way)
        sides = proportions(objective.lengths, self._mixed.levels[~self._mixed.categorical] != 1)
        points = candidates(self._mixed, self._centre(rows), sides, self._region.length, self._power, self._rng)
        points = points[[_key(point) not in self._seen for point in points]]
        if not len(points):
            return None
        draws = [objective.sample(points, self._rng.standard_normal(len(points)))]
        draws += [
            self._excess(process, bound, rows, under_way, points)
            for process, bound in zip(self._processes[1:], self._problem.constraints, strict=True)
        ]
        drawn = np.array(draws)
        while len(points):
            chosen = thompson(drawn[0], drawn[1:])
            configuration = self._mixed.configuration(points[chosen])
            if _key(self._mixed.row(configuration)) not in self._seen:
                return configuration
            self._seen.add(_key(points[chosen]))  # a forbidden combination, which stands for what was asked for
            points, drawn = np.delete(points, chosen, axis=0), np.delete(drawn, chosen, axis=1)
        return None

    def _centre(self, rows: Rows) -> NDArray[np.float64]:
        """The best observed row: by posterior mean among feasible ones (observed values are noisy), else by rank."""
        feasible = np.flatnonzero([o.feasible for o in self._told])
        if len(feasible):
            centre: NDArray[np.float64] = rows[feasible[np.argmin(self._processes[0].mean(rows[feasible]))]]
            return centre
        ranks = [o.rank(self._problem.constraints) for o in self._told]
        best: NDArray[np.float64] = rows[min(range(len(ranks)), key=ranks.__getitem__)]
        return best

    def _under_way(self) -> Rows:
        """The rows of this region's pending evaluations, if the model is to know them; shape (n, d)."""
        heeded = self._pending if self._heeds_pending else ()
        asked = [c for c, (number, _) in heeded if number == self._number]
        return np.array([self._mixed.row(c) for c in asked]).reshape(len(asked), len(self._mixed.levels))

    def _excess(
        self, process: RowProcess, bound: Bound, rows: Rows, under_way: Rows, points: Rows
    ) -> NDArray[np.float64]:
        """A posterior draw of a constraint's transformed excess at points, shape (n,): satisfied where <= 0."""
        values = excesses(bound, self._told)
        known = ~np.isnan(values)
        middle, spread = float(values[known].mean()), float(values[known].std()) or 1.0
        process.fit(rows[known], (values[known] - middle) / spread, under_way)
        return middle + spread * process.sample(points, self._rng.standard_normal(len(points)))


@METHODS.register("turbo")
class TuRBO(SCBO):
    """TuRBO-1: a trust region with Thompson sampling by a Gaussian process; it ignores constraints.

    It is `scbo` where nothing is constrained: that method adds constraints to this one. A failed evaluation counts as a
    failure of the region.

    Take it for real-valued spaces without constraints and a hundred evaluations.

    Beside its source: one region, and one proposal at a time; sides, lengths and counters are the paper's.
    """

    about = replace(
        SCBO.about,
        version=1,
        source=(
            "D. Eriksson, M. Pearce, J. Gardner, R. Turner and M. Poloczek. Scalable Global Optimization via Local "
            "Bayesian Optimization. NeurIPS 2019."
        ),
    )

    def __init__(
        self, problem: Problem, rng: Generator, *, initial: int = 10, power: int = 10, pending: str = "ignored"
    ) -> None:
        unconstrained = replace(problem, constraints=NO_BOUNDS)
        super().__init__(unconstrained, rng, initial=initial, power=power, pending=pending)

    def tell(self, observation: Observation) -> None:
        super().tell(observation._replace(feasible=observation.evaluation.status == "ok"))


def _key(row: NDArray[np.float64]) -> bytes:
    """A key of a row's configuration; rounded, because last digits depend on how many rows are computed together."""
    return row.round(9).tobytes()


def excesses(bound: Bound, told: Sequence[Observation]) -> NDArray[np.float64]:
    """The transformed excess of each observation, shape (n,): NaN if unknown, the worst known excess if it failed."""
    metrics = [(o.evaluation.status, o.evaluation.metrics[bound.metric.name]) for o in told]
    values = np.array([bilog(bound.excess(bound.counted(v) if status == "ok" else v)) for status, v in metrics])
    failed = [status == "failed" for status, _ in metrics]
    return np.where(failed, np.nanmax(values), values)


def thompson(objective: NDArray[np.float64], excesses: NDArray[np.float64]) -> int:
    """The candidate with the lowest drawn objective among the feasible ones (the paper's section 3).

    If none is feasible, the candidate with the least sum of positive excesses. Shapes (n,) and (constraints, n).
    """
    violation = np.maximum(excesses, 0.0).sum(axis=0) if len(excesses) else np.zeros(len(objective))
    if (violation > 0).all():
        return int(np.argmin(violation))
    return int(np.argmin(np.where(violation > 0, math.inf, objective)))


def standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values with mean 0 and standard deviation 1, or all 0; shape (n,)."""
    scores: NDArray[np.float64] = (values - values.mean()) / (values.std() or 1.0)
    return scores


def bilog(value: float) -> float:
    """sgn(y) ln(1 + |y|): magnifies the neighbourhood of 0."""
    return math.copysign(math.log1p(abs(value)), value)
