"""The promises of methods and benchmarks as callable checks, for `nasbench check` and for the tests of a plug-in.

In a test file of a plug-in:

    @pytest.mark.parametrize("check", METHOD_CHECKS, ids=str)
    def test_my_method(check):
        check("my-method")
"""

from nasbench.cli.checks.base import Check, Failed
from nasbench.cli.checks.benchmarks import BENCHMARK_CHECKS
from nasbench.cli.checks.methods import METHOD_CHECKS

__all__ = ["BENCHMARK_CHECKS", "METHOD_CHECKS", "Check", "Failed"]
