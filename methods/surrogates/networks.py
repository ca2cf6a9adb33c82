"""A Gaussian process over networks: a kernel of distances, whose hyper-parameters are sampled by their likelihood.

The first axis of an array of distances is the *measure*: OTMANN distances at every ν, then normalised ones, then
squared differences of the scalars beside a network, if any. The other axes are the networks compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf

from nasbench.methods.surrogates.gaussian_process import GaussianProcess

Array = NDArray[np.float64]

_JITTER = 1e-10  # of the trace, below which an eigenvalue counts as negative

# Bounds between which hyper-parameters are drawn log-uniformly; noise and scales are shares of the values' variance.
_NOISE, _SCALES = (0.005, 0.2), (0.01, 100.0)
_RATES = ((1e-9, 1e-3), (1e-1, 1e2))
_INVERSES = (0.01, 50.0)  # scalars lie in [0, 1]: length-scales from a tenth to seven
_FEW = 5  # with more scalars than this, length-scales grow with their number; else all distances would be large


class Hyperparameters(NamedTuple):
    """Hyper-parameters of the kernel and the noise; all are positive."""

    noise: float
    scales: Array
    """α of the kernels of distances and of normalised distances, shape (2,)."""
    rates: Array
    """β, shape (2, ν)."""
    inverses: Array
    """γ = 1 / (2 length-scale²) of each scalar beside a network, shape (scalars,)."""


@dataclass(frozen=True)
class Observations:
    """Observed values and the distances between the observed networks."""

    distances: Array
    """Shape (measures, observations, observations)."""
    values: Array

    @cached_property
    def centre(self) -> float:
        """Median of the values."""
        return float(np.median(self.values))


def kernel(distances: Array, h: Hyperparameters, power: float = 1.0) -> Array:
    """(α₁ exp(-Σ β d) + α₂ exp(-Σ β̄ d̄^p)) exp(-Σ γ δ²) (section 4), from distances of shape (measures, …).

    Args:
        power: p; with 2, as in the authors' code, matrices are often not positive semi-definite.
    """
    shape = distances.shape[1:]
    # Distances of many candidates are stored by asked network: shape (asked, measures, candidates).
    rows = distances.transpose(2, 0, 1) if distances.ndim == 3 else distances[None]
    turned = distances.ndim == 3 and rows.flags.c_contiguous
    if not turned:
        rows = np.ascontiguousarray(distances).reshape(1, len(distances), -1)
    plain, normalised = _exponents(rows, h.rates, h.inverses, power)
    np.exp(plain, out=plain)
    plain *= h.scales[0]
    np.exp(normalised, out=normalised)
    normalised *= h.scales[1]
    plain += normalised
    return plain.T if turned else plain.reshape(shape)


@njit(cache=True)
def _exponents(rows: Array, rates: Array, inverses: Array, power: float) -> tuple[Array, Array]:
    """Exponents of both parts of the kernel, shape (asked, candidates); rows as (asked, measures, candidates)."""
    asked, _, candidates = rows.shape
    nus = rates.shape[1]
    plain, normalised = np.zeros((asked, candidates)), np.zeros((asked, candidates))
    for i in range(asked):
        for k in range(nus):
            for j in range(candidates):
                plain[i, j] -= rates[0, k] * rows[i, k, j]
            if power == 1.0:
                for j in range(candidates):
                    normalised[i, j] -= rates[1, k] * rows[i, nus + k, j]
            else:
                for j in range(candidates):
                    normalised[i, j] -= rates[1, k] * rows[i, nus + k, j] ** power
        for k in range(len(inverses)):
            for j in range(candidates):
                scaled = inverses[k] * rows[i, 2 * nus + k, j]
                plain[i, j] -= scaled
                normalised[i, j] -= scaled
    return plain, normalised


def projected(gram: Array) -> tuple[Array, int]:
    """The nearest positive semi-definite matrix, and the number of negative eigenvalues."""
    least = _JITTER * float(np.trace(gram))
    if dpotrf(_raised(gram, least), lower=1, clean=0, overwrite_a=1)[1] == 0:
        return gram, 0  # this test costs a tenth of the eigenvalues
    values, vectors = eigh(gram, subset_by_value=(-np.inf, -least), check_finite=False)
    nearest: Array = gram - (vectors * values) @ vectors.T
    return nearest, len(values)


def _raised(gram: Array, least: float) -> Array:
    """A symmetric matrix with `least` added to its diagonal, in LAPACK's memory order."""
    raised = gram.copy()
    raised.flat[:: len(gram) + 1] += least
    return raised.T


