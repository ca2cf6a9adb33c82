"""Problems: a search space, and what a configuration scores."""

from nasbench.benchmarks.base import BENCHMARKS, Benchmark, Evaluation, Oracle, find_benchmark
from nasbench.benchmarks.constraints import Bound, Constraint, label, parse_constraints
from nasbench.benchmarks.metrics import Metric
from nasbench.benchmarks.spaces.errors import UsageError

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Bound",
    "Constraint",
    "Evaluation",
    "Metric",
    "Oracle",
    "UsageError",
    "find_benchmark",
    "label",
    "parse_constraints",
]
