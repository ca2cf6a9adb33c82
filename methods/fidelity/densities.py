"""BOHB's model: kernel densities over all hyper-parameters at once (Falkner et al., ICML 2018, section 4.1).

Settings are those of the authors' package HpBandSter. Where that lets the bandwidth of a category exceed (K - 1)/K, at
which its kernel is flat, so that unseen categories become likelier than seen ones, ours ends there.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from nasbench.benchmarks.spaces import Configuration
from nasbench.methods.contract import Observation, Problem
from nasbench.methods.mixed import Mixed, Rows

Array = NDArray[np.float64]

_CANDIDATES = 64
_GOOD = 15
"""Share of the observations that are good ones, in percent."""
_NARROWEST = 1e-3
_WIDENING = 3.0
"""By how much the kernels are wider where candidates are drawn than in the densities."""
_SMALLEST = 1e-32
"""Densities below are this."""


class Densities:
    """Proposes where the density of the good observations is largest beside that of the others."""

    def __init__(self, problem: Problem, rng: Generator) -> None:
        self._space, self._rng = Mixed(problem.flat), rng
        self._rows: list[Array] = []
        self._present: list[list[bool]] = []
        self._losses: list[float] = []

    def tell(self, observation: Observation) -> None:
        """A failed or refused evaluation is among the worst."""
        self._rows.append(self._space.row(observation.configuration))
        self._present.append([x is not None for x in self._space.flat.coordinates(observation.configuration)])
        self._losses.append(observation.objective if observation.evaluation.status == "ok" else math.inf)

    def suggestion(self) -> Configuration:
        """The best of 64 candidates drawn around good observations; needs 2 (d + 1) observations."""
        order = np.argsort(self._losses, kind="stable")
        least = len(self._space.levels) + 1
        count = max(least, _GOOD * len(order) // 100)
        good, bad = (self._density(part) for part in (order[:count], order[count:]))
        candidates = good.drawn(_CANDIDATES, self._rng)
        ratios = np.maximum(bad.at(candidates), _SMALLEST) / np.maximum(good.at(candidates), _SMALLEST)
        return self._space.configuration(self._space.snapped(candidates[[int(ratios.argmin())]])[0])

    def _density(self, members: NDArray[np.intp]) -> Density:
        """Of some observations. What one does not have is taken from another of them, or drawn where none has it."""
        rows = np.array([self._rows[i] for i in members])
        present = np.array([self._present[i] for i in members])
        for d in np.flatnonzero(~present.all(0)).tolist():
            known, gaps = rows[present[:, d], d], int((~present[:, d]).sum())
            drawn = self._rng.random(gaps)
            if self._space.categorical[d]:
                drawn = np.floor(drawn * self._space.levels[d])
            rows[~present[:, d], d] = self._rng.choice(known, gaps) if len(known) else drawn
        return Density(rows, np.where(self._space.categorical, self._space.levels, 0))


class Density:
    """The mean of product kernels around observations.

    Normal ones for numbers, those of Aitchison and Aitken (1976) for categories; bandwidths by the normal-reference
    rule.

    Args:
        rows: shape (n, d).
        categories: of each column, shape (d,); 0 where it holds numbers in [0, 1].
    """

    def __init__(self, rows: Rows, categories: NDArray[np.int64]) -> None:
        self._rows, self._categories = rows, categories
        n, d = rows.shape
        widest = np.where(categories > 0, 1 - 1 / np.maximum(categories, 1), np.inf)
        self.bandwidths = np.minimum(np.maximum(1.06 * rows.std(0) * n ** (-1 / (4 + d)), _NARROWEST), widest)

    def at(self, points: Rows) -> Array:
        """Densities at points of shape (m, d), shape (m,)."""
        found = np.ones((len(points), len(self._rows)))
        for d, (bandwidth, size) in enumerate(zip(self.bandwidths, self._categories, strict=True)):
            apart = points[:, None, d] - self._rows[None, :, d]
            if size:
                found *= np.where(apart == 0, 1 - bandwidth, bandwidth / max(size - 1, 1))
            else:
                found *= np.exp(-0.5 * (apart / bandwidth) ** 2) / (bandwidth * math.sqrt(2 * math.pi))
        mean: Array = found.mean(1)
        return mean

    def drawn(self, count: int, rng: Generator) -> Rows:
        """Points, each from the kernel around a random observation: widened, and within [0, 1]."""
        middle = self._rows[rng.integers(len(self._rows), size=count)]
        u = rng.random(middle.shape)
        wide = _WIDENING * self.bandwidths
        low, high = ndtr(-middle / wide), ndtr((1 - middle) / wide)
        points = np.clip(middle + wide * ndtri(low + u * (high - low)), 0.0, 1.0)
        anything = np.floor(rng.random(middle.shape) * self._categories)
        return np.where(self._categories > 0, np.where(u < self.bandwidths, anything, middle), points)
