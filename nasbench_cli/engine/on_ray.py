"""Runs computed on a Ray cluster: this process plans and writes the store, the cluster's workers compute."""

from __future__ import annotations

import importlib
import importlib.util
import os
import socket
import tempfile
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nasbench.benchmarks import UsageError, open_benchmark
from nasbench.benchmarks.spaces.errors import with_extra
from nasbench.cli.engine.batches import Batch, Computed, batches, commit, compute, give_up
from nasbench.cli.engine.plan import PlannedCell
from nasbench.cli.engine.pool import Lost
from nasbench.cli.engine.provenance import provenance
from nasbench.results import Store
from nasbench.results.store.fragment import RunRecord

_RETRIES = 3  # of a batch whose worker or node died, elsewhere
_ENVIRONMENT = ("NASBENCH_DATA", "NASBENCH_CACHE", "OPENBLAS_NUM_THREADS")
_PATIENCE = 10.0  # seconds, for a cluster to answer
_AHEAD = 4  # batches submitted for each CPU of the cluster: a suite of millions of runs is not submitted at once


@dataclass(frozen=True)
class Cluster:
    """Where runs are computed, and what each takes of it. Raises UsageError if Ray is not installed."""

    address: str | None = None
    """Of a running cluster (`auto`, or HOST:PORT); None begins one on this machine."""
    cpus: float | None = None
    """Of a run; by default one for each of its workers on a live benchmark, else one."""
    gpus: float | None = None
    """Of a run; by default what its benchmark declares, if the cluster has a GPU."""

    def __post_init__(self) -> None:
        if importlib.util.find_spec("ray") is None:
            raise UsageError(f"--executor ray needs Ray: {with_extra('ray')}")
        if self.cpus is not None and not self.cpus > 0:
            raise UsageError(f"cpus must be positive, not {self.cpus:g}")
        if self.gpus is not None and not self.gpus >= 0:
            raise UsageError(f"gpus must be 0 or more, not {self.gpus:g}")


@dataclass(frozen=True)
class OnRay:
    """A Ray cluster.

    Workers return trajectories, with the provenance of their machine, and this process alone writes the store: its
    contents are those of a serial run. A batch whose worker or node dies is computed elsewhere; one that takes down
    every worker is cut into single runs, and the one that does it is recorded as failed. Journals of live runs lie in
    the store's folder: where all nodes see it (one machine, a shared file system) a run goes on where it was, elsewhere
    it begins anew.
    """

    cluster: Cluster
    jobs: int
    """CPUs of a cluster begun here."""

    def execute(
        self, missing: list[tuple[PlannedCell, list[int]]], store: Store
    ) -> Generator[list[RunRecord], None, None]:
        """As of every executor.

        Raises UsageError if there is no such cluster, a run fits on none of its nodes, or a node has another nasbench.
        """
        ray = _connected(self.cluster.address, self.jobs)
        try:
            for batch, result in _results(ray, missing, store, self.cluster):
                if isinstance(result, Lost):
                    yield give_up(batch, result, store, provenance())
                    continue
                computed, made_by = result
                _check_same(made_by)
                yield from commit(batch, computed, store, made_by)
        finally:
            ray.shutdown()


def _results(
    ray: Any, missing: list[tuple[PlannedCell, list[int]]], store: Store, cluster: Cluster
) -> Generator[tuple[Batch, tuple[list[Computed], dict[str, Any]] | Lost], None, None]:
    """Batches with what came of them on the cluster, and who computed it."""
    errors = ray.exceptions
    cpus = int(ray.cluster_resources().get("CPU", 1))
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    waiting = deque(batches(missing, max(1, cpus)))
    resources = {b.planned.cell.id: _resources(b, cluster, nodes) for b in waiting}
    task = ray.remote(max_retries=_RETRIES)(_compute_remotely)
    running: dict[Any, Batch] = {}
    while waiting or running:
        while waiting and len(running) < max(1, cpus * _AHEAD):
            batch = waiting.popleft()
            sent = task.options(**resources[batch.planned.cell.id])
            running[sent.remote(batch, str(store.journals.resolve()))] = batch
        (done,), _ = ray.wait(list(running), num_returns=1)
        batch = running.pop(done)
        try:
            yield batch, ray.get(done)
        except (errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError) as error:
            if len(batch.seeds) > 1:
                waiting.extendleft(batch.single())
            else:
                by_node = isinstance(error, errors.NodeDiedError)
                yield batch, Lost("the process that computed it died, on every node that tried", killed=by_node)
        except errors.RayTaskError as error:
            raise error.cause from None  # as it was raised on the node


def _connected(address: str | None, jobs: int) -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing here calls home
    ray: Any = importlib.import_module("ray")  # heavy, and not there unless asked for
    if address is None:
        os.environ.pop("RAY_ADDRESS", None)  # it would be taken for another cluster
        where: dict[str, Any] = {"address": "local", "num_cpus": jobs, "include_dashboard": False}
    else:
        where = {"address": address}
    # As in this process: where data are, and how many threads a sum has, which decides its bits.
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    try:
        if address and ":" in address:  # Ray itself would wait for minutes
            host, _, port = address.rpartition(":")
            socket.create_connection((host.removeprefix("ray://"), int(port)), timeout=_PATIENCE).close()
        ray.init(**where, runtime_env={"env_vars": environment}, log_to_driver=False, logging_level="error")
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"there is no Ray cluster at {address or 'this machine'}: {reason}") from None
    return ray


def _resources(batch: Batch, cluster: Cluster, nodes: list[dict[str, float]]) -> dict[str, float]:
    """What a run takes. Raises UsageError for more than any node has."""
    benchmark = open_benchmark(batch.planned.cell.bench)
    has_gpus = any(node.get("GPU", 0) for node in nodes)
    cpus = cluster.cpus or float(batch.planned.cell.workers if benchmark.live else 1)
    gpus = (benchmark.gpus if has_gpus else 0.0) if cluster.gpus is None else cluster.gpus
    if not any(node.get("CPU", 0) >= cpus and node.get("GPU", 0) >= gpus for node in nodes):
        largest = ", ".join(f"{max((n.get(name, 0) for n in nodes), default=0):g} {name}s" for name in ("CPU", "GPU"))
        raise UsageError(
            f"a run on {benchmark.name} takes {cpus:g} CPUs and {gpus:g} GPUs, and no node has them (at most "
            f"{largest}): give --cpus and --gpus, fewer --workers, or, of a cluster begun here, more --jobs"
        )
    return {"num_cpus": cpus, "num_gpus": gpus}


def _check_same(made_by: dict[str, Any]) -> None:
    here = provenance()
    ours, theirs = ((facts["versions"]["nasbench"], facts["commit"]) for facts in (here, made_by))
    if ours != theirs:
        raise UsageError(f"a node of the cluster has nasbench {' '.join(theirs)}, and this machine {' '.join(ours)}")


def _compute_remotely(batch: Batch, journals: str) -> tuple[list[Computed], dict[str, Any]]:
    if Path(journals).is_dir():
        return list(compute(batch, Path(journals))), provenance(batch.device)
    with tempfile.TemporaryDirectory() as own:  # the node does not see the store: nothing is left for a later run
        return list(compute(batch, Path(own))), provenance(batch.device)
