"""Computes runs on a Ray cluster: this process plans and writes the store, the cluster's workers compute."""

from __future__ import annotations

import importlib
import importlib.util
import os
import signal
import socket
import threading
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from nasbench.base.errors import with_extra
from nasbench.benchmarks import UsageError
from nasbench.cli.engine.batches import Batch, BatchResult, compute_batch
from nasbench.cli.engine.events import DEBUG
from nasbench.cli.engine.executors.executor import EXECUTORS, Executor
from nasbench.cli.engine.pool import Lost
from nasbench.cli.engine.work import Records, Work

_RETRIES = 3  # of a batch whose worker or node died, elsewhere
_ENVIRONMENT = ("NASBENCH_DATA", "NASBENCH_CACHE", "OPENBLAS_NUM_THREADS", DEBUG)
_PATIENCE = 10.0  # seconds, for a cluster to answer
_AHEAD = 4  # batches submitted for each CPU of the cluster: a suite of millions of runs is not submitted at once


@EXECUTORS.register("ray")
class OnRay(Executor):
    """Computes runs on a Ray cluster; the store's contents are those of a serial run.

    A batch whose worker or node dies is computed elsewhere. A batch that takes down every worker is cut into single
    runs, and the run that does it is recorded as failed. Journals of live runs lie in the store's folder: where all
    nodes see it (one machine, a shared file system) an interrupted run continues, elsewhere it starts again.

    Options:
        address: address of a running cluster, `auto` or HOST:PORT; by default a cluster with --jobs CPUs begins on this
            machine.
        cpus: CPUs per run; 0 means 1, and one per worker for live runs.
        gpus: GPUs per run, fractions allowed; -1 means the benchmark's share, where the cluster has GPUs.
    """

    def __init__(self, jobs: int, *, address: str = "", cpus: float = 0.0, gpus: float = -1.0) -> None:
        super().__init__(jobs)
        if importlib.util.find_spec("ray") is None:
            raise UsageError(f"--executor ray needs Ray: {with_extra('ray')}")
        if not 0 <= cpus < float("inf"):
            raise UsageError(f"cpus must be 0 or more, not {cpus:g}")
        if not (gpus == -1 or 0 <= gpus < float("inf")):
            raise UsageError(f"gpus must be 0 or more, or -1 for the benchmark's share, not {gpus:g}")
        self._address, self._cpus, self._gpus = address, cpus, gpus

    def execute(self, work: Work) -> Records:
        """Computes and stores the missing runs.

        Raises UsageError if there is no such cluster, a run fits on none of its nodes, or a node has another nasbench.
        """
        ray = _connected(self._address, self.jobs)
        try:
            for batch, answer in self._answers(ray, work):
                yield work.give_up(batch, answer) if isinstance(answer, Lost) else work.keep(batch, answer)
        finally:
            ray.shutdown()

    def _answers(self, ray: Any, work: Work) -> Generator[tuple[Batch, BatchResult | Lost], None, None]:
        """Each batch with its answer from the cluster."""
        errors = ray.exceptions
        cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        waiting = deque(work.batches(cpus))
        options = {batch.planned.setup.id: self._options(batch, nodes) for batch in waiting}
        task = ray.remote(max_retries=_RETRIES)(compute_batch)
        running: dict[Any, Batch] = {}
        while waiting or running:
            while waiting and len(running) < cpus * _AHEAD:
                if work.is_over(batch := waiting.popleft()):
                    continue
                running[task.options(**options[batch.planned.setup.id]).remote(batch, work.journals)] = batch
            if not running:
                break
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

    def _options(self, batch: Batch, nodes: list[dict[str, float]]) -> dict[str, Any]:
        """Options of Ray for a batch. Raises UsageError if it needs more than any node has."""
        has_gpus = any(node.get("GPU", 0) for node in nodes)
        cpus = self._cpus or float(batch.workers)
        gpus = self._gpus if self._gpus >= 0 else batch.gpus if has_gpus else 0.0
        if not any(node.get("CPU", 0) >= cpus and node.get("GPU", 0) >= gpus for node in nodes):
            most = ", ".join(f"{max((n.get(name, 0) for n in nodes), default=0):g} {name}s" for name in ("CPU", "GPU"))
            raise UsageError(
                f"a run on {batch.planned.setup.bench} takes {cpus:g} CPUs and {gpus:g} GPUs, and no node has them (at "
                f"most {most}): set cpus and gpus of --executor ray, or give fewer --workers, or, for a cluster begun "
                "here, more --jobs"
            )
        return {"num_cpus": cpus, "num_gpus": gpus} | _of_owner(batch.owner)


def _of_owner(method: str) -> dict[str, Any]:
    """Options of Ray that give a third party's method worker processes of its own; none for our methods.

    Ray starts separate worker processes for each environment.
    """
    return {"runtime_env": {"env_vars": _variables() | {"NASBENCH_METHOD": method}}} if method else {}


def _variables() -> dict[str, str]:
    """Variables that workers must share with this process: where data are, and how many threads a sum has.

    The number of threads decides the last bits of a sum.
    """
    return {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}


def _connected(address: str, jobs: int) -> Any:
    """Ray, connected to a cluster. Raises UsageError if there is none, or Ray does not start, whatever it raises."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing here calls home
    with _own_sigterm():
        ray: Any = importlib.import_module("ray")  # heavy, and not there unless it is wanted
        if address:
            where: dict[str, Any] = {"address": address}
        else:
            os.environ.pop("RAY_ADDRESS", None)  # it would be taken for another cluster
            where = {"address": "local", "num_cpus": jobs, "include_dashboard": False}
        try:
            if ":" in address:  # Ray itself would wait for minutes
                host, _, port = address.rpartition(":")
                socket.create_connection((host.removeprefix("ray://"), int(port)), timeout=_PATIENCE).close()
            ray.init(**where, runtime_env={"env_vars": _variables()}, log_to_driver=False, logging_level="error")
        except Exception as error:  # Ray raises bare exceptions, too
            ray.shutdown()  # what has begun of it
            reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
            if address:
                raise UsageError(f"there is no Ray cluster at {address}: {reason}") from None
            raise UsageError(
                f"Ray does not start on this machine: {reason}; give the same command again when the machine is less "
                "busy, or without --executor ray"
            ) from None
    return ray


@contextmanager
def _own_sigterm() -> Iterator[None]:
    """Keeps this process's handler of SIGTERM, in whose place Ray puts its own."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)
