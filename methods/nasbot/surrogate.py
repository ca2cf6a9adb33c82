"""A metric modelled by a Gaussian process over networks, whose hyper-parameters are resampled from time to time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.benchmarks import Bound
from nasbench.methods.surrogates.acquisition import probability
from nasbench.methods.surrogates.networks import Hyperparameters, NetworkProcess, Observations, kernel, sampled

Array = NDArray[np.float64]


class NetworkSurrogate:
    """The model of one metric.

    Args:
        refit: observations after which hyper-parameters are resampled; also the number of samples, used in turn.
        draws: number of candidates that are weighted for this.
        power: power of the normalised distance in the kernel.
        scalars: number of measures that belong to the scalars beside the networks.
    """

    def __init__(self, rng: Generator, refit: int, draws: int, power: float, scalars: int = 0) -> None:
        self._rng, self._refit, self._draws, self._power, self._scalars = rng, refit, draws, power, scalars
        self._hyperparameters: list[Hyperparameters] = []
        self._fitted = self._turn = 0
        self.clipped = 0
        """Negative eigenvalues that were set to zero, over all steps."""

    def fit(self, between: Array, values: Array, pending: Array) -> None:
        """Conditions on observations; the deviation is also conditioned on pending evaluations.

        Args:
            between: distances between the observed networks, then the pending ones, shape (measures, all, all).
            values: values of the observed networks.
            pending: assumed values of the pending networks; the deviation does not depend on them.
        """
        count = len(values)
        seen = Observations(np.ascontiguousarray(between[:, :count, :count]), values)
        if not self._hyperparameters or count - self._fitted >= self._refit:
            self._hyperparameters = sampled(seen, self._rng, self._refit, self._draws, self._scalars, self._power)
            self._fitted = count
        h = self._hyperparameters[self._turn % len(self._hyperparameters)]
        self._turn += 1
        self._h, self._count = h, count
        self._process = NetworkProcess(seen, h, self._power)
        self._hallucinating = self._process
        if len(pending):
            everything = Observations(between, np.concatenate([values, pending]))
            self._hallucinating = NetworkProcess(everything, h, self._power)
        self.clipped += self._process.clipped

    def predict(self, distances: Array, order: Sequence[int] | None = None) -> tuple[Array, Array]:
        """Mean and standard deviation of candidates.

        Args:
            distances: distances to the networks conditioned on, shape (measures, candidates, all).
            order: places of these networks in the last axis, in the order of `fit`; by default as they are.
        """
        cross = kernel(distances, self._h, self._power)
        if order is not None:
            cross = cross[:, order]
        if self._hallucinating is self._process:
            return self._process.posterior(cross)
        mean, _ = self._process.posterior(cross[:, : self._count])
        return mean, self._hallucinating.posterior(cross)[1]

    def holds(self, distances: Array, bound: Bound, order: Sequence[int] | None = None) -> Array:
        """The probability that each candidate satisfies a constraint on this metric."""
        return probability(bound, *self.predict(distances, order))


def plane(distances: Array) -> Array:
    """Points in a plane whose distances approximate the given ones, shape (points, 2): classical scaling."""
    count = len(distances)
    centring = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    points: Array = vectors[:, -2:][:, ::-1] * np.sqrt(np.maximum(values[-2:][::-1], 0.0))
    return points
