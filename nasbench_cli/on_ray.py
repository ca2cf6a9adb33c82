"""Runs computed on a Ray cluster: this process plans and writes the store, the cluster's workers compute."""

from __future__ import annotations

import importlib
import os
import socket
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import UsageError
from nasbench_cli.batches import PROCESS_DIED, Batch, Computed, compute, stored
from nasbench_cli.plan import open_benchmark
from nasbench_cli.runner import died
from results import Store
from results.fragment import RunRecord

_RETRIES = 3  # of a batch whose worker or node died, elsewhere
_PATIENCE = 10.0  # seconds, for a cluster to answer
_AHEAD = 4  # batches submitted for each CPU of the cluster: a suite of millions of runs is not submitted at once


@dataclass(frozen=True)
class Cluster:
    """Where runs are computed, and what each takes of it."""

    address: str | None = None
    """Of a running cluster (`auto`, or HOST:PORT); None begins one on this machine."""
    cpus: float | None = None
    """Of a run; by default one for each of its workers on a live benchmark, else one."""
    gpus: float | None = None
    """Of a run; by default what its benchmark declares, if the cluster has a GPU."""

    def __post_init__(self) -> None:
        if self.cpus is not None and not self.cpus > 0:
            raise UsageError(f"cpus must be positive, not {self.cpus:g}")
        if self.gpus is not None and not self.gpus >= 0:
            raise UsageError(f"gpus must be 0 or more, not {self.gpus:g}")


def execute(
    work: list[Batch], store: Store, provenance: dict[str, Any], jobs: int, cluster: Cluster
) -> Generator[list[RunRecord], None, None]:
    """As `executors.execute`, on a cluster.

    Workers return trajectories, and this process alone writes the store: its contents are those of a serial run. A
    batch whose worker or node dies is computed elsewhere; one that takes down every worker is cut into single runs, and
    the one that does it is recorded as failed. Journals of live runs lie in the store's folder: where all nodes see it
    (one machine, a shared file system) a run goes on where it was, elsewhere it begins anew.

    Args:
        jobs: CPUs of a cluster begun here.

    Raises UsageError if Ray is not installed, or there is no such cluster.
    """
    ray = _connected(cluster.address, jobs)
    try:
        task = ray.remote(max_retries=_RETRIES)(_compute_remotely)
        found = ray.cluster_resources()
        most = max(1, int(found.get("CPU", 1) * _AHEAD))
        waiting = deque(work)
        running: dict[Any, Batch] = {}
        while waiting or running:
            while waiting and len(running) < most:
                batch = waiting.popleft()
                options = task.options(**_resources(batch, cluster, found))
                running[options.remote(batch, str(store.journals.resolve()))] = batch
            (done,), _ = ray.wait(list(running), num_returns=1)
            batch = running.pop(done)
            cell = batch.planned.cell
            try:
                results: list[Computed] = ray.get(done)
            except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.OutOfMemoryError):
                if len(batch.seeds) > 1:
                    waiting.extendleft(batch.single())
                else:
                    yield store.commit(cell, [died(cell, batch.seeds[0], PROCESS_DIED)], provenance)
                continue
            for trajectories, notices in results:
                store.notices += notices
                if trajectories:
                    yield store.commit(cell, trajectories, provenance)
                    stored(cell, trajectories, store.journals)
    finally:
        ray.shutdown()


def _connected(address: str | None, jobs: int) -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing here calls home
    try:
        ray: Any = importlib.import_module("ray")  # heavy, and not there unless asked for
    except ImportError:
        raise UsageError("--executor ray needs Ray: pip install 'nasbench[ray]'") from None
    where = {"address": address} if address else {"num_cpus": jobs, "include_dashboard": False}
    try:
        if address and ":" in address:  # Ray itself would wait for minutes
            host, _, port = address.rpartition(":")
            socket.create_connection((host.removeprefix("ray://"), int(port)), timeout=_PATIENCE).close()
        ray.init(**where, log_to_driver=False, logging_level="error")
    except (OSError, ValueError) as error:  # also a ConnectionError
        raise UsageError(f"there is no Ray cluster at {address}: {str(error).splitlines()[0]}") from None
    return ray


def _resources(batch: Batch, cluster: Cluster, found: dict[str, float]) -> dict[str, float]:
    """What a run takes. Raises UsageError for more than the cluster has."""
    benchmark = open_benchmark(batch.planned.cell.bench)
    declared = {
        "num_cpus": float(batch.planned.cell.workers if benchmark.live else 1),
        "num_gpus": benchmark.gpus if found.get("GPU", 0) else 0.0,
    }
    asked = {"num_cpus": cluster.cpus, "num_gpus": cluster.gpus}
    wanted = {name: declared[name] if own is None else own for name, own in asked.items()}
    for name, resource in (("num_cpus", "CPU"), ("num_gpus", "GPU")):
        if wanted[name] > found.get(resource, 0):
            raise UsageError(
                f"a run on {benchmark.name} takes {wanted[name]:g} {resource}s, and the cluster has "
                f"{found.get(resource, 0):g}: give --cpus and --gpus, or fewer --workers"
            )
    return wanted


def _compute_remotely(batch: Batch, journals: str) -> list[Computed]:
    folder = Path(journals)
    folder.mkdir(parents=True, exist_ok=True)  # a node without the store's file system has one of its own
    return list(compute(batch, folder))
