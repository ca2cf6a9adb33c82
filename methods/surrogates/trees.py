"""The tree-structured Gaussian process: one process per leaf, and a linear model of what leaves share.

y = g_leaf(x) + z'c + noise: the processes g are independent of each other, with one Matérn kernel; the coefficients c
are independent normal numbers; z holds, for each node on the way to the leaf, a 1 and the node's parameters. Given c
leaves are independent, so that n observations on leaves of n_p each, with D coefficients, take O(Σ n_p³ + n D² + D³)
steps instead of O(n³) (Jenatton et al., 2017; the equations are a reconstruction).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.spatial.distance import cdist

from nasbench.methods.surrogates.gaussian_process import GaussianProcess, matern

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


class Points(NamedTuple):
    """Configurations as the process sees them."""

    leaves: Numbers
    """Number of the leaf of each, shape (points,)."""
    own: Array
    """What the process of a leaf sees, shape (points, columns)."""
    shared: Array
    """z: what the linear model sees, shape (points, coefficients)."""

    def only(self, which: NDArray[np.bool_]) -> Points:
        """Those for which `which`, shape (points,), is true."""
        return Points(self.leaves[which], self.own[which], self.shared[which])

    def joined(self, others: Points) -> Points:
        """These and then others."""
        own, shared = np.vstack([self.own, others.own]), np.vstack([self.shared, others.shared])
        return Points(np.concatenate([self.leaves, others.leaves]), own, shared)


class Hyperparameters(NamedTuple):
    """Of the kernel, the coefficients and the noise."""

    lengths: Array
    """Length-scale of each column of `own`."""
    variance: float
    """Of the process of a leaf."""
    prior: Array
    """Variance of each coefficient before anything is observed."""
    noise: float
    """Variance of the noise."""


class _Leaf(NamedTuple):
    """What has been observed on one leaf."""

    process: GaussianProcess
    """The leaf's own process, as if there were nothing shared."""
    own: Array
    """Inputs, in length-scales, shape (points, columns)."""
    shared: Array
    """L⁻¹ Z, shape (points, coefficients)."""
    values: Array
    """L⁻¹ y, shape (points,)."""


class TreeProcess:
    """Conditioned on observations, whose prior mean is zero.

    Args:
        values: shape (points,).
    """

    def __init__(self, seen: Points, values: Array, h: Hyperparameters) -> None:
        self._h = h
        self._leaves = {int(leaf): self._observed(seen, values, seen.leaves == leaf) for leaf in np.unique(seen.leaves)}
        precision, right = np.diag(1 / h.prior), np.zeros(len(h.prior))
        for leaf in self._leaves.values():
            precision += leaf.shared.T @ leaf.shared
            right += leaf.shared.T @ leaf.values
        self._precision = cho_factor(precision, lower=True)
        self._right = right
        self._coefficients: Array = cho_solve(self._precision, right)

    @property
    def likelihood(self) -> float:
        """The logarithm of the marginal likelihood of the values."""
        found = 0.5 * float(self._right @ self._coefficients)
        found -= float(np.log(np.diag(self._precision[0])).sum()) + 0.5 * float(np.log(self._h.prior).sum())
        for leaf in self._leaves.values():
            found -= 0.5 * float(leaf.values @ leaf.values) + leaf.process.half_log_determinant
            found -= 0.5 * len(leaf.values) * math.log(2 * math.pi)
        return found

    def predict(self, points: Points) -> tuple[Array, Array]:
        """Mean and standard deviation without noise, shape (points,) each."""
        mean, left, alone = self._parts(points)
        deviation = np.sqrt(np.maximum(alone + self._spread(left), 0.0))
        return mean, deviation

    def predict_paths(self, points: Points) -> tuple[Array, Array]:
        """The same from the linear model alone, the leaf's own process averaged out: of which leaf is it worth to ask?

        Its mean is left out, and its variance is the mean over the points of that leaf.
        """
        alone = self._parts(points)[2]
        for leaf in np.unique(points.leaves):
            alone[points.leaves == leaf] = alone[points.leaves == leaf].mean()
        mean: Array = points.shared @ self._coefficients
        return mean, np.sqrt(np.maximum(alone + self._spread(points.shared), 0.0))

    def _observed(self, seen: Points, values: Array, here: NDArray[np.bool_]) -> _Leaf:
        own = seen.own[here] / self._h.lengths
        process = GaussianProcess(self._h.variance * matern(cdist(own, own)), self._h.noise, values[here])
        return _Leaf(process, own, *map(process.whitened, (seen.shared[here], values[here])))

    def _parts(self, points: Points) -> tuple[Array, Array, Array]:
        """The mean; what of z the observations of the leaf leave open; and the variance of the leaf's own process."""
        mean, left = points.shared @ self._coefficients, points.shared.copy()
        alone = np.full(len(mean), self._h.variance)
        for number in np.unique(points.leaves):
            leaf, here = self._leaves.get(int(number)), np.flatnonzero(points.leaves == number)
            if leaf is None:
                continue
            cross = self._h.variance * matern(cdist(leaf.own, points.own[here] / self._h.lengths))
            solved = leaf.process.whitened(cross)
            mean[here] += solved.T @ (leaf.values - leaf.shared @ self._coefficients)
            left[here] -= solved.T @ leaf.shared
            alone[here] -= (solved**2).sum(0)
        return mean, left, alone

    def _spread(self, shared: Array) -> Array:
        """Variance of the linear model along each row."""
        found: Array = (solve_triangular(self._precision[0], shared.T, lower=True) ** 2).sum(0)
        return found
