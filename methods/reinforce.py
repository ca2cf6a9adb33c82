"""REINFORCE (Williams, 1992) with an independent softmax for each choice, as in NAS-Bench-101 and NAS-Bench-201."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.base.errors import UsageError
from nasbench.benchmarks.spaces import AsFlat, Configuration, Coordinate, Float, Hyperparameter, Integer
from nasbench.benchmarks.spaces.hyperparameters import at_share, shares
from nasbench.methods._pending import Pending
from nasbench.methods.about import About, Needs
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.problem import Observation, Problem

Array: TypeAlias = NDArray[np.float64]

_PARTS = 16
"""Equal parts of the range of a real number or of an integer, on its scale, that are choices of the policy."""
_DECAY, _SQUARED, _TINY = 0.9, 0.999, 1e-8  # of Adam (Kingma and Ba, 2015)


@METHODS.register("reinforce")
class Reinforce(Method):
    """Draws every choice from a softmax of its own, whose logits follow the gradient of the expected reward.

    The reward is minus the objective; the baseline is its exponential moving average, corrected for its beginning; the
    step is Adam's, so the unit of the objective does not matter. An infeasible or failed observation has the worst
    reward of a feasible one so far; while none is feasible, minus its violation. The policy begins as random search. A
    real number or an integer is a choice among 16 equal parts of its range, in which its value is drawn uniformly. With
    several workers the gradient is that of the policy when a proposal is told.

    Take it for a comparison with NAS-Bench-201's paper, which has it as a baseline.

    Beside its source: a real number is a choice among 16 parts of its range.

    Options:
        rate: step of Adam, above 0. By default that of the scripts of NATS-Bench; those of NAS-Bench-201 take 0.001.
        momentum: of the moving average, in [0, 1).
    """

    about = About(
        source=(
            "R. J. Williams. Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement "
            "Learning. Machine Learning 8, 1992. As a baseline: X. Dong and Y. Yang. NAS-Bench-201: Extending the "
            "Scope of Reproducible Neural Architecture Search. ICLR 2020."
        ),
        seconds=2e-4,
    )
    needs = Needs(views=(AsFlat,))

    def __init__(self, problem: Problem, rng: Generator, *, rate: float = 0.01, momentum: float = 0.9) -> None:
        if not 0 < rate < math.inf:
            raise UsageError(f"rate must be above 0, and finite, not {rate}")
        if not 0 <= momentum < 1:
            raise UsageError(f"momentum must lie in [0, 1), not {momentum}")
        self._problem, self._rng, self._rate, self._momentum = problem, rng, rate, momentum
        priors = [_prior(h) for h in problem.flat.hyperparameters]
        sizes = [len(prior) for prior in priors]
        self._starts, self._owner = np.cumsum([0, *sizes[:-1]]), np.repeat(np.arange(len(sizes)), sizes)
        self._logits = np.log(np.concatenate(priors))
        self._slope, self._square = np.zeros((2, len(self._logits)))
        self._told, self._average, self._baseline, self._worst = 0, 0.0, 0.0, math.nan
        self._pending = Pending[Array]()

    @property
    def _policy(self) -> Array:
        """The probability of each choice, those of all hyper-parameters one after the other."""
        powers = np.exp(self._logits - np.maximum.reduceat(self._logits, self._starts)[self._owner])
        return np.asarray(powers / np.add.reduceat(powers, self._starts)[self._owner])

    def ask(self) -> Configuration:
        reached = np.cumsum(self._policy)  # d + 1 at the last choice of hyper-parameter d
        configuration, chosen = self._problem.accepted(lambda: self._drawn(reached), lambda drawn: drawn[0])
        self._pending.add(configuration, chosen)
        return configuration

    def _drawn(self, reached: Array) -> tuple[Configuration, Array]:
        """A configuration, and the choice by which each hyper-parameter was drawn; NaN for an absent one."""
        flat, within = self._problem.flat, self._rng.random(len(self._starts))
        places = np.searchsorted(reached, np.arange(len(self._starts)) + self._rng.random(len(self._starts)), "right")
        last = np.append(self._starts[1:], len(reached)) - 1
        chosen = np.clip(places, self._starts, last) - self._starts.astype(float)
        coordinates = list[Coordinate]()
        for d, (h, condition) in enumerate(zip(flat.hyperparameters, flat.conditions, strict=True)):
            if condition is not None and not condition.holds(coordinates):
                chosen[d] = math.nan
                coordinates.append(None)
            elif isinstance(h, Float | Integer):
                coordinates.append(at_share(h, (chosen[d] + within[d]) / _PARTS))
            else:
                coordinates.append(int(chosen[d]))
        return flat.at(coordinates), chosen

    def tell(self, observation: Observation) -> None:
        chosen, reward = self._pending.answer(observation), self._reward(observation)
        self._told += 1
        self._average = self._momentum * self._average + (1 - self._momentum) * reward
        self._baseline = self._average / (1 - self._momentum**self._told)
        present = ~np.isnan(chosen)
        gradient = np.where(present[self._owner], -self._policy, 0.0)  # of the logarithm of the probability
        gradient[self._starts[present] + chosen[present].astype(int)] += 1
        self._step((reward - self._baseline) * gradient)

    def _reward(self, observation: Observation) -> float:
        violation, objective = observation.rank(self._problem.constraints)
        if observation.feasible:
            self._worst = float(np.fmax(self._worst, objective))
            return -objective
        if not math.isnan(self._worst):
            return -self._worst
        return -violation if math.isfinite(violation) else self._baseline

    def _step(self, gradient: Array) -> None:
        """One step of Adam uphill (Kingma and Ba, 2015, algorithm 1)."""
        self._slope += (1 - _DECAY) * (gradient - self._slope)
        self._square += (1 - _SQUARED) * (gradient**2 - self._square)
        slope, square = self._slope / (1 - _DECAY**self._told), self._square / (1 - _SQUARED**self._told)
        self._logits += self._rate * slope / (np.sqrt(square) + _TINY)


def _prior(h: Hyperparameter) -> Array:
    """The probability of each choice before the first observation; none is 0, so that it can be learnt."""
    if isinstance(h, Float | Integer):
        return np.full(_PARTS, 1 / _PARTS)
    return np.maximum(shares(h), _TINY)
