"""A space with every kind of parameter and two conditions."""

from __future__ import annotations

from nasbench.benchmarks.spaces import Categorical, Float, Integer, Ordinal, ParameterSpace

SPACE = ParameterSpace(
    [
        Categorical("optimizer", ("sgd", "adam")),
        Float("lr", 1e-4, 1.0, log=True),
        Float("momentum", 0.0, 0.9),
        Ordinal("batch", (16, 32, 64), log=True),
        Integer("layers", 1, 4),
        Integer("warmup", 1, 100, log=True),
    ],
    conditions={"momentum": ("optimizer", ["sgd"]), "warmup": ("batch", [32, 64])},
)
