"""The tree-structured Gaussian process: one process per leaf, and a linear model that leaves share.

y = g_leaf(x) + z'c + noise: the processes g are independent of each other, with one Matérn kernel; the coefficients c
are independent normal numbers; z holds, for each node on the path to the leaf, a 1 and the node's parameters. Given c,
leaves are independent. So n observations on leaves of n_p each, with D coefficients, take O(Σ n_p³ + n D² + D³) steps
instead of O(n³) (Jenatton et al., 2017; the equations are a reconstruction).
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
    """Configurations as inputs of the process."""

    leaves: Numbers
    """Number of each configuration's leaf, shape (points,)."""
    local: Array
    """Inputs of the leaf's process, shape (points, columns)."""
    shared: Array
    """z, the inputs of the linear model, shape (points, coefficients)."""

    def only(self, mask: NDArray[np.bool_]) -> Points:
        """The points for which `mask`, shape (points,), is true."""
        return Points(self.leaves[mask], self.local[mask], self.shared[mask])

    def joined(self, others: Points) -> Points:
        """These points, followed by others."""
        local, shared = np.vstack([self.local, others.local]), np.vstack([self.shared, others.shared])
        return Points(np.concatenate([self.leaves, others.leaves]), local, shared)


class TreeKernelParameters(NamedTuple):
    """Hyper-parameters of the kernel, the coefficients and the noise."""

    lengths: Array
    """Length-scale of each column of `Points.local`."""
    variance: float
    """Variance of the process of a leaf."""
    prior: Array
    """Prior variance of each coefficient."""
    noise: float
    """Variance of the noise."""


class _Leaf(NamedTuple):
    """The observations on one leaf."""

    process: GaussianProcess
    """The process of the leaf, without the linear model."""
    inputs: Array
    """Inputs, in length-scales, shape (points, columns)."""
    shared: Array
    """L⁻¹ Z, shape (points, coefficients)."""
    values: Array
    """L⁻¹ y, shape (points,)."""


class TreeProcess:
    """The tree-structured process, with prior mean zero, conditioned on observations.

    Args:
        values: shape (points,).
    """

    def __init__(self, seen: Points, values: Array, h: TreeKernelParameters) -> None:
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
        total = 0.5 * float(self._right @ self._coefficients)
        total -= float(np.log(np.diag(self._precision[0])).sum()) + 0.5 * float(np.log(self._h.prior).sum())
        for leaf in self._leaves.values():
            total -= 0.5 * float(leaf.values @ leaf.values) + leaf.process.half_log_determinant
            total -= 0.5 * len(leaf.values) * math.log(2 * math.pi)
        return total

    def predict(self, points: Points) -> tuple[Array, Array]:
        """Mean and standard deviation without noise, shape (points,) each."""
        mean, open_part, variance = self._parts(points)
        deviation = np.sqrt(np.maximum(variance + self._spread(open_part), 0.0))
        return mean, deviation

    def predict_paths(self, points: Points) -> tuple[Array, Array]:
        """Mean and standard deviation of each point's leaf, from the linear model alone; used to choose a leaf.

        The mean of the leaf's process is left out; its variance is averaged over the points of the leaf.
        """
        variance = self._parts(points)[2]
        for leaf in np.unique(points.leaves):
            variance[points.leaves == leaf] = variance[points.leaves == leaf].mean()
        mean: Array = points.shared @ self._coefficients
        return mean, np.sqrt(np.maximum(variance + self._spread(points.shared), 0.0))

    def _observed(self, seen: Points, values: Array, here: NDArray[np.bool_]) -> _Leaf:
        inputs = seen.local[here] / self._h.lengths
        process = GaussianProcess(self._h.variance * matern(cdist(inputs, inputs)), self._h.noise, values[here])
        return _Leaf(process, inputs, *map(process.whitened, (seen.shared[here], values[here])))

    def _parts(self, points: Points) -> tuple[Array, Array, Array]:
        """The mean, the part of z that the leaf's observations leave open, and the variance of the leaf's process."""
        mean, open_part = points.shared @ self._coefficients, points.shared.copy()
        variance = np.full(len(mean), self._h.variance)
        for number in np.unique(points.leaves):
            leaf, here = self._leaves.get(int(number)), np.flatnonzero(points.leaves == number)
            if leaf is None:
                continue
            cross = self._h.variance * matern(cdist(leaf.inputs, points.local[here] / self._h.lengths))
            solved = leaf.process.whitened(cross)
            mean[here] += solved.T @ (leaf.values - leaf.shared @ self._coefficients)
            open_part[here] -= solved.T @ leaf.shared
            variance[here] -= (solved**2).sum(0)
        return mean, open_part, variance

    def _spread(self, shared: Array) -> Array:
        """Variance of the linear model at each row."""
        variance: Array = (solve_triangular(self._precision[0], shared.T, lower=True) ** 2).sum(0)
        return variance
