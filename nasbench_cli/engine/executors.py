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
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, TypeVar

from nasbench.cli.engine.batches import PROCESS_DIED, Batch, compute, stored
from nasbench.cli.engine.progress import echo_notices
from nasbench.cli.engine.runner import died
from nasbench.results import Store
from nasbench.results.store.fragment import RunRecord

T = TypeVar("T")
R = TypeVar("R")


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
    for batch, result in in_processes(task, work, jobs, Batch.single):
        if result is not None:
            records, notices = result
            store.notices += notices
            yield records
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
    for trajectories, notices in compute(batch, store.journals, lambda seed: store.has(cell, seed)):
        store.notices += notices
        if trajectories:
            yield store.commit(cell, trajectories, provenance)
            stored(cell, trajectories, store.journals)
