"""The page of a single run: its text, and a chart and tables of its evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from nasbench.base.numbers import count
from nasbench.results.display import svg
from nasbench.results.display.look import looks
from nasbench.results.display.table import Table
from nasbench.results.report.page import document
from nasbench.results.report.page.runs import style, with_evaluations
from nasbench.results.report.single_run import Run, describe, evaluations
from nasbench.results.store import Store
from nasbench.results.store.under_way import MemoryFragment

_MOST_ROWS = 1000  # of a table, as in `runs.js`


def write(store: Store, runs: Sequence[Run]) -> str:
    """The page of the first of some runs (`find_runs`), which also holds the other seeds of its setup if they fit.

    Raises StoreError if it is damaged.
    """
    fragment, record = runs[0]
    spec = fragment.setup.method
    rows = evaluations(runs[0])
    first = rows[:_MOST_ROWS]
    shown = first[["evaluation", "finished", "objective", "feasible", "status", "configuration"]].astype(str)
    title = f"{fragment.setup.title}, seed {record.seed}"
    runs_data, note = _data(store, runs)
    return document(
        "run.html.j2",
        svg.STYLE + style(looks((spec,))),
        ("runs.js",),
        title=title,
        text=describe(store, runs),
        note=note,
        seed=record.seed,
        is_alone=True,
        cut=f"The first {len(first):,} of {count(len(rows), 'evaluation')}." if len(first) < len(rows) else "",
        table=Table("evaluations", title, "", first, shown),
        runs_data=runs_data,
    )


def _data(store: Store, runs: Sequence[Run]) -> tuple[str, str]:
    """The evaluations that fit in a page, and what it leaves out: other seeds, or else the last evaluations."""
    spec = runs[0][0].setup.method
    encoded = partial(with_evaluations, numbers={spec: 0}, names=[spec])
    if text := encoded([(store, f) for f, _ in runs]):
        return text, ""
    alone = [_alone(run) for run in runs]
    longest = kept = max(f.runs[0].rows for f in alone)
    while not (text := encoded([(store, _beginning(f, kept)) for f in alone])):
        kept //= 2
    if kept == longest:
        return text, "The other seeds of its setup are left out here: they are too many for a page."
    return text, (
        f"The chart holds the first {count(kept, 'evaluation')} of {longest:,}, which are too many for a page; the "
        "Parquet files of the store hold all."
    )


def _alone(run: Run) -> MemoryFragment:
    """The evaluations of a run without those of other seeds."""
    f, record = run
    span = next(span for found, span in f.spans() if found.seed == record.seed)
    rows = f.table()[span]
    return MemoryFragment(f.path, f.setup, (replace(record, rows=len(rows), failure=""),), f.provenance, rows)


def _beginning(f: MemoryFragment, most: int) -> MemoryFragment:
    """The first evaluations of a run that is alone."""
    rows = f.rows[:most]
    return replace(f, rows=rows, runs=(replace(f.runs[0], rows=len(rows)),))
