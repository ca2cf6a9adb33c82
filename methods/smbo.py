"""Sequential model-based optimisation with a linear surrogate on hashed features (DeepArchitect, section 7.2)."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.benchmarks.spaces import Configuration, Hashed
from nasbench.benchmarks.spaces.errors import UsageError
from nasbench.methods.base import METHODS, Method, Observation, Problem

_REFRESH = 500  # observations between two inversions from scratch: rank-one updates drift


@METHODS.register("smbo")
class Smbo(Method):
    """Proposes the best predicted of many random configurations; a ridge regression predicts.

    With probability `explore` the proposal is random instead, and so are the first `initial`. An observation that
    violates a constraint counts with the worst feasible objective seen so far at its time (a failed one, too); before
    anything is feasible, with its violation. With several workers pending proposals are ignored: the draw of candidates
    varies them.

    Options:
        candidates: random configurations of which the best predicted is proposed.
        explore: probability of a random proposal, in [0, 1].
        initial: random configurations before the model is used; 0 for none.
        buckets: features of the model, into which the words that describe a configuration are hashed.
        alpha: strength of the ridge penalty, above 0.
    """

    source = (
        "R. Negrinho, D. Patil, N. Le, D. Ferreira, M. Gormley and G. Gordon. Towards modular and programmable "
        "architecture search. NeurIPS 2019. Section 7.2."
    )
    seconds = 1.5e-4

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        candidates: int = 512,
        explore: float = 0.1,
        initial: int = 10,
        buckets: int = 256,
        alpha: float = 1.0,
    ) -> None:
        for name, value, low in (("candidates", candidates, 1), ("initial", initial, 0), ("buckets", buckets, 1)):
            if not low <= value <= 100_000:
                raise UsageError(f"{name} must lie in [{low}, 100000], not {value}")
        if not 0 <= explore <= 1:
            raise UsageError(f"explore must lie in [0, 1], not {explore}")
        if not 0 < alpha < math.inf:
            raise UsageError(f"alpha must be positive and finite, not {alpha}")
        self._problem, self._rng = problem, rng
        self._candidates, self._explore, self._initial = candidates, explore, initial
        self._hashed = Hashed(problem.space, buckets)
        self._ridge = Ridge(buckets, alpha)
        self._feasible: list[float] = []
        self._infeasible: list[tuple[NDArray[np.float64], float]] = []

    def ask(self) -> Configuration:
        if self._ridge.n < max(1, self._initial) or self._rng.random() < self._explore:
            return self._problem.space.sample(self._rng)
        configuration, indices = self._hashed.draw(self._candidates, self._rng)
        weights = np.append(self._ridge.weights(), 0.0)  # the last for padding
        return configuration(int(np.argmin(weights[indices].sum(axis=1))))

    def tell(self, observation: Observation) -> None:
        features = np.bincount(self._hashed.of(observation.configuration), minlength=self._ridge.size).astype(float)
        violation, objective = observation.rank(self._problem.constraints)
        if observation.feasible:
            if not self._feasible:  # violations were the only measure so far; from now on objectives are
                self._ridge.forget()
                for earlier, _ in self._infeasible:
                    self._ridge.add(earlier, objective)
            self._feasible.append(objective)
            self._ridge.add(features, objective)
        elif self._feasible:
            self._ridge.add(features, max(self._feasible))
        else:
            self._infeasible.append((features, violation))
            worst = max([v for _, v in self._infeasible if math.isfinite(v)], default=0.0)
            self._ridge.add(features, violation if math.isfinite(violation) else worst)


class Ridge:
    """Ridge regression with an unpenalised intercept, updated observation by observation.

    weights = (Xc' Xc + alpha I)^-1 Xc' yc with centred X and y (Hastie et al., The Elements of Statistical Learning,
    equation 3.44): the inverse of X' X + alpha I is kept by Sherman and Morrison's formula, and centring takes one more
    such update.
    """

    def __init__(self, size: int, alpha: float) -> None:
        self.size, self._alpha = size, alpha
        self.forget()

    def forget(self) -> None:
        """Begins anew."""
        self.n = 0
        self._inverse = np.eye(self.size) / self._alpha
        self._gram = np.zeros((self.size, self.size))  # of all observations but the recent ones
        self._recent: list[NDArray[np.float64]] = []
        self._sum, self._cross = np.zeros(self.size), np.zeros(self.size)
        self._total = 0.0

    def add(self, features: NDArray[np.float64], target: float) -> None:
        """One more observation; `features` has the shape (size,)."""
        self.n += 1
        self._sum += features
        self._cross += target * features
        self._total += target
        self._recent.append(features)
        if self.n % _REFRESH == 0:
            recent = np.array(self._recent)
            self._gram += recent.T @ recent
            self._recent.clear()
            self._inverse[:] = np.linalg.inv(self._gram + self._alpha * np.eye(self.size))
        else:
            _update(self._inverse, features, 1.0)

    def weights(self) -> NDArray[np.float64]:
        """The coefficients, shape (size,); the intercept moves all predictions alike and is left out."""
        mean = self._sum / self.n
        solved = self._inverse @ mean
        centred = self._cross - self._total * mean
        plain = self._inverse @ centred
        # (A - n m m')^-1 b, where A is what the inverse belongs to.
        found: NDArray[np.float64] = plain + solved * (self.n * (mean @ plain) / (1 - self.n * (mean @ solved)))
        return found


def _update(inverse: NDArray[np.float64], vector: NDArray[np.float64], weight: float) -> None:
    """The inverse of A + weight v v' in place of that of A (Sherman and Morrison, 1950)."""
    solved = inverse @ vector
    scaled = solved * (weight / (1 + weight * (vector @ solved)))
    touched = np.flatnonzero(solved)
    if len(touched) < len(solved) // 2:  # in a table few buckets are ever seen, and the others stay as they are
        inverse[touched[:, None], touched] -= solved[touched, None] * scaled[touched]
    else:
        inverse -= np.outer(solved, scaled)
