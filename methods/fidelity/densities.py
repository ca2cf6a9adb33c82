"""BOHB's model: kernel densities over all hyper-parameters jointly (Falkner et al., ICML 2018, section 4.1).

Settings are those of the authors' package HpBandSter, with three exceptions: the bandwidth of a category is at most
(K - 1)/K, at which its kernel is flat (beyond it, unseen categories would be more likely than seen ones), K counts
all categories, not those seen; and all observations that are not good are bad (the package leaves the worst one out at
times, for it rounds 85 % of their number down).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.benchmarks.spaces import Configuration
from nasbench.methods.mixed import Mixed, Rows, truncated_normal
from nasbench.methods.problem import Observation, Problem

Array = NDArray[np.float64]

_CANDIDATES = 64
_GOOD = 15
"""Share of good observations, in percent."""
_NARROWEST = 1e-3
_WIDENING = 3.0
"""Factor by which the kernels are wider when candidates are drawn than in the densities."""
_SMALLEST = 1e-32
"""Least value of a density."""


class Densities:
    """Proposes candidates with a large ratio of the density of good observations to that of the others."""

    def __init__(self, problem: Problem, rng: Generator) -> None:
        self._space, self._rng = Mixed(problem.flat), rng
        self._rows: list[Array] = []
        self._present: list[list[bool]] = []
        self._losses: list[float] = []

    def tell(self, observation: Observation) -> None:
        """Adds an observation; a failed or refused evaluation has an infinite loss."""
        loss = observation.objective if observation.evaluation.status == "ok" else math.inf
        self._add(observation.configuration, loss)

    def suggestion(self, pending: Sequence[Configuration] = ()) -> Configuration:
        """The best of 64 candidates drawn around good observations; needs 2 (d + 1) observations.

        Args:
            pending: configurations that count as observations with an infinite loss.
        """
        told = len(self._losses)
        for configuration in pending:
            self._add(configuration, math.inf)
        proposed = self._best_candidate()
        for part in (self._rows, self._present, self._losses):
            del part[told:]
        return proposed

    def _add(self, configuration: Configuration, loss: float) -> None:
        self._rows.append(self._space.row(configuration))
        self._present.append([x is not None for x in self._space.flat.coordinates(configuration)])
        self._losses.append(loss)

    def _best_candidate(self) -> Configuration:
        order = np.argsort(self._losses, kind="stable")
        least = len(self._space.levels) + 1
        count = max(least, _GOOD * len(order) // 100)
        good, bad = (self._density(part) for part in (order[:count], order[count:]))
        candidates = good.drawn(_CANDIDATES, self._rng)
        ratios = np.maximum(bad.at(candidates), _SMALLEST) / np.maximum(good.at(candidates), _SMALLEST)
        return self._space.configuration(self._space.snapped(candidates[[int(ratios.argmin())]])[0])

    def _density(self, members: NDArray[np.intp]) -> Density:
        """The density of some observations; absent values are imputed from the others, or drawn if all lack them."""
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

    Kernels are normal for numbers and those of Aitchison and Aitken (1976) for categories; bandwidths follow the
    normal-reference rule.

    Args:
        rows: shape (n, d).
        categories: number of categories of each column, shape (d,); 0 for numbers in [0, 1].
    """

    def __init__(self, rows: Rows, categories: NDArray[np.int64]) -> None:
        self._rows, self._categories = rows, categories
        n, d = rows.shape
        widest = np.where(categories > 0, 1 - 1 / np.maximum(categories, 1), np.inf)
        self.bandwidths = np.minimum(np.maximum(1.06 * rows.std(0) * n ** (-1 / (4 + d)), _NARROWEST), widest)

    def at(self, points: Rows) -> Array:
        """The density at points of shape (m, d), shape (m,)."""
        densities = np.ones((len(points), len(self._rows)))
        for d, (bandwidth, size) in enumerate(zip(self.bandwidths, self._categories, strict=True)):
            difference = points[:, None, d] - self._rows[None, :, d]
            if size:
                densities *= np.where(difference == 0, 1 - bandwidth, bandwidth / max(size - 1, 1))
            else:
                densities *= np.exp(-0.5 * (difference / bandwidth) ** 2) / (bandwidth * math.sqrt(2 * math.pi))
        mean: Array = densities.mean(1)
        return mean

    def drawn(self, count: int, rng: Generator) -> Rows:
        """Points, each drawn from the widened kernel around a random observation, truncated to [0, 1]."""
        middle = self._rows[rng.integers(len(self._rows), size=count)]
        u = rng.random(middle.shape)
        widths = np.where(self._categories > 0, 1.0, _WIDENING * self.bandwidths)  # of categories not used
        points = truncated_normal(middle, widths, u)
        anything = np.floor(rng.random(middle.shape) * self._categories)
        return np.where(self._categories > 0, np.where(u < self.bandwidths, anything, middle), points)
