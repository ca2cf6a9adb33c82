"""A Gaussian process conditioned on noisy values (Rasmussen and Williams, 2006, algorithm 2.1), and Matérn's kernel.

Each surrogate defines its covariance and fits its hyper-parameters: `networks` (distances of layer graphs), `rows`
(mixed hyper-parameters), `trees` (a process per leaf).
"""

from __future__ import annotations

import math
from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

Array = NDArray[np.float64]


class GaussianProcess:
    """A function with mean zero, conditioned on its values at n points with independent normal noise.

    Args:
        covariance: covariance of the function between the points, without noise, shape (n, n).
        noise: variance of the noise, above 0.
        values: observed values, shape (n,); finite.

    Raises LinAlgError if the covariance of the observations is singular.
    """

    def __init__(self, covariance: Array, noise: float, values: Array) -> None:
        self._values = values
        observed = covariance.copy()
        observed.flat[:: len(values) + 1] += noise
        self._lower, failed = dpotrf(observed.T, lower=1, overwrite_a=1)  # transposed: as LAPACK stores a matrix
        if failed:
            raise np.linalg.LinAlgError("the covariance of the observations is singular")

    def lowered(self) -> tuple[GaussianProcess, float]:
        """The process conditioned on the values less their level, and that level.

        It is the constant mean under which the values are most likely: by generalised least squares, 1'K⁻¹y / 1'K⁻¹1.
        """
        ones = self.solved(np.ones(len(self._values)))
        level = float(ones @ self._values / ones.sum())
        other = copy(self)
        other._values = self._values - level
        other.__dict__.pop("weights", None)
        return other, level

    @property
    def likelihood(self) -> float:
        """The logarithm of the marginal likelihood of the values."""
        misfit = 0.5 * self._values @ self.weights
        return -float(misfit + self.half_log_determinant + 0.5 * len(self._values) * math.log(2 * math.pi))

    @property
    def half_log_determinant(self) -> float:
        """Half the logarithm of the determinant of K, the covariance of the observations."""
        return float(np.log(np.diag(self._lower)).sum())

    @cached_property
    def weights(self) -> Array:
        """K⁻¹ times the values, shape (n,)."""
        return self.solved(self._values)

    def solved(self, columns: Array) -> Array:
        """K⁻¹ times columns, shape (n,) or (n, m)."""
        solution: Array = dpotrs(self._lower, columns, lower=1)[0]
        return solution

    def whitened(self, columns: Array) -> Array:
        """L⁻¹ times columns, shape (n,) or (n, m), where L is the Cholesky factor of K."""
        solution: Array = dtrtrs(self._upper, columns, lower=0, trans=1)[0]
        return solution

    @cached_property
    def _upper(self) -> Array:
        """A copy of Lᵀ in Fortran order: it keeps the order of sums of the stored runs of `treebo`."""
        return np.asfortranarray(self._lower.T)

    def predict(self, cross: Array, prior: Array | float) -> tuple[Array, Array]:
        """Posterior mean and variance of the function without noise, shape (m,) each.

        Args:
            cross: covariances of m places with the points, shape (m, n).
            prior: prior variance at each place.
        """
        solved = dtrsm(1.0, self._lower, cross, side=1, lower=1, trans_a=1)  # faster on rows
        return cross @ self.weights, prior - (solved**2).sum(1)

    def posterior(self, cross: Array, prior: Array) -> tuple[Array, Array]:
        """Posterior mean, shape (m,), and covariance, shape (m, m), of the function without noise.

        Args:
            cross: covariances of m places with the points, shape (m, n).
            prior: prior covariance of the places, shape (m, m).
        """
        solved = self.whitened(cross.T)
        return cross @ self.weights, prior - solved.T @ solved


def matern(distance: Array, scale: float = 1.0, beside: Array | float = 0.0) -> Array:
    """Matérn's kernel with ν = 5/2 for distances in length-scales, times a variance (`scale`) and exp(-`beside`)."""
    root = math.sqrt(5) * distance
    covariance: Array = scale * (1 + root + root**2 / 3) * np.exp(-root - beside)
    return covariance
