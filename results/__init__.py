"""Trajectories: the store, the statistics, tables and plots."""

from nasbench.results.errors import Interrupted, StoreError
from nasbench.results.store import Store
from nasbench.results.store.trajectory import Cell, Row, Setting, Trajectory

__all__ = ["Cell", "Interrupted", "Row", "Setting", "Store", "StoreError", "Trajectory"]
