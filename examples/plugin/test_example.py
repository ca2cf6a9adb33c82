"""What the harness relies on, as tests of one's own."""

import pytest

from nasbench.cli.checks import BENCHMARK_CHECKS, EXECUTOR_CHECKS, METHOD_CHECKS, Check


@pytest.mark.parametrize("check", METHOD_CHECKS, ids=str)
@pytest.mark.parametrize("bench", ["rastrigin", "nb201-cifar10"])
def test_hill_climbing(check: Check, bench: str) -> None:
    """On its own benchmark, and on one of nasbench's."""
    check("hill-climbing", bench)


@pytest.mark.parametrize("check", BENCHMARK_CHECKS, ids=str)
def test_rastrigin(check: Check) -> None:
    """Everything that a benchmark promises."""
    check("rastrigin")


@pytest.mark.parametrize("check", EXECUTOR_CHECKS, ids=str)
def test_pool(check: Check) -> None:
    """Everything that an executor promises."""
    check("pool")
