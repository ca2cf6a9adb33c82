"""Methods that begin with what is known of other tasks, or with what an expert believes."""

from nasbench.methods.transfer.rgpe import RGPE
from nasbench.methods.transfer.warm_start import WarmStart

__all__ = ["RGPE", "WarmStart"]
