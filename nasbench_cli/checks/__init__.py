"""Callable checks of what methods, benchmarks and executors promise, for `nasbench check` and a plug-in's tests.

In a test file of a plug-in:

    @pytest.mark.parametrize("check", METHOD_CHECKS, ids=str)
    def test_my_method(check):
        check("my-method")
"""

from nasbench.cli.checks.benchmarks import BENCHMARK_CHECKS
from nasbench.cli.checks.check import Check, Failed, NotTested
from nasbench.cli.checks.executors import EXECUTOR_CHECKS
from nasbench.cli.checks.methods import METHOD_CHECKS

__all__ = ["BENCHMARK_CHECKS", "EXECUTOR_CHECKS", "METHOD_CHECKS", "Check", "Failed", "NotTested"]
