"""Methods whose model is a Gaussian process per quantity, on hyper-parameters."""

from nasbench.methods.gaussian.scbo import SCBO

__all__ = ["SCBO"]
