"""Live benchmarks of scikit-learn's estimators on scikit-learn's own data sets, of which the tables `sk-…` are made."""

from nasbench.benchmarks.contract import ON_FILES
from nasbench.benchmarks.learners.benchmark import LearnerBenchmark, LearnerCurves

__all__ = ["LearnerBenchmark", "LearnerCurves"]

ON_FILES.add("learner", LearnerBenchmark)
