"""A Gaussian process over mixed rows: Matérn 5/2 over ordered columns times an overlap kernel over categorical ones."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.optimize import fmin_l_bfgs_b
from scipy.spatial.distance import cdist

from nasbench.methods.mixed import Rows
from nasbench.methods.surrogates.gaussian_process import GaussianProcess, matern

_LENGTH = (0.005, 4.0)  # as a share of [0, 1], as in BoTorch's SCBO tutorial
_WEIGHT = (0.005, 5.0)  # exp(-5) = 0.007: categories are almost uncorrelated
_SCALE = (0.05, 20.0)
_NOISE = (1e-6, 1.0)  # for standardised targets; wider than the tutorial's (1e-8 to 1e-3): our targets are noisy
_STEPS = 30
"""Steps of L-BFGS per fit. Few are needed, because a fit begins where the last one ended."""


class RowProcess:
    """A process with a constant mean and the covariance (Rasmussen and Williams, 2006, chapters 2 and 5)

        k(x, y) = s² M(r) exp(-Σ w_j [x_j ≠ y_j]),  M(r) = (1 + √5 r + 5 r²/3) exp(-√5 r),  r² = Σ (x_i - y_i)² / l_i²

    plus independent noise. The mean, l, w, s² and the noise maximise the marginal likelihood, all but the mean within
    bounds.
    """

    def __init__(self, categorical: NDArray[np.bool_]) -> None:
        """`categorical`, shape (d,), says which columns of rows are categorical."""
        self._categorical = categorical
        bounds = [_WEIGHT if c else _LENGTH for c in categorical] + [_SCALE, _NOISE]
        self._bounds = [(math.log(low), math.log(high)) for low, high in bounds]
        self._first = np.log([0.5] * len(categorical) + [1.0, 0.01])
        self.parameters = self._first
        """Shape (d + 2,): logarithms of l or w per column, of s², and of the noise's variance."""

    def fit(self, rows: Rows, targets: NDArray[np.float64], believed: Rows | None = None) -> None:
        """Fits n targets, shape (n,), at rows.

        The search for parameters starts twice, from their present values and from the first ones: where one start alone
        ends in a poor maximum, all later fits would begin there.

        Args:
            believed: rows at which the posterior mean is then taken for the target: there the mean stays as it is, and
                the variance shrinks (kriging believer, Ginsbourger et al., 2010).
        """
        differences = _differences(rows, self._categorical)
        arguments = (differences, self._categorical, targets)
        starts = [self.parameters] if self.parameters is self._first else [self.parameters, self._first]
        found = [
            fmin_l_bfgs_b(_negative_likelihood, start, args=arguments, bounds=self._bounds, maxiter=_STEPS)
            for start in starts
        ]
        parameters, value, _ = min(found, key=lambda end: end[1] if math.isfinite(end[1]) else math.inf)
        if math.isfinite(value):
            self.parameters = parameters
        self._condition(rows, targets)
        if believed is not None and len(believed):
            self._condition(np.concatenate([rows, believed]), np.concatenate([targets, self.mean(believed)]))

    def _condition(self, rows: Rows, targets: NDArray[np.float64]) -> None:
        self._rows, self._targets = rows, targets
        process = GaussianProcess(self.covariance(rows, rows), math.exp(self.parameters[-1]), targets)
        self._process, self._level = process.lowered()

    @property
    def lengths(self) -> NDArray[np.float64]:
        """The length-scale of each ordered column, as a share of its range."""
        lengths: NDArray[np.float64] = np.exp(self.parameters[:-2])[~self._categorical]
        return lengths

    def covariance(self, a: Rows, b: Rows) -> NDArray[np.float64]:
        """k of every row of `a` with every row of `b`, without noise: shape (n, m)."""
        scales = np.exp(self.parameters)
        ordered = ~self._categorical
        lengths = scales[:-2][ordered]
        r = cdist(a[:, ordered] / lengths, b[:, ordered] / lengths) if ordered.any() else np.zeros((1, 1))
        differing = np.zeros((len(a), len(b)))
        for j in np.flatnonzero(self._categorical):
            differing += scales[j] * (a[:, None, j] != b[None, :, j])
        return matern(r, scales[-2], differing)

    def mean(self, rows: Rows) -> NDArray[np.float64]:
        """The posterior mean at rows, shape (n,)."""
        mean: NDArray[np.float64] = self._level + self.covariance(rows, self._rows) @ self._process.weights
        return mean

    def posterior(self, rows: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean, shape (n,), and covariance, shape (n, n), of the noiseless function at rows."""
        mean, covariance = self._process.posterior(self.covariance(rows, self._rows), self.covariance(rows, rows))
        return self._level + mean, covariance

    def predict(self, rows: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean and variance of the noiseless function at each of n rows, shape (n,) each."""
        mean, variance = self._process.predict(self.covariance(rows, self._rows), math.exp(self.parameters[-2]))
        return self._level + mean, np.maximum(variance, 0.0)

    def left_out(self, normals: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        """For each fitted target, draws of the function at all n fitted rows without that target, shape (n, draws).

        The level stays that of all targets. By Matheron's rule: a draw from the prior, corrected by what it misses of
        the other targets.

        Args:
            normals: standard normal numbers for the function and for the noise, shape (2, n, draws).
        """
        noise = math.exp(self.parameters[-1])
        precision = self._process.solved(np.eye(len(self._rows)))
        drawn = self._root(self.covariance(self._rows, self._rows)) @ normals[0]
        missed = (self._targets - self._level)[:, None] - drawn - math.sqrt(noise) * normals[1]
        weights = precision @ missed
        given_all = self._level + drawn + missed - noise * weights
        # Without target j: the weights that are 0 there (Rasmussen and Williams, section 5.4.2). K K⁻¹ = 1 - noise K⁻¹.
        changes, withdrawn = np.eye(len(precision)) - noise * precision, weights / np.diag(precision)[:, None]
        for change, weight in zip(changes, withdrawn, strict=True):
            yield given_all - change[:, None] * weight

    def sample(self, rows: Rows, normals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Joint posterior draws of the function at n rows, of standard normal numbers: shape (n,) or (n, draws)."""
        mean, covariance = self.posterior(rows)
        drawn: NDArray[np.float64] = (mean + (self._root(covariance) @ normals).T).T
        return drawn

    def _root(self, covariance: NDArray[np.float64]) -> NDArray[np.float64]:
        """The Cholesky factor of a covariance of the function."""
        jitter = 1e-8 * math.exp(self.parameters[-2])
        while True:
            try:
                factor: NDArray[np.float64] = cholesky(
                    covariance + jitter * np.eye(len(covariance)), lower=True, overwrite_a=True
                )
                return factor
            except np.linalg.LinAlgError:  # nearly equal rows: rounding errors exceed the jitter
                jitter *= 10


def _differences(rows: Rows, categorical: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Squared differences of all pairs of rows, or whether they differ if categorical: shape (d, n, n)."""
    columns = rows.T
    return np.where(
        categorical[:, None, None],
        columns[:, :, None] != columns[:, None, :],
        (columns[:, :, None] - columns[:, None, :]) ** 2,
    ).astype(float)


def _negative_likelihood(
    parameters: NDArray[np.float64],
    differences: NDArray[np.float64],
    categorical: NDArray[np.bool_],
    targets: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """Minus the log marginal likelihood under the best mean, and its gradient (Rasmussen and Williams, section 5.4).

    The best mean adds nothing to the gradient.
    """
    scales = np.exp(parameters)
    weights = np.where(categorical, scales[:-2], scales[:-2] ** -2.0)
    root = math.sqrt(5) * np.sqrt(np.tensordot(weights[~categorical], differences[~categorical], 1))
    overlap = np.exp(-np.tensordot(weights[categorical], differences[categorical], 1))
    decay = scales[-2] * np.exp(-root) * overlap
    covariance = (1 + root + root**2 / 3) * decay
    try:
        process, _ = GaussianProcess(covariance, scales[-1], targets).lowered()
    except np.linalg.LinAlgError:
        return math.inf, np.zeros(len(parameters))
    slope = 0.5 * (process.solved(np.eye(len(targets))) - np.outer(process.weights, process.weights))
    # With respect to log l_i and log w_j: 5/3 (1 + √5 r) exp(-√5 r) (x_i - y_i)² / l_i², and -w_j [x_j ≠ y_j] k.
    by_length = weights * np.tensordot(differences, slope * (5 / 3) * (1 + root) * decay, 2)
    by_weight = -weights * np.tensordot(differences, slope * covariance, 2)
    last = [float((slope * covariance).sum()), float(scales[-1] * np.trace(slope))]
    return -process.likelihood, np.concatenate([np.where(categorical, by_weight, by_length), last])
