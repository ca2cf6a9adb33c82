"""Looks the cells that the runs of suites/learns.toml drew up in all three tables of NAS-Bench-201.

    python -m examples.looked_up runs/learns

For each method and table: the mean over seeds of the mean percentile of a run's draws (0 is best, 50 is the mean over
all cells), with a 95 % t interval over seeds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from scipy import stats

from nasbench.benchmarks import open_benchmark
from nasbench.benchmarks.abilities import KnowsMeans
from nasbench.results.statistics.estimates import FEWEST

TABLES = ("nb201-cifar10", "nb201-cifar100", "nb201-imagenet16")


def percentiles(configurations: Sequence[str], images: str, table: str) -> list[float]:
    """The percentile of each cell, given as stored in a trajectory, in a table."""
    look_up = open_benchmark(f"supernet:{images}:{table}")
    assert isinstance(look_up, KnowsMeans)
    known = {
        text: look_up.mean_metrics(look_up.space.from_values(json.loads(text)))["percentile"]
        for text in dict.fromkeys(configurations)
    }
    return [known[text] for text in configurations]


def summary(store: Path) -> pd.DataFrame:
    """One row per method: for each table `mean (low to high)`."""
    rows = pd.read_parquet(store, columns=["method", "seed", "bench", "configuration"])
    images = str(rows["bench"].iloc[0]).split(":")[1]
    columns = {}
    for table in TABLES:
        rows[table] = percentiles(rows["configuration"].tolist(), images, table)
        runs = rows.groupby(["method", "seed"])[table].mean()
        columns[table] = runs.groupby("method").apply(_told)
    return pd.DataFrame(columns)


def _told(runs: pd.Series) -> str:
    if len(runs) < FEWEST:
        return f"{runs.mean():.1f}"
    half = stats.sem(runs) * stats.t.ppf(0.975, len(runs) - 1)
    return f"{runs.mean():.1f} ({runs.mean() - half:.1f} to {runs.mean() + half:.1f})"


if __name__ == "__main__":
    print(summary(Path(sys.argv[1])).to_string())
