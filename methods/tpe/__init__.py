"""Tree-structured Parzen estimators: vanilla, naively constrained, c-TPE, and c-MOTPE for several objectives."""

from nasbench.methods.tpe.multi_objective import CMOTPE
from nasbench.methods.tpe.tpe import CTPE, TPE, NaiveCTPE

__all__ = ["CMOTPE", "CTPE", "TPE", "NaiveCTPE"]
