"""Regression on a table of one's own: multi-layer perceptrons of any shape, trained now (NASBOT's experiments)."""

from benchmarks.regression.benchmark import RegressionBenchmark

__all__ = ["RegressionBenchmark"]
