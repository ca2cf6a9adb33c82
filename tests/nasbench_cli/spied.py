"""What the spy among the toys was told, compared with what was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from nasbench.results import Trajectory

TEST = 2  # the column of the toys' metric that is measured on a test split


def check(heard: Sequence[float], recorded: np.ndarray) -> None:
    """That the spy was told every recorded metric but the one on a test split; shape (evaluations, metrics)."""
    others = np.delete(np.arange(recorded.shape[1]), TEST)
    told = np.reshape(heard, (len(recorded), len(others)))
    assert (recorded[:, TEST] < -1000).all()  # it was measured, and is kept for the report
    np.testing.assert_array_equal(told, recorded[:, others])


def check_run(trajectory: Trajectory, evaluations: int = 12) -> None:
    assert trajectory.failure == ""
    assert len(trajectory) == evaluations
    check([row[2] for row in trajectory.log], trajectory.columns["metrics"])


def check_store(folder: Path, runs: int) -> None:
    """The same of every run of a store."""
    frame = pd.read_parquet(folder).sort_values(["run", "evaluation"])
    logs = pd.concat([pd.read_parquet(path) for path in (folder / "_searches").glob("*.parquet")])
    assert frame["run"].nunique() == logs["run"].nunique() == runs
    for identity, log in logs.groupby("run"):
        recorded = frame.loc[frame["run"] == identity, ["metric.loss", "metric.size", "metric.test-loss"]]
        check(log.sort_values(["epoch", "step"])["value"].to_numpy(), recorded.to_numpy())
