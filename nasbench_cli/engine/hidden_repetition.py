"""The repetition of each configuration that is hidden from a run, to score its incumbents by."""

from __future__ import annotations

import math
from typing import TypeAlias

from nasbench.benchmarks import Benchmark
from nasbench.benchmarks.abilities import KnowsRepetitions
from nasbench.benchmarks.constraints import Bounds
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.engine.evaluations import attempt, is_feasible

HiddenValue: TypeAlias = tuple[float, bool | None]
"""Objective of the incumbent in the hidden repetition, and whether it satisfies the constraints there. NaN and False
where that training fails; NaN and None where there is no incumbent, or nothing is hidden of its configuration."""

UNKNOWN: HiddenValue = (math.nan, None)


def hides_one(benchmark: Benchmark) -> bool:
    """Whether one repetition of each configuration is hidden from runs on a benchmark."""
    return isinstance(benchmark, KnowsRepetitions) and benchmark.repetitions > 1


class HiddenRepetition:
    """Holds one repetition of each configuration back from one run.

    Configurations with the same number of repetitions lose the same one. So an incumbent is scored by a repetition that
    had no part in its choice, and that the run has not seen through other configurations either (those of a repetition
    may share a split of the data). Only one is hidden, however often a run asks: means over different numbers of
    hidden repetitions cannot be compared where the noise is skewed. Of a configuration that has one repetition nothing
    is hidden.

    Args:
        number: uniform in [0, 2**63), one per run: a configuration with n repetitions lacks number % n.
    """

    def __init__(self, benchmark: Benchmark, bounds: Bounds, number: int) -> None:
        assert isinstance(benchmark, KnowsRepetitions)
        self._benchmark, self._bounds, self._number = benchmark, bounds, number

    def draw(self, configuration: Configuration, seed: int) -> int:
        """The seed of a new evaluation: the given one, or one that draws another repetition than that hidden.

        Args:
            seed: uniform in [0, 2**63).
        """
        count = self._benchmark.repetition_count(configuration)
        if count < 2 or seed % count != (held := self._number % count):
            return seed
        return (held + 1 + seed % (count - 1)) % count  # independent of seed % count, for they have no common factor

    def score_of(self, configuration: Configuration) -> HiddenValue:
        """What a configuration is worth, by the hidden repetition."""
        count = self._benchmark.repetition_count(configuration)
        if count < 2:
            return UNKNOWN
        trained = attempt(self._benchmark, configuration, self._number % count)
        if trained.status != "ok":
            return math.nan, False
        objective = trained.metrics[self._benchmark.objective.name]
        return objective, is_feasible(trained, self._bounds)
