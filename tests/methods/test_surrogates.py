"""The Gaussian process that all surrogates condition, beside dense formulas; and what acquisitions are made of."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from nasbench.benchmarks import Bound, Metric
from nasbench.methods.surrogates.acquisition import expected_improvement, probability
from nasbench.methods.surrogates.gaussian_process import GaussianProcess, matern
from nasbench.methods.surrogates.rows import RowProcess
from nasbench.methods.surrogates.trees import Points, TreeKernelParameters, TreeProcess

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


@pytest.mark.filterwarnings("error")
def test_a_constraint_holds_with_the_normal_probability_and_for_sure_where_nothing_is_uncertain() -> None:
    """Also in units in which deviations are tiny."""
    at_most, at_least = (Bound(Metric("size", ""), high=3.0), Bound(Metric("size", ""), low=3.0))
    mean, deviation = np.array([2.0, 3.0, 4.5]), np.array([2.0, 0.5, 1.0])
    assert probability(at_most, mean, deviation) == pytest.approx(norm(mean, deviation).cdf(3.0))
    assert probability(at_least, mean, deviation) == pytest.approx(norm(mean, deviation).sf(3.0))
    beside = np.array([3.0 - 1e-9, 3.0 + 1e-9])
    assert probability(at_most, beside, np.zeros(2)).tolist() == [1.0, 0.0]
    assert probability(at_least, beside, np.zeros(2)).tolist() == [0.0, 1.0]
    assert 0.5 <= probability(at_most, np.array([3.0]), np.zeros(1))[0] <= 1.0
    small = Bound(Metric("error", ""), high=3e-9)
    assert probability(small, 1e-9 * mean, 1e-9 * deviation) == pytest.approx(norm(mean, deviation).cdf(3.0))


@pytest.mark.filterwarnings("error")
def test_improvement_far_from_the_best_is_nothing_or_the_gain_itself() -> None:
    mean, deviation = np.array([-1e9, 1e9, 0.0, 7.0]), np.array([1e-9, 1e-9, 0.0, 0.0])
    assert expected_improvement(mean, deviation, 1.0).tolist() == [1e9 + 1, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("length", [0.02, 0.05, 0.1, 0.3])
def test_deviations_are_numbers_where_observations_leave_none(length: float) -> None:
    """Without noise the variance at an observed point is zero up to rounding, which may be on either side."""
    at = np.linspace(0, 1, 12)[:, None]
    values = np.sin(5 * at[:, 0])
    rows = RowProcess(np.array([False]))
    rows.parameters = np.log([length, 1.0, 1e-18])
    rows._condition(at, values)
    points = Points(np.zeros(12, np.int64), at, np.zeros((12, 1)))
    leaf = TreeProcess(points, values, TreeKernelParameters(np.array([length]), 1.0, np.ones(1), 1e-18))
    for found in (np.sqrt(rows.predict(at)[1]), leaf.predict(points)[1]):
        assert found == pytest.approx(np.zeros(12), abs=1e-6)
    one = [leaf.predict_paths(points.only(np.arange(12) == i))[1][0] for i in range(12)]
    assert one == pytest.approx(np.zeros(12), abs=1e-6)
