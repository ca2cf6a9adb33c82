"""Trajectories: the store, the statistics, tables and plots."""

from nasbench.base.errors import Interrupted, StoreError
from nasbench.results.store import Store
from nasbench.results.store.trajectory import Row, Setting, Setup, Trajectory

__all__ = ["Interrupted", "Row", "Setting", "Setup", "Store", "StoreError", "Trajectory"]
