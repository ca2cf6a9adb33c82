"""Executors, which compute runs: in this process, in several, on a Ray cluster, or wherever a plug-in does it.

One file per executor; `executor.py` is their contract.
"""

from nasbench.cli.engine.batches import Batch, BatchResult, compute_batch
from nasbench.cli.engine.executors.executor import EXECUTORS, Executor, ExecutorSpec, chosen
from nasbench.cli.engine.pool import Lost
from nasbench.cli.engine.work import Records, Work

__all__ = [
    "EXECUTORS",
    "Batch",
    "BatchResult",
    "Executor",
    "ExecutorSpec",
    "Lost",
    "Records",
    "Work",
    "chosen",
    "compute_batch",
]
