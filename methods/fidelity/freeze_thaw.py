"""Freeze-thaw search: trainings are paused, and continued if their curves are promising (Swersky et al., 2014)."""

from __future__ import annotations

import math
from bisect import insort
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks import Level
from nasbench.benchmarks.spaces import Configuration
from nasbench.methods.about import About, Needs
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.problem import Observation, Problem, Proposal, Rank
from nasbench.methods.rungs import rungs

Array = NDArray[np.float64]

_LEAST_ENDED = 3
"""Number of trainings that must have ended before prediction errors are estimated."""
_LEAST_POINTS = 4
"""Number of points from which a power law is fitted; it has three parameters."""
_TO_SIGMA = 1.4826
"""Standard deviation of a normal distribution, as a multiple of the median absolute deviation."""
_NEWEST = 200
"""Number of the most recently begun trainings from which the worth of a new one is estimated."""
_EARLIEST = 8
"""The default first pause is the last level within 1/8 of the highest; shorter curves say too little."""
_EXPONENTS, _ZOOMS = 24, 3


@METHODS.register("freeze-thaw")
class FreezeThaw(Method):
    """Continues the random configuration with the best chance to beat the incumbent per remaining training cost.

    A training pauses whenever its length has grown by the factor `eta`. Its final value is predicted from its curve
    (`extrapolated`), with an error estimated from the trainings that have ended. A free worker continues the paused
    training with the best chance per remaining level, or begins a new one, whose worth is estimated from the last 200
    (`worth_of_new`). So if the beginning of a curve is uninformative most trainings continue, else few do. At the end a
    smaller violation of constraints is better, whatever the objective. A violation before the end counts against a
    training if no earlier training with so large a violation has come down to the incumbent's. If each level is a
    separate training, all configurations are trained to the end.

    Take it for trainings that can be watched, without rungs.

    Beside its source: only the idea is the paper's: there is no Gaussian process over curves.

    Options:
        eta: a training pauses whenever its length has grown by this factor; at least 2.
        lowest: no training pauses below this level; 0 for the last level within 1/8 (or 1/eta, if that is less) of the
            highest.
    """

    about = About(
        repeatable=Repeatable.SAME_KERNELS,
        source=(
            "This project's, after K. Swersky, J. Snoek and R. P. Adams. Freeze-Thaw Bayesian Optimization. arXiv "
            "1406.3896, 2014."
        ),
        version=3,
        tuned_on=("lcbench", "taskset"),
        seconds=5e-4,  # on LCBench, 40 full trainings: 0.25 ms alone, 0.9 ms between evaluations that evict all caches
    )
    needs = Needs(fidelity=True)

    def __init__(self, problem: Problem, rng: Generator, *, eta: int = 2, lowest: int = 0) -> None:
        assert problem.fidelity is not None  # `MethodSpec.build` has checked it
        self._problem, self._rng = problem, rng
        self._known = [level.work for level in problem.fidelity.ladder]
        values = problem.fidelity.axes[0].values
        earliest = [value for value in values if value * max(_EARLIEST, eta) <= values[-1]]
        levels = list(dict.fromkeys(rungs(problem.fidelity, eta, lowest or max(earliest, default=0))))
        self._levels = levels if problem.fidelity.continuable else levels[-1:]
        self._above = dict(zip(self._levels[:-1], self._levels[1:], strict=True))
        self._paused: dict[Level, list[tuple[Rank, int, Configuration]]] = {level: [] for level in self._above}
        """Paused trainings by level, sorted: violation with predicted final value, trial, configuration."""
        self._seen: dict[int, dict[Level, Rank]] = {}
        """For each trial that has not ended, by level: its violation there and its predicted final value."""
        self._violations: dict[Level, list[Rank]] = {level: [] for level in self._above}
        """For all ended trainings, by level: violation there and at the end."""
        self._errors: dict[Level, list[float]] = {level: [] for level in self._above}
        """For all ended trainings, by level: final value less prediction."""
        self._spreads: dict[Level, Spread] = {}
        """The distribution of these errors, by level, if there are enough of them."""
        self._newest: deque[Rank] = deque(maxlen=_NEWEST)
        """Violation and predicted final value at the first level, for the trainings begun last."""
        self._best: Rank = (math.inf, math.inf)

    def ask(self) -> Proposal:
        promising = self._most_promising()
        if promising is None:
            return Proposal(self._problem.sample(self._rng), self._levels[0])
        level, place = promising
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
        """The level and the place in it of the paused training to continue; None to begin a new one."""
        highest, first = self._levels[-1].work, self._levels[0].work
        worth: dict[Level, tuple[float, int]] = {}
        for level, paused in self._paused.items():
            if paused:
                # If all violations are equal the first has the best chance.
                compared = paused[:1] if paused[0][0][0] == paused[-1][0][0] else paused
                chances = self._chances([rank for rank, _, _ in compared], level)
                place = int(chances.argmax())
                worth[level] = float(chances[place]) / (highest - level.work), place
        if not worth:
            return None
        best = max(worth, key=lambda level: (worth[level][0], level.work))
        value, place = worth[best]
        new = worth_of_new(self._chances(self._newest, self._levels[0]), first, highest)
        return (best, place) if value >= new and value > 0 else None

    def _chances(self, ranks: Sequence[Rank], level: Level) -> Array:
        """The probability of each training to end better than the incumbent, shape (trainings,).

        Args:
            ranks: violation and predicted final value of each training at the level.
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
        """The least violation at a level that is expected to stay above the incumbent's until the end.

        It is the least violation that did stay above it, among those larger than every violation that came down to it.
        Infinite until three trainings with a violation above the incumbent's have ended.
        """
        least, _ = self._best
        above = [(before, end) for before, end in self._violations.get(level, ()) if before > least]
        if len(above) < _LEAST_ENDED:
            return math.inf
        fallen = max((before for before, end in above if end <= least), default=least)
        return min((before for before, end in above if end > least and before > fallen), default=math.inf)


def worth_of_new(chances: Array, first: int, highest: int) -> float:
    """The expected number of successes per level of training, if new trainings begin and the best of them continue.

    Training n configurations up to the first level and the k best of them to the end costs n r + k (R - r). The result
    is the sum of the k largest chances divided by this cost, for the best k.

    Args:
        chances: chances of trainings at the first level, shape (n,).
        first: r, the first level.
        highest: R, the highest level.
    """
    gains = np.cumsum(np.sort(chances)[::-1])
    costs = len(chances) * first + np.arange(1, len(chances) + 1) * (highest - first)
    return float((gains / costs).max())


class Spread(NamedTuple):
    """The distribution of a prediction error, estimated from earlier errors: Student's t distribution."""

    centre: float
    scale: float
    """0 if more than half of the errors are equal."""
    freedom: int

    @classmethod
    def of(cls, errors: Sequence[float]) -> Spread:
        """The distribution from n errors, two or more, assumed to be normal: n - 1 degrees of freedom.

        The median and the median absolute deviation replace mean and standard deviation, because exploding losses would
        dominate these.
        """
        centre, n = float(np.median(errors)), len(errors)
        scale = _TO_SIGMA * float(np.median(np.abs(np.array(errors) - centre))) * math.sqrt(1 + 1 / n)
        return cls(centre, scale, n - 1)


