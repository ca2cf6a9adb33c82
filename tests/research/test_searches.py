"""Searches and trainings on one clock."""

from __future__ import annotations

import math

import pandas as pd

from research.searches import table


def test_thinking_and_trainings_are_on_one_clock() -> None:
    """Trainings of 40 seconds; a search of 90 seconds finds a better network, but later than the other's first one."""
    run = {
        "constraint": "none",
        "seed": 0,
        "evaluation": [1, 2, 3],
        "started": [0.0, 40, 80],
        "finished": [40.0, 80, 120],
    }
    slow = pd.DataFrame({**run, "method": "slow", "thinking": [90.0, 0, 0], "incumbent": [5.0, 2.0, 2.0]})
    quick = pd.DataFrame({**run, "method": "quick", "thinking": [0.0, 0, 0], "incumbent": [math.nan, 30.0, 10.0]})
    head, *rows = table(pd.concat([quick, slow]))
    assert head == ["method", "search_seconds", "in_trainings", *(f"after_{m}_min" for m in (1, 2, 5, 10))]
    assert rows == [
        ["slow", "90", "2.2", "100.0", "100.0", "2.0", "2.0"],  # proposals end after 130, 170 and 210 seconds
        ["quick", "0", "0", "100.0", "10.0", "10.0", "10.0"],
    ]
