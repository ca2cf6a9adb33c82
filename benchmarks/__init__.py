"""Problems: a search space, and what a configuration scores."""

from nasbench.benchmarks.base import BENCHMARKS, Benchmark, Evaluation, Fidelity, Oracle
from nasbench.benchmarks.constraints import Bound, Constraint, label, parse_constraints
from nasbench.benchmarks.metrics import Metric
from nasbench.benchmarks.spaces.errors import UsageError
from nasbench.benchmarks.spec import BenchmarkSpec, open_benchmark

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "BenchmarkSpec",
    "Bound",
    "Constraint",
    "Evaluation",
    "Fidelity",
    "Metric",
    "Oracle",
    "UsageError",
    "label",
    "open_benchmark",
    "parse_constraints",
]