def chance_below(limit: float, predicted: Array, errors: Spread) -> Array:
    """The probability that values are below a limit.

    Args:
        predicted: the prediction of each value, shape (values,).
        errors: distribution of values less their predictions.
    """
    from scipy.special import stdtr  # takes a while to load

    distance = limit - predicted - errors.centre
    if errors.scale == 0:
        return (distance > 0).astype(float)
    probabilities: Array = stdtr(errors.freedom, distance / errors.scale)
    return probabilities


def extrapolated(levels: Sequence[int], curve: Sequence[float], highest: int) -> float:
    """The predicted final value: the mean of the last value and of a power law fitted to the later half of the curve.

    If that half has fewer than four points, it is the last value. (The beginning does not follow a power law, and a
    power law alone predicts worse than the last value: docs/notebook/multi-fidelity.md.)

    Args:
        levels: the levels of the curve, ascending.
        curve: the value at each of these levels; NaN if unknown, except the last one.
        highest: the highest level.
    """
    x, y = np.array(levels, float), np.array(curve, float)
    late = np.isfinite(y)
    late[: len(y) // 2] = False
    if late.sum() < _LEAST_POINTS:
        return float(y[-1])
    asymptote, height, exponent = power_law(x[late], y[late])
    return float(0.5 * (y[-1] + asymptote + height * highest**-exponent))


def power_law(x: Array, y: Array) -> tuple[float, float, float]:
    """The least-squares fit (c, a, α) of c + a x^-α with a >= 0 and α in [0.1, 3].

    For a given α the others follow by linear regression (variable projection), so only α is searched: on a grid, which
    is refined around its best point.

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
