"""The page of a single run: its text, and a chart and tables of its evaluations."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from nasbench.results.display import svg
from nasbench.results.display.look import looks
from nasbench.results.display.table import Table
from nasbench.results.report.page import document
from nasbench.results.report.page.runs import as_json, style
from nasbench.results.report.single_run import Run, describe, evaluations
from nasbench.results.store import Store


def write(store: Store, runs: Sequence[Run]) -> str:
    """The page of the first of some runs (`find_runs`), which also holds the other seeds of its setup.

    Raises StoreError if it is damaged.
    """
    fragment, record = runs[0]
    spec = fragment.setup.method
    rows = evaluations(runs[0])
    shown = rows[["evaluation", "finished", "objective", "feasible", "status", "configuration"]].astype(str)
    title = f"{fragment.setup.title}, seed {record.seed}"
    return document(
        "run.html.j2",
        svg.STYLE + style(looks((spec,))),
        ("runs.js",),
        title=title,
        text=describe(store, runs),
        seed=record.seed,
        is_alone=True,
        table=Table("evaluations", title, "", rows, shown),
        runs_data=as_json([(store, f) for f, _ in runs], {spec: 0}, [spec], sys.maxsize),
    )
