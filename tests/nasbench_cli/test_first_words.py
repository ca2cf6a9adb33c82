"""What a command says before it computes: why it refuses, what it computes on, what a budget will not show."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import Printed


@pytest.mark.parametrize("method", ["hyperband", "bohb"])
def test_a_method_that_needs_fidelities_is_refused_with_benchmarks_that_have_them(
    method: str, nasbench: Callable[..., Printed]
) -> None:
    refused = nasbench("run", "--method", method, "--bench", "hpolib-naval")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "that benchmark has one fidelity only; these have several: digits, medmnist-path (and 9 more" in refused.err
    other = nasbench("run", "--method", "zo-darts", "--bench", "hpolib-naval")
    assert "these have several" not in other.err
