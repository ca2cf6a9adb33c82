"""A Gaussian process over networks: a kernel of distances, its hyper-parameters sampled by their likelihood.

Arrays of distances have a first axis of *measures*: OTMANN distances at every ν, normalised ones, then squared
differences of the scalars that stand beside a network, if any. The other axes say between what.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular

Array = NDArray[np.float64]

_JITTER = 1e-10  # of the largest eigenvalue, below which an eigenvalue counts as negative

# Between which hyper-parameters are drawn, log-uniformly; noise and scales in shares of the values' variance.
_NOISE, _SCALES = (0.005, 0.2), (0.01, 100.0)
_RATES = ((1e-9, 1e-3), (1e-1, 1e2))
_INVERSES = (0.01, 50.0)  # scalars lie in [0, 1]: length-scales from a tenth to seven


class Hyperparameters(NamedTuple):
    """Of the kernel and the noise; all are positive."""

    noise: float
    scales: Array
    """α of the distances' part and of the normalised ones', shape (2,)."""
    rates: Array
    """β, shape (2, ν)."""
    inverses: Array
    """γ of each scalar beside a network: one over twice its squared length-scale; shape (scalars,)."""


class Observations(NamedTuple):
    """What the process is conditioned on."""

    distances: Array
    """Shape (measures, observations, observations)."""
    values: Array


def kernel(distances: Array, h: Hyperparameters, power: float = 1.0) -> Array:
    """(α₁ exp(-Σ β d) + α₂ exp(-Σ β̄ d̄^p)) exp(-Σ γ δ²) (section 4), from distances of shape (measures, …).

    Args:
        power: p; with 2, the authors' code's, matrices are often not positive semi-definite.
    """
    nus = h.rates.shape[1]
    plain, normalised, scalars = distances[:nus], distances[nus : 2 * nus], distances[2 * nus :]
    if power != 1:
        normalised = normalised**power
    one = np.exp(-np.tensordot(h.rates[0], plain, 1))
    other = np.exp(-np.tensordot(h.rates[1], normalised, 1))
    found: Array = h.scales[0] * one + h.scales[1] * other
    return found * np.exp(-np.tensordot(h.inverses, scalars, 1)) if len(scalars) else found


def projected(gram: Array) -> tuple[Array, int]:
    """The nearest positive semi-definite matrix, and how many eigenvalues were negative."""
    try:
        np.linalg.cholesky(gram + _JITTER * np.trace(gram) * np.eye(len(gram)))
        return gram, 0  # a test that costs a tenth of the eigenvalues
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(gram)
    negative = values < -_JITTER * max(float(values[-1]), 1e-300)
    if not negative.any():
        return gram, 0
    found: Array = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return found, int(negative.sum())


class Process:
    """Conditioned on observations; the mean is the values' median, as the authors have it.

    Raises ValueError for fewer than two observations, or a value that is not finite.
    """

    def __init__(self, seen: Observations, h: Hyperparameters, power: float = 1.0) -> None:
        if len(seen.values) < 2 or not np.isfinite(seen.values).all():
            raise ValueError("a Gaussian process needs two observations or more, all finite")
        self._h, self._power = h, power
        self._centre = float(np.median(seen.values))
        gram, self.clipped = projected(kernel(seen.distances, h, power))
        self._factor = cho_factor(gram + h.noise * np.eye(len(gram)), lower=True)
        self._left = seen.values - self._centre
        self._weights: Array = cho_solve(self._factor, self._left)

    @property
    def likelihood(self) -> float:
        """The logarithm of the marginal likelihood of the values."""
        halves = np.log(np.diag(self._factor[0])).sum()
        return float(-0.5 * self._left @ self._weights - halves - 0.5 * len(self._left) * math.log(2 * math.pi))

    def predict(self, distances: Array) -> tuple[Array, Array]:
        """Mean and standard deviation, without noise, from distances of shape (measures, candidates, observations)."""
        cross = kernel(distances, self._h, self._power)
        mean: Array = self._centre + cross @ self._weights
        solved = solve_triangular(self._factor[0], cross.T, lower=True)
        variance = self._h.scales.sum() - (solved**2).sum(0)
        return mean, np.sqrt(np.maximum(variance, 0.0))


def sampled(
    seen: Observations, rng: Generator, count: int, draws: int, scalars: int = 0, power: float = 1.0
) -> list[Hyperparameters]:
    """Hyper-parameters drawn from their posterior: uniform in logarithms over the bounds, weighted by likelihood.

    Args:
        count: how many are returned, drawn with replacement.
        draws: how many are weighted.
        scalars: how many of the measures are of what stands beside the networks.
    """
    variance = float(np.var(seen.values)) or 1.0  # where all values are alike any scale will do
    candidates = [_drawn(rng, (len(seen.distances) - scalars) // 2, scalars, variance) for _ in range(draws)]
    found = np.array([_likelihood(seen, h, power) for h in candidates])
    weights = np.exp(found - found.max())  # their greatest first: a likelihood may exceed what a number holds
    chosen = rng.choice(draws, size=count, p=weights / weights.sum())
    return [candidates[i] for i in chosen]


def _drawn(rng: Generator, nus: int, scalars: int, variance: float) -> Hyperparameters:
    def log_uniform(low: float, high: float, size: int) -> Array:
        return np.exp(rng.uniform(math.log(low), math.log(high), size))

    noise = float(log_uniform(*_NOISE, 1)[0]) * variance
    scales = log_uniform(*_SCALES, 2) * variance
    rates = np.stack([log_uniform(*own, nus) for own in _RATES])
    return Hyperparameters(noise, scales, rates, log_uniform(*_INVERSES, scalars))


def _likelihood(seen: Observations, h: Hyperparameters, power: float) -> float:
    """Minus infinity where a matrix stays singular."""
    try:
        return Process(seen, h, power).likelihood
    except np.linalg.LinAlgError:
        return -math.inf
