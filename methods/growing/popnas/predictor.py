"""The predictor of POPNAS here: kernel ridge regression on features and their pairs."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

_PENALTIES = np.logspace(-3, 2, 11)
_CHUNK = 20_000  # candidates at a time


class KernelRidge:
    """Kernel ridge regression with (1 + x · z)^2, whose penalty is chosen by leave-one-out error.

    Features are centred and scaled by their deviation, so that the mean of x · x is 1. Leave-one-out residuals are the
    residuals of one fit divided by 1 - H_ii (Hastie et al., The Elements of Statistical Learning, equation 7.64).

    Args:
        x: features of the observations, shape (observations, features).
    """

    def __init__(self, x: Array) -> None:
        self._centre = x.mean(axis=0)
        varies = np.ptp(x, axis=0) > 1e-9 * np.abs(x).max(axis=0)  # equal numbers may differ in the last digit
        self._scale = np.where(varies, x.std(axis=0), 1.0) * np.sqrt(max(varies.sum(), 1))
        self._known = (x - self._centre) / self._scale
        values, self._vectors = np.linalg.eigh(_kernel(self._known, self._known))
        self._values = np.maximum(values, 0.0)

    def predict(self, y: Array, x: Array) -> Array:
        """Predictions for features of shape (candidates, features), from the targets y, shape (observations,)."""
        mean, weights = y.mean(), self._weights(y - y.mean())
        parts = [x[begin : begin + _CHUNK] for begin in range(0, len(x), _CHUNK)]
        kernels = (_kernel((part - self._centre) / self._scale, self._known) for part in parts)
        return np.concatenate([mean + kernel @ weights for kernel in kernels] or [np.zeros(0)])

    def _weights(self, y: Array) -> Array:
        """The weights of the observations for centred targets, with the best penalty."""
        values, vectors = self._values, self._vectors
        turned = vectors.T @ y
        best, weights = np.inf, turned
        for penalty in _PENALTIES:
            shrunk = values / (values + penalty)
            leverage = (vectors**2) @ shrunk
            residuals = (y - vectors @ (shrunk * turned)) / np.maximum(1 - leverage, 1e-9)
            error = float(residuals @ residuals)
            if error < best:
                best, weights = error, vectors @ (turned / (values + penalty))
        return weights


def _kernel(x: Array, z: Array) -> Array:
    products: Array = (1.0 + x @ z.T) ** 2
    return products
