"""The table of what search spaces hold."""

from __future__ import annotations

import pandas as pd

from research.spaces import row


def test_medians_count_what_was_trained_and_the_test_is_that_of_the_best() -> None:
    rows = pd.DataFrame(
        {
            "status": ["ok", "failed", "ok", "ok"],
            "objective": [30.0, float("nan"), 10.0, 20.0],
            "metric.test-error@25": [31.0, float("nan"), 12.0, 5.0],
            "metric.parameters": [100.0, 9e9, 300.0, 200.0],
            "metric.train_time": [1.0, 9e9, 3.0, 5.0],
        }
    )
    assert row(rows) == ["3", "20", "10", "12", "200", "3"]
