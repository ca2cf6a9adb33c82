"""Runs under way: the evaluations in their journals, and the part of the budget that all runs have reached."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from nasbench.results.store.fragment import Fragment
from nasbench.results.store.fragment import record as record_of
from nasbench.results.store.journal import Record, peek
from nasbench.results.store.store import Store
from nasbench.results.store.trajectory import Row, Setup, Trajectory, are_refused, to_columns, to_table


@dataclass(frozen=True)
class BegunRun:
    """A run that has a journal and is not stored."""

    path: Path
    """The file of the journal."""
    setup: Setup
    seed: int
    records: list[Record]
    """The finished evaluations, in order."""

    @cached_property
    def rows(self) -> list[Row]:
        """One row per finished evaluation, as in the store; the worker and the thinking time are unknown.

        Of several objectives the incumbent is the best of the first: nobody knows shares of the hypervolume yet.
        """
        finished_rows: list[Row] = []
        levels: dict[int, int] = {}  # the level that each training has reached
        top, incumbent, spent = 0, math.nan, 0
        place = self.setup.metrics.index(self.setup.objectives[0]) if self.setup.objectives else 0
        sign = self.setup.sign
        for number, record in enumerate(self.records, 1):
            objective, level = record.metrics[place], record.level
            if record.feasible and (level > top or (level == top and not sign * objective >= sign * incumbent)):
                top, incumbent = level, objective
            if not record.refused:
                spent += level - levels.get(record.trial, 0)
                levels[record.trial] = level
            finished_rows.append(
                Row(
                    evaluation=number,
                    worker=0,
                    configuration=record.configuration,
                    objective=objective,
                    feasible=record.feasible,
                    incumbent=incumbent,
                    started=record.started,
                    finished=record.finished,
                    thinking=math.nan,
                    status=record.status,
                    reason=record.reason,
                    metrics=(*record.metrics, *[math.nan] * (len(self.setup.metrics) - len(record.metrics))),
                    trial=record.trial,
                    level=level,
                    cost=record.cost,
                    spent=spent / self.setup.setting.highest,
                )
            )
        return finished_rows

    @property
    def spent(self) -> float:
        """The training used so far, in full evaluations."""
        return self.rows[-1].spent if self.rows else 0.0

    @property
    def clock(self) -> float:
        """Seconds on the run's clock at the end of its last evaluation."""
        return max((record.finished for record in self.records), default=0.0)

    @property
    def incumbent(self) -> float:
        """The best feasible objective; NaN if there is none."""
        return self.rows[-1].incumbent if self.rows else math.nan

    @property
    def level(self) -> int:
        """The highest level of a feasible evaluation, which is that of the incumbent; 0 if there is none."""
        return max((row.level for row in self.rows if row.feasible), default=0)

    @property
    def share(self) -> float:
        """Used share of the budget, in [0, 1]."""
        of_evals = self.spent / self.setup.evals if self.setup.evals else 0.0
        of_seconds = self.clock / self.setup.seconds if self.setup.seconds else 0.0
        return min(max(of_evals, of_seconds), 1.0)

    def fragment(self) -> MemoryFragment:
        """The run so far as a fragment; it has no provenance yet."""
        metrics = len(self.setup.metrics)
        run = Trajectory(self.seed, to_columns(self.rows, metrics), "", "", "")
        unknown: dict[str, Any] = {"versions": {"nasbench": "unknown"}, "commit": "", "machine": {}}
        return MemoryFragment(self.path, self.setup, (record_of(run),), unknown, to_table(self.setup, [run]))


@dataclass(frozen=True)
class MemoryFragment(Fragment):
    """Unfinished or cut runs of a setup, in memory."""

    rows: pa.Table

    def table(self, columns: list[str] | None = None) -> pa.Table:
        if columns is None:
            return self.rows
        return self.rows.select([name for name in columns if name in self.rows.column_names])

    def first(self, column: str) -> Any:
        return self.rows[column][0].as_py() if len(self.rows) else None


def begun(journals: Path, runs: Iterable[tuple[Setup, int]]) -> Iterator[BegunRun]:
    """The runs among some pairs of setup and seed that have a journal."""
    paths = {path.stem: path for path in journals.glob("*.jsonl")}
    for setup, seed in runs if paths else ():
        path = paths.get(setup.run_id(seed))
        records = None if path is None else peek(path, setup.run_id(seed))
        if path is not None and records is not None:
            yield BegunRun(path, setup, seed, records)


def under_way(store: Store) -> list[BegunRun]:
    """The runs that a store's plans request, that have a journal, and that are not stored."""
    if not any(store.journals.glob("*.jsonl")):
        return []
    stored = store.runs()
    asked = {
        (setup.id, seed): (setup, seed) for plan in store.plans() for setup, seeds in plan["setups"] for seed in seeds
    }
    missing = [run for (setup, seed), run in asked.items() if seed not in stored.get(setup, {})]
    return list(begun(store.journals, missing))


class Beginning(NamedTuple):
    """The part of the budget that all runs of a comparison have reached."""

    fragments: list[tuple[Store, Fragment]]
    """The runs, cut at `end`."""
    end: float
    """Full evaluations or, if the budget is in seconds only, seconds on the clock."""
    protocol: str
    under_way: int
    """Number of unfinished runs."""

    @property
    def warning(self) -> str:
        """A warning about unfinished runs, as a sentence without its full stop."""
        runs = f"{self.under_way} run{' is' if self.under_way == 1 else 's are'}"
        return f"{runs} under way (partial): every run counts with {self.protocol} alone, and verdicts may yet change"


def beginning(fragments: Sequence[tuple[Store, Fragment]]) -> Beginning | None:
    """Cuts runs of one protocol at the end of the shortest run under way; None if no run is under way.

    Otherwise the incumbents of unfinished runs would be compared with the final incumbents of others.
    """
    parts = [f for _, f in fragments if isinstance(f, MemoryFragment)]
    if not parts:
        return None
    end = min(_end(f) for f in parts)
    setup = parts[0].setup
    cut = [(store, _up_to(f, end)) for store, f in fragments]
    return Beginning(cut, end, f"the first {end:g} of {setup.protocol}", len(parts))


def _end(part: MemoryFragment) -> float:
    """The progress of a run, in full evaluations or seconds."""
    if part.setup.evals is None:
        # An evaluation that finishes after the budget is in the journal, but does not count.
        return min(float(part.rows["finished"][-1].as_py()), part.setup.seconds or math.inf)
    return float(np.floor(part.rows["spent"][-1].as_py()))


def _up_to(f: Fragment, end: float) -> Fragment:
    table = f.table()
    of_evaluations = "spent" if f.counts_spending else "evaluation"
    used = table["finished" if f.setup.evals is None else of_evaluations].to_numpy()
    is_failed = np.asarray(table["status"].to_numpy() == "failed")
    runs, kept = [], []
    for run, span in f.spans():
        count = int(np.searchsorted(used[span], end, side="right"))
        if count < span.stop - span.start:
            failed = int(is_failed[span][:count].sum())
            refused = int(are_refused(table["spent"].to_numpy()[span][:count]).sum()) if run.refused else 0
            runs.append(replace(run, rows=count, failure="", failed_evaluations=failed, refused=refused))
        else:
            runs.append(run)
        kept.append(np.arange(span.start, span.start + runs[-1].rows))
    return MemoryFragment(f.path, f.setup, tuple(runs), f.provenance, table.take(np.concatenate(kept)))
