"""Freeze-thaw search: trainings are paused and taken up again as their curves promise (Swersky et al., 2014)."""

from __future__ import annotations

import math
from bisect import insort
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.benchmarks import Level
from nasbench.benchmarks.repeatability import Repeatable
from nasbench.benchmarks.spaces import Configuration
from nasbench.methods.contract import METHODS, Method, Observation, Problem, Proposal, Rank
from nasbench.methods.fidelity.rungs import rungs

Array = NDArray[np.float64]

_LEAST_ENDED = 3
"""Number of trainings that must have ended before predictions are worth anything."""
_LEAST_POINTS = 4
"""Number of points from which a power law is fitted; it has three parameters."""
_TO_SIGMA = 1.4826
"""Standard deviation of a normal distribution, as a multiple of the median absolute deviation."""
_NEWEST = 200
"""Number of trainings, the last that were begun, that say what a new one may be worth."""
_EARLIEST = 8
"""Share of the highest level below which, by default, no training pauses: two points are no curve."""
_EXPONENTS, _ZOOMS = 24, 3


@METHODS.register("freeze-thaw")
class FreezeThaw(Method):
    """Random configurations, trained on where the chance to beat the incumbent is largest for what is still to be paid.

    A training pauses whenever it has become `eta` times as long. Its end is predicted from its curve (`extrapolated`);
    how wrong that is, the trainings that have ended tell. A free worker takes the paused training with the best chance
    per level up to the end, or begins a new one, whose worth is that of the last 200 (`worth_of_new`). So where the
    beginning of a curve tells nothing, trainings go on, and where it does, few do. Of two violations of constraints at
    the end the smaller one is better, whatever the objective; what one is earlier counts as far as trainings with as
    large a one have not come down to the incumbent's. Where levels are trainings of their own, all are trained to the
    end.

    Options:
        eta: a training pauses whenever it has become this many times as long; at least 2.
        lowest: the level of the first pause; 0 for the last one within an eighth of the whole.
    """

    repeatable = Repeatable.SAME_KERNELS
    source = (
        "This project's, after K. Swersky, J. Snoek and R. P. Adams. Freeze-Thaw Bayesian Optimization. arXiv "
        "1406.3896, 2014."
    )
    version = 2
    tuned_on = ("lcbench", "taskset")
    needs_fidelity = True
    seconds = 5e-4  # on LCBench, 40 whole evaluations: 0.25 ms alone, 0.9 ms between evaluations that take all caches

    def __init__(self, problem: Problem, rng: Generator, *, eta: int = 2, lowest: int = 0) -> None:
        assert problem.fidelity is not None  # `MethodSpec.build` has checked it
        self._problem, self._rng = problem, rng
        self._known = [level.work for level in problem.fidelity.ladder]
        values = problem.fidelity.axes[0].values
        earliest = [value for value in values if value * _EARLIEST <= values[-1]]
        levels = rungs(problem.fidelity, eta, lowest or max(earliest, default=0))
        self._levels = levels if problem.fidelity.continuable else levels[-1:]
        self._above = dict(zip(self._levels[:-1], self._levels[1:], strict=True))
        self._paused: dict[Level, list[tuple[Rank, int, Configuration]]] = {level: [] for level in self._above}
        """By level, in this order: violation and predicted end, trial and configuration."""
        self._seen: dict[int, dict[Level, Rank]] = {}
        """By trial that has not ended: at each level, its violation there and what was predicted of its end."""
        self._violations: dict[Level, list[Rank]] = {level: [] for level in self._above}
        """By level: violation there and at the end, of all trainings that have ended."""
        self._errors: dict[Level, list[float]] = {level: [] for level in self._above}
        """By level: end less prediction, of all trainings that have ended."""
        self._spreads: dict[Level, Spread] = {}
        """By level: what these errors say, where there are enough of them."""
        self._newest: deque[Rank] = deque(maxlen=_NEWEST)
        """Violation and predicted end at the first level, of the trainings begun last."""
        self._best: Rank = (math.inf, math.inf)

    def ask(self) -> Proposal:
        found = self._most_promising()
        if found is None:
            return Proposal(self._problem.space.sample(self._rng), self._levels[0])
        level, place = found
        _, trial, configuration = self._paused[level].pop(place)
        return Proposal(configuration, self._above[level], trial)

    def tell(self, observation: Observation) -> None:
        trial, level = observation.trial, observation.level
        seen = self._seen.pop(trial, {})
        if observation.evaluation.status != "ok":
            if level == self._levels[0]:
                self._newest.append((math.inf, math.inf))
            return
        violation, objective = observation.rank(self._problem.constraints)
        if level not in self._above:
            self._best = min(self._best, (violation, objective))
            for early, (before, predicted) in seen.items():
                self._violations[early].append((before, violation))
                errors = self._errors[early]
                errors.append(objective - predicted)
                if len(errors) >= _LEAST_ENDED:
                    self._spreads[early] = Spread.of(errors)
            return
        curve = observation.curve or (objective,)
        rank = violation, extrapolated(self._known[: len(curve)], curve, self._levels[-1].work)
        if level == self._levels[0]:
            self._newest.append(rank)
        self._seen[trial] = seen | {level: rank}
        insort(self._paused[level], (rank, trial, observation.configuration))

    @classmethod
    def make_ready(cls) -> None:
        import scipy.special  # noqa: F401

    def _most_promising(self) -> tuple[Level, int] | None:
        """The level and the place in it of the paused training that goes on; None for a new one."""
        highest, first = self._levels[-1].work, self._levels[0].work
        worth: dict[Level, tuple[float, int]] = {}
        for level, paused in self._paused.items():
            if paused:
                # With equal violations the first has the best chance.
                looked_at = paused[:1] if paused[0][0][0] == paused[-1][0][0] else paused
                chances = self._chances([rank for rank, _, _ in looked_at], level)
                place = int(chances.argmax())
                worth[level] = float(chances[place]) / (highest - level.work), place
        if not worth:
            return None
        best = max(worth, key=lambda level: (worth[level][0], level.work))
        value, place = worth[best]
        new = worth_of_new(self._chances(self._newest, self._levels[0]), first, highest)
        return (best, place) if value >= new and value > 0 else None

    def _chances(self, ranks: Sequence[Rank], level: Level) -> Array:
        """The probabilities that trainings end better than the incumbent, shape (trainings,).

        Args:
            ranks: violation and predicted end of each, at the level.
        """
        violations, ends = np.array(ranks, float).T
        least, best = self._best
        spread = self._spreads.get(level)
        by_end = np.ones(len(ends)) if spread is None else chance_below(best, ends, spread)
        lost = violations > least
        if lost.any():
            limit = self._lost_from(level)
            lost &= (violations >= limit) & (limit < math.inf)
        return np.where(violations < least, 1.0, np.where(lost, 0.0, by_end))

    def _lost_from(self, level: Level) -> float:
        """The violation at a level from which on no training is expected to fall to the incumbent's by its end.

        It is the least from which one has not fallen so far, if none has from there or from above. Infinite until three
        have ended that stood above the incumbent's.
        """
        least, _ = self._best
        above = [(before, end) for before, end in self._violations.get(level, ()) if before > least]
        if len(above) < _LEAST_ENDED:
            return math.inf
        fallen = max((before for before, end in above if end <= least), default=least)
        return min((before for before, end in above if end > least and before > fallen), default=math.inf)


