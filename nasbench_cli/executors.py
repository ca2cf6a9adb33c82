"""Who computes the runs of a plan: this process, or several."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent import futures
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from nasbench_cli.plan import PlannedCell, open_benchmark
from nasbench_cli.progress import echo_notices, notices_about
from nasbench_cli.runner import died, run
from nasbench_cli.workers import Diverged
from results import Store, StoreError, Trajectory
from results.fragment import RunRecord
from results.journal import Journal

T = TypeVar("T")
R = TypeVar("R")

PROCESS_DIED = "the process that computed it died (out of memory, killed, or a crash in compiled code)"

_BATCH_ROWS = 50_000  # of one fragment: bounds the memory of a batch and the number of files
_COMMIT_SECONDS = 5.0  # the most that a kill can cost where evaluations are cheap


@dataclass(frozen=True)
class Batch:
    """Some missing runs of one cell: the unit of work, and at most one fragment unless its runs are slow."""

    planned: PlannedCell
    seeds: tuple[int, ...]


def batches(missing: list[tuple[PlannedCell, list[int]]], jobs: int) -> list[Batch]:
    """Cuts the missing runs into batches: large enough to make few files, small enough to keep every job busy."""
    found = []
    for planned, seeds in missing:
        size = max(1, _BATCH_ROWS // (planned.cell.evals or 1000))
        if len(missing) < 2 * jobs:
            size = min(size, -(-len(seeds) // jobs))
        found += [Batch(planned, tuple(seeds[i : i + size])) for i in range(0, len(seeds), size)]
    return found


def execute(
    work: list[Batch], store: Store, provenance: dict[str, Any], jobs: int
) -> Generator[list[RunRecord], None, None]:
    """Computes batches and stores their runs; yields those newly stored, as they come.

    With `jobs` > 1 each batch runs in one of so many processes. A batch's runs depend on their seeds only, so the
    store's contents do not depend on `jobs`. Closing the iterator stops the processes at once. A run that takes its
    process down (out of memory, a crash in compiled code) is recorded as failed; the others go on.
    """
    if jobs == 1:
        for batch in work:
            yield from _compute(batch, store, provenance)
        return
    task = partial(_compute_in_child, folder=store.folder, provenance=provenance)
    for batch, result in in_processes(task, work, jobs, lambda b: [Batch(b.planned, (seed,)) for seed in b.seeds]):
        if result is not None:
            stored, notices = result
            store.notices += notices
            yield stored
            continue
        cell, (seed,) = batch.planned.cell, batch.seeds
        yield store.commit(cell, [died(cell, seed, PROCESS_DIED)], provenance)


def in_processes(
    function: Callable[[T], R], tasks: Sequence[T], jobs: int, parts: Callable[[T], list[T]]
) -> Generator[tuple[T, R | None], None, None]:
    """Each task with its result, as they come from so many processes; None for one that took its process down.

    Closing the iterator stops the processes at once: they hold nothing that a rerun would not compute.

    Args:
        parts: cuts a task that may have killed its process into the smallest ones, to find out which did.
    """
    waiting, suspects = deque(tasks), deque[T]()
    while waiting or suspects:
        # Suspects go one at a time, so that whoever kills its process is known.
        queue_, count = (waiting, jobs) if waiting else (deque([suspects.popleft()]), 1)
        pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _begin_child)
        running: dict[Future[R], T] = {}
        try:
            while queue_ or running:
                while queue_ and len(running) < count:
                    task = queue_.popleft()
                    running[pool.submit(function, task)] = task
                done, _ = futures.wait(running, return_when=futures.FIRST_COMPLETED)
                for future in done:
                    result = future.result()
                    yield running.pop(future), result
        except BrokenProcessPool:
            if count > 1:
                suspects += [part for task in running.values() for part in parts(task)]
            else:
                yield next(iter(running.values())), None
        finally:
            # Python 3.11 has no public way to stop a busy pool.
            for process in list((pool._processes or {}).values()):
                process.kill()
            pool.shutdown(wait=True, cancel_futures=True)


def _compute_in_child(batch: Batch, folder: Path, provenance: dict[str, Any]) -> tuple[list[RunRecord], list[str]]:
    store = Store(folder)
    return [record for part in _compute(batch, store, provenance) for record in part], store.notices


def _begin_child() -> None:
    """Says what is logged, leaves Ctrl-C to the parent, and dies with it: a killed one must not leave orphans."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    echo_notices()
    parent = multiprocessing.parent_process()
    if parent is not None:
        sentinel = parent.sentinel
        threading.Thread(target=lambda: (wait([sentinel]), os._exit(1)), daemon=True).start()


def _compute(batch: Batch, store: Store, provenance: dict[str, Any]) -> Iterator[list[RunRecord]]:
    cell = batch.planned.cell
    benchmark = open_benchmark(cell.bench)
    benchmark.make_ready()
    if benchmark.live:
        batch.planned.spec.method.make_ready()
    done: list[Trajectory] = []
    committed = monotonic()
    for seed in batch.seeds:
        if benchmark.live:
            yield [] if store.has(cell, seed) else _compute_live(batch.planned, seed, store, provenance)
            continue
        done.append(run(cell, seed, batch.planned.spec, benchmark, batch.planned.bounds))
        if monotonic() - committed > _COMMIT_SECONDS:
            yield store.commit(cell, done, provenance)
            done, committed = [], monotonic()
    if done:
        yield store.commit(cell, done, provenance)


def _compute_live(planned: PlannedCell, seed: int, store: Store, provenance: dict[str, Any]) -> list[RunRecord]:
    cell = planned.cell
    identity = cell.run_id(seed)
    try:
        journal = Journal(store.journals / f"{identity}.jsonl", identity)
    except StoreError as error:
        store.notices.append(f"{cell.method} on {cell.bench}, seed {seed}, is left out: {error}")
        return []
    finished = False
    try:
        with notices_about(f"{cell.method} on {cell.bench}, {cell.constraint}, seed {seed}"):
            trajectory = run(cell, seed, planned.spec, open_benchmark(cell.bench), planned.bounds, journal)
        stored = store.commit(cell, [trajectory], provenance)
        # The journal of a run with a failure serves --retry-failed.
        finished = not trajectory.failure and "failed" not in trajectory.columns["status"]
    except Diverged as error:
        store.notices.append(
            f"{cell.method} on {cell.bench}, seed {seed}, cannot be resumed: {error}; {journal.advice}"
        )
        return []
    finally:
        if finished:
            journal.remove()
        else:
            journal.close()
    return stored
