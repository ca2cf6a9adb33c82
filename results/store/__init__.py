"""The trajectory store: finished runs as Parquet files, and journals of unfinished ones."""

from nasbench.results.store._contents import content_hash
from nasbench.results.store.store import Store
from nasbench.results.store.trajectory import Row, Setting, Setup, Trajectory

__all__ = ["Row", "Setting", "Setup", "Store", "Trajectory", "content_hash"]
