"""The logs of searches that are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from nasbench.results.curves import Curves
from nasbench.results.store import Store
from nasbench.results.store.fragment import Fragment
from nasbench.results.store.trajectory import LOG


def logged(chosen: Sequence[tuple[Store, Fragment]], curves: Curves, needed: set[str]) -> pd.DataFrame:
    """The logs that have all of some quantities: a log's columns, with the numbers of setting and method, and seed.

    A run that is in two stores counts once.
    """
    logs, seen = [], set[tuple[str, int]]()
    for store, f in chosen:
        place = curves.place_of(f.setup)
        if place is None:
            continue
        for run in f.runs:
            log = store.search_log(f, run.seed) if (f.setup.id, run.seed) not in seen else None
            if log is not None and set(log["quantity"].to_pylist()) >= needed:
                seen.add((f.setup.id, run.seed))
                rows = log.select(LOG.names).to_pandas()
                logs.append(rows.assign(setting=place[0], method=place[1], seed=run.seed))
    names = ["setting", "method", "seed", *LOG.names]
    return pd.concat(logs, ignore_index=True) if logs else pd.DataFrame(columns=names)


def groups(frame: pd.DataFrame, *keys: str) -> Iterator[tuple[tuple[int, ...], pd.DataFrame]]:
    """The rows of each combination of values of some integer columns."""
    for values, rows in frame.groupby(list(keys)):
        numbers: Any = values
        yield tuple(map(int, numbers)), rows
