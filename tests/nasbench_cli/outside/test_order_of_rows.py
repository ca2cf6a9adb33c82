"""The order of rows that no column numbers: it is that of evaluations, unless a column of times says another."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

from nasbench.base.errors import UsageError
from nasbench.cli.outside.rows import Asked
from nasbench.cli.outside.table import read

ASKED = Asked(sense="minimise", shape="trajectory")
TIMES: dict[str, Callable[[int], object]] = {
    "Created": lambda minute: f"2024-05-20T14:{minute:02}:00.000Z",
    "startTime": lambda minute: f"2024/05/20 14:{minute:02}",
    "_timestamp": lambda minute: 1_700_000_000.5 + 60 * minute,
    "begun": lambda minute: pd.Timestamp(2024, 5, 20, 14, minute),
}


def runs(name: str, time: Callable[[int], object]) -> pd.DataFrame:
    """Two runs of five evaluations each, in the order of a column of times."""
    rows = [("mine", "car", seed, time(10 * seed + n), 1 / (n + 1 + seed)) for seed in range(2) for n in range(5)]
    return pd.DataFrame(rows, columns=["method", "task", "seed", name, "loss"])


@pytest.mark.parametrize(("name", "time"), TIMES.items())
def test_rows_that_stand_newest_first_or_by_their_value_are_asked_about(
    name: str, time: Callable[[int], object]
) -> None:
    frame = runs(name, time)
    assert read(frame, ASKED, "t").note.endswith(f"evaluations are in the order of rows; not read: {name}")
    for other in (frame[::-1], frame.sort_values("loss"), frame.iloc[[0, 1, 3, 2, *range(4, 10)]]):
        with pytest.raises(UsageError, match=f"taken in the order of rows, and {name} says another order: sort"):
            read(other.reset_index(drop=True), ASKED, "t")


def test_runs_may_stand_in_any_order_and_one_column_that_rises_is_enough() -> None:
    frame = runs("started", TIMES["_timestamp"])
    read(frame.sort_values("seed", ascending=False, kind="stable").reset_index(drop=True), ASKED, "t")
    read(frame.assign(finished=frame["started"].to_numpy()[::-1]), ASKED, "t")  # of parallel workers


def test_a_day_that_may_be_of_two_months_says_nothing() -> None:
    frame = runs("date", lambda day: f"{28 - day:02}.05.2024")
    assert read(frame, ASKED, "t").note.endswith("evaluations are in the order of rows; not read: date")


def test_whether_a_trial_was_submitted_says_nothing() -> None:
    frame = runs("submitted", lambda n: n % 2 == 0)
    assert read(frame, ASKED, "t").note.endswith("evaluations are in the order of rows; not read: submitted")


def test_where_a_column_numbers_evaluations_times_say_nothing() -> None:
    frame = runs("Created", TIMES["Created"])[::-1].assign(step=[*range(5), *range(5)])
    assert "order of rows" not in read(frame.reset_index(drop=True), ASKED, "t").note
    final = Asked(sense="minimise", shape="final")
    assert "order of rows" not in read(frame.drop_duplicates("seed").drop(columns="step"), final, "t").note
