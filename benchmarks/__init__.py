"""Problems: a search space, and what a configuration scores."""

from benchmarks.base import BENCHMARKS, Benchmark, Evaluation, Metric, Oracle
from benchmarks.constraints import Bound, Constraint, label, parse_constraints, resolve
from benchmarks.errors import UsageError

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Bound",
    "Constraint",
    "Evaluation",
    "Metric",
    "Oracle",
    "UsageError",
    "label",
    "parse_constraints",
    "resolve",
]
