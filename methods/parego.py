"""ParEGO (Knowles, 2006): several objectives through any method that serves one and learns from all evaluations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from nasbench.base.errors import check_least
from nasbench.benchmarks import WHOLE, Evaluation, Metric
from nasbench.benchmarks.spaces import Configuration
from nasbench.methods._learners import learner
from nasbench.methods.about import About, Needs, Options
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.problem import Losses, Observation, Problem, Proposal
from nasbench.methods.spec import MethodSpec
from nasbench.methods.tpe import CTPE

_RHO = 0.05  # weight of the sum in the augmented Tchebycheff function (the paper, equation 2)
_STEPS = {1: 1, 2: 10, 3: 4}
"""Number of objectives → steps of the lattice of weights: 11 weight vectors for two, 15 for three (the paper, s)."""
_SCALAR = Metric("scalarised", "", description="augmented Tchebycheff function of the objectives")


def _unfit(problem: Problem, options: Options) -> str:
    by = str(options["by"])
    learner(by, "parego")  # refuses a method that does not learn from all
    reason = MethodSpec(by).misfit(_scalarised(problem))
    return f"searches by {by}, which {reason}" if reason else ""


@METHODS.register("parego")
class ParEGO(Method):
    """Scalarises several objectives by a new random weight vector before each proposal of a method for one objective.

    The scalar is max(λ_i y_i) + 0.05 Σ λ_i y_i of the losses y_i, scaled to [0, 1] by what has been observed; λ is
    drawn from a lattice on the simplex. A new instance of the method `by` is told all evaluations so far with their
    scalars, then asked; constraints are left to it. The paper's own method is a Gaussian process; the default here is
    c-TPE, and the beginning is random (the paper: 11d - 1 points of a Latin hypercube).

    Take it for fronts by a method for one objective.

    Beside its source: its method is c-TPE in place of the paper's Gaussian process.

    Options:
        by: a method for one objective that learns from evaluations it did not ask for, with its defaults.
        initial: random configurations at first, at least 1; if `by` needs more, it draws the rest.
    """

    about = About(
        source=(
            "J. Knowles. ParEGO: A Hybrid Algorithm with On-Line Landscape Approximation for Expensive "
            "Multiobjective Optimization Problems. IEEE Transactions on Evolutionary Computation 10(1), 2006."
        ),
        by="by",
        initial=lambda options: max(int(options["initial"]), MethodSpec(str(options["by"])).initial),
        seconds=3e-3,
    )
    needs = Needs(several=True, unless=_unfit)

    def __init__(self, problem: Problem, rng: Generator, *, by: str = "c-tpe", initial: int = 10) -> None:
        check_least("initial", initial, 1)
        self._problem, self._rng, self._initial = problem, rng, initial
        self._by, self._inner = learner(by, "parego"), _scalarised(problem)
        self._told: list[Observation] = []
        self._asked = 0
        self._by(self._inner, np.random.default_rng(0))  # checks that it fits

    @classmethod
    def make_ready(cls) -> None:
        CTPE.make_ready()  # the default; another `by` starts up within the first suggestion that needs it

    def ask(self) -> Configuration:
        self._asked += 1
        if self._asked <= self._initial or not self._told:
            return self._problem.sample(self._rng)
        steps = _STEPS[len(self._problem.objectives)]
        weights = drawn_weights(len(self._problem.objectives), steps, self._rng)
        method = self._by(self._inner, self._rng)
        values = scalars([self._problem.losses(observation) for observation in self._told], weights)
        for observation, value in zip(self._told, values, strict=True):
            metrics = {**observation.evaluation.metrics, _SCALAR.name: value}
            metrics = {name: metrics[name] for name in self._inner.told}
            evaluation = Evaluation(metrics, *observation.evaluation[1:4])
            method.tell(observation._replace(evaluation=evaluation))
        return Proposal.of(method.ask(), WHOLE).configuration

    def tell(self, observation: Observation) -> None:
        self._told.append(observation)


def _scalarised(problem: Problem) -> Problem:
    """The problem with one objective, the scalar."""
    constrained = {bound.metric.name: bound.metric for bound in problem.constraints}
    return replace(problem, objectives=(_SCALAR,), state=None, told={_SCALAR.name: _SCALAR, **constrained})


def drawn_weights(objectives: int, steps: int, rng: Generator) -> Losses:
    """A vector of weights, drawn uniformly from those that are multiples of 1/steps and sum to 1."""
    bars = np.sort(rng.choice(steps + objectives - 1, objectives - 1, replace=False))
    counts = np.diff(np.concatenate([[-1], bars, [steps + objectives - 1]])) - 1
    return tuple((counts / steps).tolist())


def scalars(losses: Sequence[Losses], weights: Losses) -> list[float]:
    """The augmented Tchebycheff function of losses that are scaled to [0, 1]; NaN for infinite ones.

    max_i λ_i y_i + ρ Σ_i λ_i y_i with ρ = 0.05 (the paper, equation 2).
    """
    points = np.array(losses)
    finite = np.all(np.isfinite(points), axis=1)
    if not finite.any():
        return [math.nan] * len(points)
    low, high = points[finite].min(axis=0), points[finite].max(axis=0)
    weighted = np.where(finite[:, None], points - low, np.nan) / np.where(high > low, high - low, 1.0) * weights
    values: list[float] = (weighted.max(axis=1) + _RHO * weighted.sum(axis=1)).tolist()
    return values
