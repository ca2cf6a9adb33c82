"""Predictions for candidates, fitted on all observations."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks.spaces import FiniteSpace
from nasbench.methods.growing.popnas.growth import Growth, Member
from nasbench.methods.growing.popnas.predictor import KernelRidge
from nasbench.methods.problem import Observation, Problem, Rank

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class ProblemColumns:
    """Names of the metrics of a problem that a front may need."""

    time: str | None
    """The training time alone; None if only the cost of an evaluation is known."""
    size: str | None
    """The first metric to be minimised that is known before training; None if there is none."""

    @classmethod
    def of(cls, problem: Problem) -> ProblemColumns:
        """The columns of a problem: the time by its name (`train_time`), the size by being cheap."""
        times = (name for name, m in problem.told.items() if m.name.partition("@")[0] == "train_time")
        cheap = (name for name, m in problem.told.items() if m.cheap and m.minimize and problem.known is not None)
        return cls(next(times, None), next(cheap, None))

    def seconds(self, observation: Observation) -> float:
        """The training time of a network in seconds; NaN if it was not trained to the end."""
        if observation.evaluation.status != "ok":
            return math.nan
        return observation.evaluation.cost if self.time is None else observation.evaluation.metrics[self.time]


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions for candidates, all to be minimised, each of shape (candidates,)."""

    members: Sequence[Member]
    scores: tuple[Array, ...]
    """For each objective the predicted rank among the observations, as a share: by violation, then by objective."""
    seconds: Array
    """Predicted training time."""
    size: Array | None
    """Exact on a table, predicted elsewhere; None if it is not known before training, or not needed."""
    violation: Array
    """Sum of the violations of constraints that are known before training; exact or predicted, as the size."""
    objectives: Array
    """Observed values of the first objective, to translate a score into a value."""
    maximised: bool
    """Whether the first objective is maximised: a low score then means a high value."""

    def predicted(self, place: int) -> tuple[float, float]:
        """The predicted first objective and training time of a candidate."""
        share = min(max(float(self.scores[0][place]), 0.0), 1.0)
        share = 1.0 - share if self.maximised else share
        objective = float(np.quantile(self.objectives, share)) if len(self.objectives) else math.nan
        return objective, float(self.seconds[place])


def forecast(
    problem: Problem, growth: Growth, told: Mapping[Member, Observation], members: Sequence[Member], with_size: bool
) -> Predictions:
    """Fits a predictor of each objective on the observations and predicts for candidates.

    A cheap metric of a table is looked up instead.
    """
    columns, observed = ProblemColumns.of(problem), list(told.values())
    seconds = [columns.seconds(observation) for observation in observed]
    times = {growth.key(m): s for m, s in zip(told, seconds, strict=True) if math.isfinite(s)}
    x = growth.features([*told, *members], times)
    known, x = x[: len(told)], x[len(told) :]

    @cache
    def regression(finite: bytes) -> KernelRidge:  # most targets share it
        return KernelRidge(known[np.frombuffer(finite, bool)])

    def predicted(targets: Sequence[float]) -> Array:
        y = np.array(targets, float)
        finite = np.isfinite(y)
        return regression(finite.tobytes()).predict(y[finite], x) if finite.any() else np.zeros(len(x))

    def cheap(metric: str) -> Array:
        assert problem.known is not None  # otherwise no metric would be cheap
        if isinstance(problem.space, FiniteSpace):
            return np.array([problem.known(metric, growth.configuration(member)) for member in members])
        return predicted([observation.evaluation.metrics[metric] for observation in observed])

    violation = np.zeros(len(members))
    for bound in problem.known_bounds:
        violation += [bound.violation(value) for value in cheap(bound.metric.name).tolist()]
    return Predictions(
        members,
        tuple(predicted(ranks(keys)) for keys in _keys(problem, observed)),
        predicted(seconds),
        None if columns.size is None or not with_size else cheap(columns.size),
        violation,
        np.array([o.objective for o in observed if o.evaluation.status == "ok"]),
        not problem.objectives[0].minimize,
    )


def _keys(problem: Problem, observed: Sequence[Observation]) -> list[list[Rank]]:
    """For each objective, what the observations are ranked by: the violation of constraints, then the objective."""
    keys = [observation.rank(problem.constraints) for observation in observed]
    if not problem.several:
        return [keys]
    losses = [problem.losses(observation) for observation in observed]
    return [[(key[0], loss[k]) for key, loss in zip(keys, losses, strict=True)] for k in range(len(problem.objectives))]


def ranks(keys: Sequence[Rank]) -> list[float]:
    """The rank of each key as a share in (0, 1), smaller is better; tied keys have the mean of their ranks."""
    order = sorted(keys)
    return [(bisect_left(order, key) + bisect_right(order, key)) / (2 * len(order)) for key in keys]
