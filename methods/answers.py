"""Which ask an observation answers, for methods whose model knows of pending evaluations."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nasbench.benchmarks.spaces import Configuration
from nasbench.methods.contract import Observation


def answered(observation: Observation, asked: Sequence[Configuration], *told: Collection[int]) -> int:
    """The number of the first ask for that configuration which is among none of those told."""
    return next(
        number
        for number, configuration in enumerate(asked)
        if not any(number in those for those in told) and configuration == observation.configuration
    )
