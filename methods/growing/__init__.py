"""Methods on spaces whose choices open others: networks grown level by level, and paths of a tree of decisions."""

from nasbench.methods.growing import popnas, treebo  # registers them

__all__ = ["popnas", "treebo"]
