"""What learns is better than random search on smooth functions: of six real numbers, and of mixed, conditional ones.

All tables that are embedded are grids: a rule that fails on real numbers would show in none of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from nasbench.benchmarks import Evaluation, Metric
from nasbench.benchmarks.spaces import Categorical, Float, Integer, ParameterSpace
from nasbench.methods import MethodSpec, Observation, Problem
from tests.methods.libraries import LIBRARIES

LOSS, EVALS, SEEDS = Metric("loss", ""), 80, 10
OPTIMUM = (0.3, 0.7, 0.55, 0.2, 0.8, 0.45)
REAL = ParameterSpace([Float(f"x{i}", 0.0, 1.0) for i in range(6)])
MIXED = ParameterSpace(
    [
        Categorical("optimiser", ("sgd", "adam", "rms")),
        Float("rate", 1e-5, 1.0, log=True),
        Float("momentum", 0.0, 0.99),
        Integer("units", 4, 1024, log=True),
        Integer("layers", 1, 12),
        Categorical("activation", ("a", "b", "c", "d")),
    ],
    {"momentum": ("optimiser", ["sgd"])},
)


def bowl(values: Mapping[str, Any]) -> float:
    return math.fsum((values[f"x{i}"] - place) ** 2 for i, place in enumerate(OPTIMUM))


def network(values: Mapping[str, Any]) -> float:
    """With sgd and a momentum of 0.6 a little better than with adam."""
    optimiser = {"sgd": abs(values.get("momentum", 0.6) - 0.6), "adam": 0.1, "rms": 0.3}[values["optimiser"]]
    return (
        optimiser
        + (math.log10(values["rate"]) + 2.6) ** 2 / 4
        + (math.log2(values["units"]) - 7.3) ** 2 / 12
        + (values["layers"] - 7) ** 2 / 40
        + {"a": 0.4, "b": 0.0, "c": 0.25, "d": 0.6}[values["activation"]]
    )


FUNCTIONS: dict[str, tuple[ParameterSpace, Callable[[Mapping[str, Any]], float]]] = {
    "real": (REAL, bowl),
    "mixed": (MIXED, network),
}


@cache
def found(method: str, name: str, first: int = 0, seeds: int = SEEDS) -> tuple[float, ...]:
    """The best value of each search."""
    space, function = FUNCTIONS[name]
    best = []
    for seed in range(first, first + seeds):
        search = MethodSpec.parse(method).build(Problem(space, (LOSS,)), np.random.default_rng(seed))
        values = []
        for _ in range(EVALS):
            configuration: Any = search.ask()
            values.append(function(space.values(configuration)))
            search.tell(Observation(configuration, Evaluation({"loss": values[-1]}, 1.0), True))
        best.append(min(values))
    return tuple(best)


def better(method: str, name: str) -> float:
    """The probability that a search is better than one of random search."""
    random = np.array(found("random", name, 1000, 60))
    return float((np.array(found(method, name))[:, None] < random).mean())


SLOW = ("smbo", "bananas", "scbo", "catcma")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "method",
    ["tpe", "c-tpe", "c-tpe-naive", "local", "evolution:population=20"]
    + [pytest.param(method, marks=pytest.mark.slow) for method in SLOW],
)
def test_what_learns_is_better_than_random_search(method: str, name: str) -> None:
    if method in LIBRARIES:
        pytest.importorskip(LIBRARIES[method])
    assert better(method, name) > 0.75


def test_that_test_can_fail() -> None:
    assert better("reinforce", "real") < 0.75  # its rate is made for thousands of evaluations
