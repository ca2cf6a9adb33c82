"""The work of an executor: missing runs, cut into batches, and the store that receives them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from nasbench.benchmarks import UsageError
from nasbench.cli.engine.batches import Batch, BatchResult, Computed, compute, cut
from nasbench.cli.engine.events import Notice, publish
from nasbench.cli.engine.failures import FEWEST, FirstRuns
from nasbench.cli.engine.loop import died
from nasbench.cli.engine.plan import PlannedSetup
from nasbench.cli.engine.pool import Lost
from nasbench.cli.engine.provenance import provenance
from nasbench.results import Store
from nasbench.results.store.fragment import RunRecord
from nasbench.results.store.journal import forget, keep_for_retry
from nasbench.results.store.under_way import begun

Records: TypeAlias = Iterator[list[RunRecord]]
"""Records of newly stored runs, as they come."""


@dataclass(frozen=True)
class Work:
    """Missing runs, and the store that they belong to.

    An executor takes the batches, has each of them computed, and stores the result: `compute` does both in this
    process, `keep` stores what `compute_batch` returned in another one, and `give_up` records a run that was lost.
    Just before a batch begins, `is_over` says whether its method has failed too often.
    """

    store: Store
    missing: Sequence[tuple[PlannedSetup, list[int]]] = ()
    """Each incomplete setup with its missing seeds."""
    made_by: dict[str, Any] = field(default_factory=provenance)
    """Provenance of what this process computes."""
    keep_going: bool = False
    """Whether a method that fails in its first runs in the same way goes on."""
    first: FirstRuns = field(default_factory=FirstRuns)
    """The first results of each method, which decide whether it goes on."""

    @property
    def journals(self) -> Path:
        """Absolute path of the folder where live runs keep their progress."""
        return self.store.journals.resolve()

    def batches(self, jobs: int) -> list[Batch]:
        """The missing runs in batches, large enough to make few files, and enough of them to keep every job busy."""
        return cut(self.missing, jobs)

    def is_over(self, batch: Batch) -> bool:
        """Whether the runs of a batch are left out: the first runs of their method failed in the same way."""
        return not self.keep_going and batch.planned.setup.method in self.first.over

    def compute(self, batch: Batch) -> Records:
        """Computes a batch in this process, and stores it as it comes; yields the records of newly stored runs."""
        if self.is_over(batch):
            return
        is_stored = partial(self.store.has, batch.planned.setup)
        made_by = self.made_by | {"machine": self.made_by["machine"] | {"gpu": batch.device}}
        for records in self._commit(batch, compute(batch, self.store.journals, is_stored), made_by):
            yield self.noted(batch, records)

    def keep(self, batch: Batch, answer: BatchResult) -> list[RunRecord]:
        """Stores what `compute_batch` returned for a batch; returns the records of newly stored runs.

        Raises UsageError if another version of nasbench computed it.
        """
        ours, theirs = (
            (by["versions"]["nasbench"], by["commit"].removesuffix("-dirty")) for by in (self.made_by, answer.made_by)
        )
        if ours != theirs:
            here, there = (" ".join(filter(None, version)) for version in (ours, theirs))
            raise UsageError(f"the machine that computed {batch.where} has nasbench {there}, and this one {here}")
        if batch.planned.live:
            publish(Notice(logging.INFO, "device", answer.made_by["machine"]["gpu"] or "cpu"))
        for notice in answer.notices:
            publish(notice)
        return self.noted(batch, [r for rs in self._commit(batch, answer.computed, answer.made_by) for r in rs])

    def noted(self, batch: Batch, records: list[RunRecord]) -> list[RunRecord]:
        """The same records of newly stored runs, after it was noted whether they failed.

        Says so once if all that is left of their method is now left out.
        """
        method = batch.planned.setup.method
        for record in records:
            if self.first.ends(method, record.failure) and not self.keep_going:
                said = f"its first {FEWEST} runs failed in the same way, so others are left out (unless --keep-going)"
                publish(Notice(logging.WARNING, method, f"{said}: {record.failure}"))
        return records

    def give_up(self, batch: Batch, lost: Lost) -> list[RunRecord]:
        """Records the single run of a batch as failed; one whose process was killed is left missing.

        What its journal holds is stored, as for a run whose method failed.
        """
        setup, (seed,) = batch.planned.setup, batch.seeds
        if lost.killed:
            self.store.notices.append(f"{batch.where} is left out: {lost.reason}")
            return []
        rows = next((run.rows for run in begun(self.store.journals, [(setup, seed)])), [])
        made_by = self.made_by | batch.sources
        return self.noted(batch, self.store.commit(setup, [died(setup, seed, lost.reason, rows)], made_by))

    def _commit(self, batch: Batch, computed: Iterable[Computed], made_by: dict[str, Any]) -> Records:
        """Stores computed runs of a batch, as they come; yields the records of newly stored runs."""
        setup, made_by = batch.planned.setup, {**made_by, "repeatable": batch.repeatable, **batch.sources}
        for trajectories, notices in computed:
            self.store.notices += notices
            if trajectories:
                yield self.store.commit(setup, trajectories, made_by)
                for trajectory in trajectories:
                    journal = self.store.journals / f"{setup.run_id(trajectory.seed)}.jsonl"
                    if not trajectory.failure and "failed" not in trajectory.columns["status"]:
                        forget(journal)
                    elif journal.exists():
                        keep_for_retry(journal)
