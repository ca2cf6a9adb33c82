"""Sequential model-based optimisation with a linear surrogate on hashed features (DeepArchitect, section 7.2)."""

from __future__ import annotations

import math
from copy import deepcopy

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.base.errors import UsageError, check_choice, check_range
from nasbench.benchmarks.spaces import Configuration, Hashed
from nasbench.methods.about import About
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.problem import Observation, Problem

Array = NDArray[np.float64]

_REFRESH = 500  # observations between two inversions from scratch: rank-one updates drift


@METHODS.register("smbo")
class Smbo(Method):
    """Proposes the random candidate with the best value predicted by a ridge regression.

    The first `initial` proposals are random, and later ones with probability `explore`. An infeasible or failed
    observation counts as the worst feasible one; while none is feasible, each counts with its violation.
    By default pending evaluations (asynchronous workers) are ignored: the random candidates make proposals differ.

    Take it for programs of the search-space language, as in its paper.

    Beside its source: 256 buckets and a penalty of 1, where its authors' code has 2,048 and 10⁻⁵.

    Options:
        candidates: random configurations per proposal, of which the best predicted is proposed.
        explore: probability of a random proposal, in [0, 1].
        initial: random configurations before the model is used; they count when they are told, so several workers begin
            with more; with 0, until the first one is told.
        buckets: number of features, into which the words that describe a configuration are hashed.
        alpha: strength of the ridge penalty, above 0.
        pending: ignored, or bad: a pending evaluation counts as the worst of the observations until it is told.
    """

    about = About(
        source=(
            "R. Negrinho, D. Patil, N. Le, D. Ferreira, M. Gormley and G. Gordon. Towards modular and programmable "
            "architecture search. NeurIPS 2019. Section 7.2."
        ),
        version=3,
        tuned_on=("nas-bench-101",),
        learns_from_all=True,
        seconds=1.5e-4,
    )

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
        pending: str = "ignored",
    ) -> None:
        check_choice("pending", pending, ("ignored", "bad"))
        for name, value, low in (("candidates", candidates, 1), ("initial", initial, 0), ("buckets", buckets, 1)):
            check_range(name, value, low)
        check_range("explore", explore, 0, 1)
        if not 0 < alpha < math.inf:
            raise UsageError(f"alpha must be positive and finite, not {alpha}")
        self._problem, self._rng = problem, rng
        self._candidates, self._explore, self._initial = candidates, explore, initial
        self._hashed = Hashed(problem.space, buckets)
        self._ridge = Ridge(buckets, alpha)
        self._objectives: list[float] = []
        """The objective of each observation; NaN of an infeasible one."""
        self._violations: list[float] = []
        self._heeds_pending = pending == "bad"
        self._pending: list[Configuration] = []

    def ask(self) -> Configuration:
        if self._ridge.n < max(1, self._initial) or self._rng.random() < self._explore:
            chosen = self._problem.sample(self._rng)
        else:
            configuration, indices = self._hashed.draw(self._candidates, self._rng)
            weights = np.append(self._weights(), 0.0)  # the last for padding
            chosen = configuration(int(np.argmin(weights[indices].sum(axis=1))))
        if self._heeds_pending:
            self._pending.append(chosen)
        return chosen

    def tell(self, observation: Observation) -> None:
        if observation.configuration in self._pending:  # others' evaluations may be told too
            self._pending.remove(observation.configuration)
        violation, objective = observation.rank(self._problem.constraints)
        self._objectives.append(objective if observation.feasible else math.nan)
        self._violations.append(violation)
        self._ridge.add(self._features(observation.configuration))

    def _features(self, configuration: Configuration) -> Array:
        return np.bincount(self._hashed.of(configuration), minlength=self._ridge.size).astype(float)

    def _weights(self) -> Array:
        """The coefficients of the model, with every pending evaluation as bad as the worst observation."""
        targets = self._targets()
        if not self._pending:
            return self._ridge.weights(targets)
        ridge = deepcopy(self._ridge)
        for configuration in self._pending:
            ridge.add(self._features(configuration))
        return ridge.weights(np.append(targets, np.full(len(self._pending), targets.max())))

    def _targets(self) -> Array:
        """What each observation counts with: an infeasible one as the worst feasible objective of today.

        While none is feasible, with its violation, and a failure with the largest finite violation, or 0.
        """
        objectives = np.array(self._objectives)
        if not np.isnan(objectives).all():
            return np.where(np.isnan(objectives), np.nanmax(objectives), objectives)
        violations = np.array(self._violations)
        finite = np.isfinite(violations)
        return np.where(finite, violations, violations[finite].max(initial=0.0))


