"""Benchmarks whose every configuration has been evaluated beforehand."""

from benchmarks.tabular import embedded as embedded  # registers the 15 tables
from benchmarks.tabular.table import TabularBenchmark

__all__ = ["TabularBenchmark"]
