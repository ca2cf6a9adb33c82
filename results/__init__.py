"""Trajectories: the store, the statistics, tables and plots."""

from results.errors import Interrupted, StoreError
from results.store import Store
from results.trajectory import Cell, Row, Setting, Trajectory

__all__ = ["Cell", "Interrupted", "Row", "Setting", "Store", "StoreError", "Trajectory"]