class Ridge:
    """Ridge regression with an unpenalised intercept; observations come one by one, their targets with the question.

    weights = (Xc' Xc + alpha I)^-1 Xc' y with centred X (Hastie et al., The Elements of Statistical Learning,
    equation 3.44): the inverse of X' X + alpha I is kept by Sherman and Morrison's formula, and centring takes one more
    such update. The inverse covers the features that were seen, in the order of their appearance. All sums are NumPy's,
    whose order is the same on every processor (that of BLAS is not).
    """

    def __init__(self, size: int, alpha: float) -> None:
        self.size, self._alpha = size, alpha
        self.n = 0
        self._rows = np.zeros((64, size))
        self._seen = np.zeros(0, np.int64)
        self._unseen = np.ones(size, np.bool_)
        self._inverse = np.zeros((0, 0))
        self._gram = np.zeros((0, 0))  # of all observations up to the last inversion from scratch

    def add(self, features: Array) -> None:
        """Adds one observation; `features` are counts, shape (size,)."""
        present = np.flatnonzero(features)
        self._widen(present[self._unseen[present]])
        if self.n == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[self.n] = features
        self.n += 1
        if self.n % _REFRESH == 0:
            recent = self._rows[self.n - _REFRESH : self.n, self._seen]
            self._gram += recent.T @ recent  # sums of whole numbers: exact in any order
            self._inverse = _inverse(self._gram + self._alpha * np.eye(len(self._seen)))
        else:
            _update(self._inverse, features[self._seen])

    def weights(self, targets: Array) -> Array:
        """The coefficients, shape (size,), without the intercept, which is the same for every candidate.

        Args:
            targets: one number per observation, shape (n,).
        """
        rows = self._rows[: self.n, self._seen]
        mean = rows.sum(axis=0) / self.n
        solved = _times(self._inverse, mean)
        plain = _times(self._inverse, (rows * (targets - targets.mean())[:, None]).sum(axis=0))
        weights = np.zeros(self.size)  # a feature that was never seen has the coefficient 0
        # (A - n m m')^-1 b, where A^-1 is the inverse.
        weights[self._seen] = plain + solved * (self.n * _dot(mean, plain) / (1 - self.n * _dot(mean, solved)))
        return weights

    def _widen(self, buckets: NDArray[np.int64]) -> None:
        """Adds rows and columns of I / alpha for features that are seen for the first time."""
        if len(buckets):
            known = len(self._seen)
            self._seen = np.append(self._seen, buckets)
            self._unseen[buckets] = False
            wider = np.eye(len(self._seen)) / self._alpha
            wider[:known, :known] = self._inverse
            self._inverse = wider
            self._gram = np.pad(self._gram, (0, len(buckets)))


def _dot(a: Array, b: Array) -> float:
    return float((a * b).sum())


def _times(matrix: Array, vector: Array) -> Array:
    product: Array = (matrix * vector).sum(axis=1)
    return product


def _update(inverse: Array, vector: Array) -> None:
    """Replaces the inverse of A by that of A + v v' (Sherman and Morrison, 1950)."""
    solved = _times(inverse, vector)
    inverse -= np.multiply.outer(solved, solved / (1 + _dot(vector, solved)))


def _inverse(matrix: Array) -> Array:
    """The inverse of a positive definite matrix by Gauss-Jordan elimination; such a matrix needs no pivots."""
    inverse = matrix.copy()
    for i in range(len(inverse)):
        column, row = inverse[:, i].copy(), inverse[i] / inverse[i, i]
        inverse -= np.multiply.outer(column, row)
        inverse[:, i] = -column / column[i]
        inverse[i] = row
        inverse[i, i] = 1 / column[i]
    return inverse
