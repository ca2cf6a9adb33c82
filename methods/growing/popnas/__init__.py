"""POPNAS: networks that grow level by level along the front of predicted score, seconds and size."""

from nasbench.methods.growing.popnas import method  # registers it

__all__ = ["method"]
