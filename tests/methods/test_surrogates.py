"""The Gaussian process that all surrogates condition, beside dense formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from nasbench.methods.surrogates.gaussian_process import GaussianProcess, matern

NOISE = 0.3


def covariances(n: int = 12, m: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Between n observed points, of m places with these, and between the places."""
    at = np.random.default_rng(0).random((n + m, 3))
    whole = matern(np.linalg.norm(at[:, None] - at[None], axis=-1), 2.0)
    return whole[:n, :n], whole[n:, :n], whole[n:, n:]


def test_posterior_and_likelihood_are_those_of_the_dense_formulas() -> None:
    observed, cross, prior = covariances()
    values = np.random.default_rng(1).normal(size=12)
    dense = observed + NOISE * np.eye(12)
    process = GaussianProcess(observed, NOISE, values)
    assert np.array_equal(observed, covariances()[0])  # what is given stays as it is
    assert process.likelihood == pytest.approx(multivariate_normal(np.zeros(12), dense).logpdf(values))
    assert process.half_log_determinant == pytest.approx(0.5 * np.linalg.slogdet(dense)[1])
    expected = cross @ np.linalg.solve(dense, values)
    left = prior - cross @ np.linalg.solve(dense, cross.T)
    for (mean, spread), wanted in (
        (process.predict(cross, np.diag(prior)), np.diag(left)),
        (process.posterior(cross, prior), left),
    ):
        assert mean == pytest.approx(expected)
        assert spread == pytest.approx(wanted)
    columns = np.random.default_rng(2).normal(size=(12, 3))
    assert process.solved(columns) == pytest.approx(np.linalg.solve(dense, columns))
    white = process.whitened(columns)
    assert white.T @ white == pytest.approx(columns.T @ np.linalg.solve(dense, columns))


def test_a_singular_covariance_is_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        GaussianProcess(-np.ones((2, 2)), 1e-6, np.zeros(2))


def test_materns_kernel_is_scikit_learns() -> None:
    kernels = pytest.importorskip("sklearn.gaussian_process.kernels")
    at = np.random.default_rng(0).random((6, 1))
    theirs = kernels.Matern(0.4, nu=2.5)(at)
    assert matern(abs(at - at.T) / 0.4) == pytest.approx(theirs)
    assert matern(abs(at - at.T) / 0.4, 3.0, 0.7) == pytest.approx(3.0 * math.exp(-0.7) * theirs)
