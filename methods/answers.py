"""The ask that an observation answers, for methods whose model uses pending evaluations."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nasbench.benchmarks.spaces import Configuration
from nasbench.methods.contract import Observation


def answered(observation: Observation, asked: Sequence[Configuration], *told: Collection[int]) -> int:
    """Number of the first ask for the observation's configuration that has not been told yet.

    Args:
        told: numbers of the asks that have been told, in any number of collections.
    """
    return next(
        number
        for number, configuration in enumerate(asked)
        if not any(number in numbers for numbers in told) and configuration == observation.configuration
    )
