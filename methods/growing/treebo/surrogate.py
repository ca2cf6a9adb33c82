"""A metric modelled by a tree-structured process, whose hyper-parameters are refitted from time to time."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.optimize import minimize

from nasbench.methods.surrogates.trees import Points, TreeKernelParameters, TreeProcess

Array = NDArray[np.float64]

_STARTS, _STEPS = 2, 25  # starts of L-BFGS, and its iterations per start
# Logarithms of: length-scale of numbers, of categories; variance of leaves, biases, weights, noise; values are scaled.
_CENTRES = np.log([0.5, 1.0, 0.5, 0.5, 0.5, 1e-3])
_DEVIATIONS = np.array([0.7, 0.7, 1.0, 1.0, 1.0, 2.0])
_BOUNDS = [tuple(np.log(ends)) for ends in ((0.05, 10), (0.1, 10), (1e-3, 10), (0.01, 10), (0.01, 10), (1e-6, 1))]


class PathSurrogate:
    """The model of one metric.

    Args:
        is_category: whether each column of `Points.local` belongs to a category.
        is_bias: whether each coefficient is a bias.
        refit: observations after which hyper-parameters are fitted again.
    """

    def __init__(self, is_category: NDArray[np.bool_], is_bias: NDArray[np.bool_], refit: int) -> None:
        self._is_category, self._is_bias, self._refit = is_category, is_bias, refit
        self._theta, self._fitted = _CENTRES, 0

    def fit(self, seen: Points, values: Array, pending: Points, rng: Generator) -> None:
        """Conditions on observations; pending ones count as if their mean had been observed."""
        self._centre, self._scale = float(values.mean()), float(values.std()) or 1.0
        scaled = (values - self._centre) / self._scale
        if not self._fitted or len(values) - self._fitted >= self._refit:
            self._theta, self._fitted = self._best(seen, scaled, rng), len(values)
        h = self._hyperparameters(self._theta)
        self._process = TreeProcess(seen, scaled, h)
        if len(pending.leaves):
            predicted = self._process.predict(pending)[0]
            self._process = TreeProcess(seen.joined(pending), np.concatenate([scaled, predicted]), h)

    def predict(self, points: Points, paths: bool = False) -> tuple[Array, Array]:
        """Mean and deviation in the metric's unit.

        Args:
            paths: whether to predict by the linear model alone (`TreeProcess.predict_paths`).
        """
        mean, deviation = self._process.predict_paths(points) if paths else self._process.predict(points)
        return self._centre + self._scale * mean, self._scale * deviation

    def _hyperparameters(self, theta: Array) -> TreeKernelParameters:
        number, category, variance, bias, weight, noise = np.exp(theta)
        lengths = np.where(self._is_category, category, number)
        return TreeKernelParameters(lengths, float(variance), np.where(self._is_bias, bias, weight), float(noise))

    def _best(self, seen: Points, values: Array, rng: Generator) -> Array:
        """The maximum of likelihood times log-normal priors, searched from the present values and a random start."""

        def loss(theta: Array) -> float:
            prior = 0.5 * float((((theta - _CENTRES) / _DEVIATIONS) ** 2).sum())
            try:
                likelihood = TreeProcess(seen, values, self._hyperparameters(theta)).likelihood
            except np.linalg.LinAlgError:
                return math.inf
            return prior - likelihood

        low, high = np.array(_BOUNDS).T
        starts = [self._theta, *(rng.uniform(low, high) for _ in range(_STARTS - 1))]
        optima = [
            minimize(loss, start, method="L-BFGS-B", bounds=_BOUNDS, options={"maxiter": _STEPS}) for start in starts
        ]
        best: Array = min(optima, key=lambda optimum: optimum.fun).x
        return best
