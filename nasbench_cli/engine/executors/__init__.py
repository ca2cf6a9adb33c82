"""Executors, which compute runs: in this process, in several, on a Ray cluster, or wherever a plug-in does it.

One file per executor; `executor.py` is their contract.
"""

from nasbench.cli.engine.batches import Answer, Batch, compute_batch
from nasbench.cli.engine.executors.executor import EXECUTORS, Executor, ExecutorSpec, chosen
from nasbench.cli.engine.pool import Lost
from nasbench.cli.engine.work import Records, Work

__all__ = [
    "EXECUTORS",
    "Answer",
    "Batch",
    "Executor",
    "ExecutorSpec",
    "Lost",
    "Records",
    "Work",
    "chosen",
    "compute_batch",
]
