"""Problems: a search space, and what a configuration scores."""

from nasbench.base.errors import UsageError
from nasbench.base.metrics import Metric
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.abilities import Oracle
from nasbench.benchmarks.constraints import NO_BOUNDS, Bound, Bounds, Constraint, label, parse_constraints
from nasbench.benchmarks.contract import BENCHMARKS, WHOLE, Benchmark, Evaluation
from nasbench.benchmarks.fidelity import Axis, Fidelity, Level
from nasbench.benchmarks.spec import BenchmarkSpec, open_benchmark
from nasbench.benchmarks.state import keep, kept_in

__all__ = [
    "BENCHMARKS",
    "NO_BOUNDS",
    "WHOLE",
    "Axis",
    "Benchmark",
    "BenchmarkSpec",
    "Bound",
    "Bounds",
    "Constraint",
    "Evaluation",
    "Fidelity",
    "Level",
    "Metric",
    "Oracle",
    "Repeatable",
    "UsageError",
    "keep",
    "kept_in",
    "label",
    "open_benchmark",
    "parse_constraints",
]
