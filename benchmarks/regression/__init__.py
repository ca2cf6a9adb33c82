"""Regression on a table of one's own: multi-layer perceptrons of any shape, trained now (NASBOT's experiments)."""

from nasbench.benchmarks.contract import ON_FILES
from nasbench.benchmarks.regression.benchmark import RegressionBenchmark

__all__ = ["RegressionBenchmark"]

ON_FILES.add("mlp", RegressionBenchmark)
