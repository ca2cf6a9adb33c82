"""Trajectories: the store, the statistics, tables and plots."""

from results.errors import StoreError
from results.store import Store
from results.trajectory import Cell, Row, Setting, Trajectory

__all__ = ["Cell", "Row", "Setting", "Store", "StoreError", "Trajectory"]
