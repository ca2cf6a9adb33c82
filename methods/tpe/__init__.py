"""Tree-structured Parzen estimators: vanilla, naively constrained, and c-TPE."""

from nasbench.methods.tpe.tpe import CTPE, TPE, NaiveCTPE

__all__ = ["CTPE", "TPE", "NaiveCTPE"]
