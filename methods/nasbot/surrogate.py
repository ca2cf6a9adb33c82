"""A metric as a Gaussian process over networks, whose hyper-parameters are sampled anew now and then."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import ndtr

from nasbench.benchmarks import Bound
from nasbench.methods.surrogates.networks import Hyperparameters, NetworkProcess, Observations, kernel, sampled

Array = NDArray[np.float64]


class Surrogate:
    """Of one metric.

    Args:
        refit: observations after which hyper-parameters are sampled anew; as many are drawn, and take turns.
        draws: how many are weighted for that.
        power: of the normalised distance in the kernel.
        scalars: how many of the measures are of what stands beside the networks.
    """

    def __init__(self, rng: Generator, refit: int, draws: int, power: float, scalars: int = 0) -> None:
        self._rng, self._refit, self._draws, self._power, self._scalars = rng, refit, draws, power, scalars
        self._hyperparameters: list[Hyperparameters] = []
        self._fitted = self._turn = 0
        self.clipped = 0
        """Negative eigenvalues that were set to zero, over all steps."""

    def fit(self, between: Array, values: Array, pending: Array) -> None:
        """Conditions on observations, and its deviation on what is pending, too.

        Args:
            between: distances of all that is observed and then all that is pending, shape (measures, all, all).
            values: of the observed ones.
            pending: what may be assumed of the others: the deviation does not depend on it.
        """
        count = len(values)
        seen = Observations(np.ascontiguousarray(between[:, :count, :count]), values)
        if not self._hyperparameters or count - self._fitted >= self._refit:
            self._hyperparameters = sampled(seen, self._rng, self._refit, self._draws, self._scalars, self._power)
            self._fitted = count
        own = self._hyperparameters[self._turn % len(self._hyperparameters)]
        self._turn += 1
        self._own, self._count = own, count
        self._process = NetworkProcess(seen, own, self._power)
        self._hallucinating = self._process
        if len(pending):
            everything = Observations(between, np.concatenate([values, pending]))
            self._hallucinating = NetworkProcess(everything, own, self._power)
        self.clipped += self._process.clipped

    def predict(self, distances: Array, order: Sequence[int] | None = None) -> tuple[Array, Array]:
        """Mean and deviation of candidates.

        Args:
            distances: to what it is conditioned on, shape (measures, candidates, all).
            order: where this stands in the last axis, first what is observed; by default as it is.
        """
        cross = kernel(distances, self._own, self._power)
        if order is not None:
            cross = cross[:, order]
        if self._hallucinating is self._process:
            return self._process.posterior(cross)
        mean, _ = self._process.posterior(cross[:, : self._count])
        return mean, self._hallucinating.posterior(cross)[1]

    def holds(self, distances: Array, bound: Bound, order: Sequence[int] | None = None) -> Array:
        """The probability of each candidate that it satisfies a constraint on what is predicted."""
        mean, deviation = self.predict(distances, order)
        found: Array = ndtr(bound.slack(mean) / np.maximum(deviation, 1e-12))
        return found


def plane(distances: Array) -> Array:
    """Points in a plane whose distances are near to these, shape (points, 2): classical scaling."""
    count = len(distances)
    centring = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    found: Array = vectors[:, -2:][:, ::-1] * np.sqrt(np.maximum(values[-2:][::-1], 0.0))
    return found