class NetworkProcess:
    """A Gaussian process conditioned on observations of networks; its prior mean is their median, as the authors do.

    Raises ValueError for fewer than two observations or a value that is not finite.
    """

    def __init__(self, seen: Observations, h: Hyperparameters, power: float = 1.0) -> None:
        if len(seen.values) < 2 or not np.isfinite(seen.values).all():
            raise ValueError("a Gaussian process needs two observations or more, all finite")
        self._h, self._power = h, power
        self._centre = seen.centre
        gram, self.clipped = projected(kernel(seen.distances, h, power))
        self._process = GaussianProcess(gram, h.noise, seen.values - self._centre)

    @property
    def likelihood(self) -> float:
        """The logarithm of the marginal likelihood of the values."""
        return self._process.likelihood

    def predict(self, distances: Array) -> tuple[Array, Array]:
        """Mean and standard deviation, without noise, from distances of shape (measures, candidates, observations)."""
        return self.posterior(kernel(distances, self._h, self._power))

    def posterior(self, cross: Array) -> tuple[Array, Array]:
        """As `predict`, from covariances with the observations, shape (candidates, observations)."""
        mean, variance = self._process.predict(cross, self._h.scales.sum())
        return self._centre + mean, np.sqrt(np.maximum(variance, 0.0))


def sampled(
    seen: Observations, rng: Generator, count: int, draws: int, scalars: int = 0, power: float = 1.0
) -> list[Hyperparameters]:
    """Hyper-parameters drawn from their posterior: uniform in logarithms over the bounds, weighted by likelihood.

    Args:
        count: number of samples returned, drawn with replacement.
        draws: number of candidates that are weighted.
        scalars: number of measures that belong to the scalars beside the networks.
    """
    variance = float(np.var(seen.values)) or 1.0  # any scale will do if all values are equal
    candidates = [_drawn(rng, (len(seen.distances) - scalars) // 2, scalars, variance) for _ in range(draws)]
    likelihoods = np.array([_likelihood(seen, h, power) for h in candidates])
    weights = np.exp(likelihoods - likelihoods.max())  # relative to the greatest, to avoid overflow
    chosen = rng.choice(draws, size=count, p=weights / weights.sum())
    return [candidates[i] for i in chosen]


def _drawn(rng: Generator, nus: int, scalars: int, variance: float) -> Hyperparameters:
    def log_uniform(low: float, high: float, size: int) -> Array:
        return np.exp(rng.uniform(math.log(low), math.log(high), size))

    noise = float(log_uniform(*_NOISE, 1)[0]) * variance
    scales = log_uniform(*_SCALES, 2) * variance
    rates = np.stack([log_uniform(*bounds, nus) for bounds in _RATES])
    inverses = log_uniform(*_INVERSES, scalars) * min(1.0, _FEW / max(scalars, 1))
    return Hyperparameters(noise, scales, rates, inverses)


def _likelihood(seen: Observations, h: Hyperparameters, power: float) -> float:
    """The logarithm of the marginal likelihood; minus infinity if the matrix is singular."""
    try:
        return NetworkProcess(seen, h, power).likelihood
    except np.linalg.LinAlgError:
        return -math.inf
