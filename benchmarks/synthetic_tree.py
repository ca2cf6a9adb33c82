"""The tree-structured function of Jenatton et al. (ICML 2017): three choices decide which parameters are active."""

from __future__ import annotations

from pathlib import Path

from nasbench.base.metrics import Metric
from nasbench.benchmarks.contract import BENCHMARKS, Benchmark, Evaluation
from nasbench.benchmarks.fidelity import Level
from nasbench.benchmarks.spaces import Configuration
from nasbench.benchmarks.spaces.hyperparameters import Categorical, Float
from nasbench.benchmarks.spaces.parameters import ParameterSpace

_SECONDS = 1.0


class TreeFunction(Benchmark):
    """y = x² + c + r without noise, where the choices decide on x, r and the constant c; the minimum is 0.1.

    x1, x2 and x3 choose one of four leaves. The leaves with x1 = 0 share r8, those with x1 = 1 share r9. r8 and r9 lie
    in [0, 1], the x of the leaves in [-1, 1]; the paper's abstract gives no ranges, and re-implementations differ.
    """

    family = "synthetic"
    source, licence = "a formula (Jenatton et al., 2017)", "MIT"
    metrics = (Metric("value", "", description="x² + c + r of the chosen leaf"),)
    checksum = "formula:1"
    name = search_space = "synthetic-tree"

    def __init__(self) -> None:
        choices = [Categorical(f"x{i}", (0, 1)) for i in (1, 2, 3)]
        leaves = [Float(f"x{i}", -1.0, 1.0) for i in (4, 5, 6, 7)]
        self.space = ParameterSpace(
            [*choices, *leaves, Float("r8", 0.0, 1.0), Float("r9", 0.0, 1.0)],
            {
                "x2": ("x1", (0,)), "r8": ("x1", (0,)), "x3": ("x1", (1,)), "r9": ("x1", (1,)),
                "x4": ("x2", (0,)), "x5": ("x2", (1,)), "x6": ("x3", (0,)), "x7": ("x3", (1,)),
            },
        )  # fmt: skip

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        values = self.space.values(configuration)
        leaf = next(i for i in (4, 5, 6, 7) if f"x{i}" in values)
        value = values[f"x{leaf}"] ** 2 + (leaf - 3) / 10 + values["r8" if leaf < 6 else "r9"]
        return Evaluation({"value": float(value)}, _SECONDS)


BENCHMARKS.add("synthetic-tree", TreeFunction)
