"""What search spaces hold: random networks of each, as in table 1 and figure 8 of DeepArchitect.

    python -m research.spaces STORE

Prints CSV, a row per benchmark: the number of networks that were trained, the median and the lowest validation error,
the test error of the network with the lowest, and the medians of parameters and of seconds of training.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pandas as pd

from nasbench.results import Store
from nasbench.results.store.fragment import Fragment

HEAD = ["benchmark", "networks", "median_error", "lowest_error", "test_error_of_it", "parameters", "seconds"]


def row(rows: pd.DataFrame) -> list[str]:
    """The row of one benchmark, from the evaluations of its runs."""
    trained = rows[rows["status"] == "ok"]
    best = trained.loc[trained["objective"].idxmin()]
    (test,) = (name for name in trained.columns if name.startswith("metric.test-error@"))
    medians = trained[["objective", "metric.parameters", "metric.train_time"]].median()
    facts = [len(trained), medians["objective"], best["objective"], best[test], *medians.iloc[1:]]
    return [f"{fact:.10g}" for fact in facts]


def table(store: Store) -> list[list[str]]:
    """The rows with their head, the space with the lowest error first."""
    found: dict[str, list[Fragment]] = {}
    for fragment in store.fragments():
        found.setdefault(fragment.setup.bench, []).append(fragment)
    rows = [[bench, *row(pd.concat([f.table().to_pandas() for f in own]))] for bench, own in found.items()]
    return [HEAD, *sorted(rows, key=lambda cells: float(cells[3]))]


if __name__ == "__main__":
    csv.writer(sys.stdout, lineterminator="\n").writerows(table(Store.open(Path(sys.argv[1]))))
