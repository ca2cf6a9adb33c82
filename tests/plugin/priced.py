"""A cheap score at a price, in one file: a guess at the error, for two seconds each time that it is asked for."""

from __future__ import annotations

import numpy as np

from nasbench import Metric
from nasbench.benchmarks.spaces import GridSpace, Ordinal
from nasbench.benchmarks.tabular import TabularBenchmark

SECONDS = 2.0


class Priced(TabularBenchmark):
    """A table of a formula, whose metric `guess` is known before training: it is the error, rounded."""

    def __init__(self) -> None:
        space = GridSpace([Ordinal(f"x{i}", tuple(range(8))) for i in range(3)])
        error = np.array([sum((space.configuration(i)[axis] - 3) ** 2 for axis in range(3)) for i in range(space.size)])
        repeated = error[:, None] + np.array([0.0, 0.25, 0.5])
        guess = np.broadcast_to(-(error // 10)[:, None], repeated.shape)
        super().__init__(
            "priced",
            "priced",
            space,
            (
                Metric("error", ""),
                Metric(
                    "guess", "", minimize=False, description="score of an untrained cell", cheap=True, seconds=SECONDS
                ),
            ),
            lambda: np.stack([repeated, guess], axis=2).astype(float),
            cost=60.0,
            source="a formula",
            licence="MIT",
            checksum="priced-1",
        )
