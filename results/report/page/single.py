"""The page of a single run: its text, and a chart and tables of its evaluations."""

from __future__ import annotations

import sys

from nasbench.results.display import svg
from nasbench.results.display.look import looks
from nasbench.results.display.table import Table
from nasbench.results.report import single_run
from nasbench.results.report.page import document, runs
from nasbench.results.store import Store


def write(store: Store, method: str, bench: str, constraint: str | None, seed: int) -> str:
    """The page of a stored or unfinished run, which also holds the other seeds of its setup.

    Args:
        constraint: see `single_run.describe`.

    Raises StoreError as `single_run.describe` does.
    """
    found = single_run.found(store, method, bench, constraint, seed)
    fragment, record = found[0]
    spec, constraint = fragment.setup.method, fragment.setup.constraint
    rows = single_run.rows_of(fragment, record)
    shown = rows[["evaluation", "finished", "objective", "feasible", "status", "configuration"]].astype(str)
    title = f"{spec} on {bench}, {constraint}, seed {seed}"
    return document(
        "run.html.j2",
        svg.STYLE + runs.style(looks((spec,))),
        ("runs.js",),
        title=title,
        text=single_run.describe(store, method, bench, constraint, seed),
        seed=seed,
        is_alone=True,
        table=Table("evaluations", title, "", rows, shown),
        runs_data=runs.as_json([(store, f) for f, _ in found], {spec: 0}, [spec], sys.maxsize),
    )
