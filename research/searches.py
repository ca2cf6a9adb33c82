"""One-shot searches and trainings on one clock: what a search costs, and where each method is after some minutes.

    python -m research.searches STORE

Prints CSV, a row per method of a store with one worker: the median over runs of the seconds before the first proposal,
that time over the median of an evaluation, and the mean objective of the incumbent (100 while there is none) after each
of `MINUTES`. Seconds are those of evaluations and of thinking.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pandas as pd

from nasbench.results import Store

MINUTES = (1, 2, 5, 10)
COLUMNS = ["method", "constraint", "seed", "evaluation", "thinking", "started", "finished", "incumbent"]
_NOTHING = 100.0  # the last percentile


def after(run: pd.DataFrame, seconds: float) -> float:
    """The incumbent of a run after some seconds, thinking included."""
    at = run["finished"] + run["thinking"].cumsum()
    last = run["incumbent"].fillna(_NOTHING)[(at <= seconds).to_numpy()]
    return float(last.iloc[-1]) if len(last) else _NOTHING


def table(rows: pd.DataFrame) -> list[list[str]]:
    """The rows with their head, of evaluations with `COLUMNS`; the method that is best at the end comes first."""
    seconds = rows["finished"] - rows["started"]
    training = seconds[seconds > 0].median()  # what was refused took none
    made = []
    for method, own in rows.sort_values("evaluation").groupby("method"):
        runs = [run for _, run in own.groupby(["constraint", "seed"])]
        search = float(pd.Series([run["thinking"].iloc[0] for run in runs]).median())
        means = [sum(after(run, 60 * minutes) for run in runs) / len(runs) for minutes in MINUTES]
        made.append(
            (means[-1], [str(method), f"{search:.3g}", f"{search / training:.2g}", *map("{:.1f}".format, means)])
        )
    head = ["method", "search_seconds", "in_trainings", *(f"after_{minutes}_min" for minutes in MINUTES)]
    return [head, *(cells for _, cells in sorted(made))]


if __name__ == "__main__":
    fragments = Store.open(Path(sys.argv[1])).fragments()
    found = pd.concat([fragment.table(COLUMNS).to_pandas() for fragment in fragments])
    csv.writer(sys.stdout, lineterminator="\n").writerows(table(found))