def worth_of_new(chances: Array, first: int, highest: int) -> float:
    """Chance of success per level paid, if trainings are begun and the best of them go on to the end.

    n trainings up to the first level and the k best of them to the end cost n r + k (R - r); the sum of the k chances
    is divided by that, for the best k.

    Args:
        chances: of trainings that were begun, at the first level, shape (n,).
        first: r.
        highest: R.
    """
    gains = np.cumsum(np.sort(chances)[::-1])
    costs = len(chances) * first + np.arange(1, len(chances) + 1) * (highest - first)
    return float((gains / costs).max())


class Spread(NamedTuple):
    """What errors of earlier predictions say of a new one: Student's t distribution."""

    centre: float
    scale: float
    """0 where all errors are alike."""
    freedom: int

    @classmethod
    def of(cls, errors: Sequence[float]) -> Spread:
        """That of n errors, two or more, as if they were normal: n - 1 degrees of freedom.

        The median and the median absolute deviation stand in place of mean and standard deviation: losses that explode
        are no measure of the others.
        """
        centre, n = float(np.median(errors)), len(errors)
        scale = _TO_SIGMA * float(np.median(np.abs(np.array(errors) - centre))) * math.sqrt(1 + 1 / n)
        return cls(centre, scale, n - 1)


def chance_below(limit: float, predicted: Array, errors: Spread) -> Array:
    """The probability that values are below a limit.

    Args:
        predicted: of each value, shape (values,).
        errors: of values less their predictions.
    """
    from scipy.special import stdtr  # takes a while to load

    distance = limit - predicted - errors.centre
    if errors.scale == 0:
        return (distance > 0).astype(float)
    found: Array = stdtr(errors.freedom, distance / errors.scale)
    return found


def extrapolated(levels: Sequence[int], curve: Sequence[float], highest: int) -> float:
    """The end of a training: the mean of the last value and of a power law that fits the later half of its curve.

    The last value alone, where that half has fewer than four points. (The beginning follows no power law, and a power
    law without the last value is worse than the last value: docs/multi-fidelity.md.)

    Args:
        levels: where the curve is known, ascending.
        curve: the value at each of these levels; NaN where it is not known, but for the last one.
        highest: the level of the end.
    """
    x, y = np.array(levels, float), np.array(curve, float)
    late = np.isfinite(y)
    late[: len(y) // 2] = False
    if late.sum() < _LEAST_POINTS:
        return float(y[-1])
    asymptote, height, exponent = power_law(x[late], y[late])
    return float(0.5 * (y[-1] + asymptote + height * highest**-exponent))


def power_law(x: Array, y: Array) -> tuple[float, float, float]:
    """(c, a, α) of c + a x^-α with a >= 0 and α in [0.1, 3] that fit best by least squares.

    For a given α the other two are a linear regression (variable projection), so α alone is searched: on a grid, which
    is then refined around its best point.

    Args:
        x: above 0, shape (points,).
        y: shape (points,).
    """
    low, high = math.log(0.1), math.log(3.0)
    for _ in range(_ZOOMS):
        exponents = np.exp(np.linspace(low, high, _EXPONENTS))
        basis = x[None] ** -exponents[:, None]
        centred = basis - basis.mean(axis=1, keepdims=True)
        heights = np.maximum(centred @ (y - y.mean()) / (centred**2).sum(axis=1), 0.0)
        errors = ((y - y.mean() - heights[:, None] * centred) ** 2).sum(axis=1)
        place = int(errors.argmin())
        step = (high - low) / (_EXPONENTS - 1)
        low, high = (
            max(low, math.log(exponents[place]) - step),
            min(high, math.log(exponents[place]) + step),
        )
    height, exponent = float(heights[place]), float(exponents[place])
    return float(y.mean() - height * basis[place].mean()), height, exponent
