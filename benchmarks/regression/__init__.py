"""Live regression benchmarks: perceptrons of any shape, trained on a CSV file of the user (NASBOT's experiments)."""

from nasbench.benchmarks.contract import ON_FILES
from nasbench.benchmarks.regression.benchmark import RegressionBenchmark

__all__ = ["RegressionBenchmark"]

ON_FILES.add("mlp", RegressionBenchmark)
