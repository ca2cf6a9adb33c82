"""Scalable constrained Bayesian optimisation (Eriksson and Poloczek, 2021), on NumPy and SciPy alone."""

from nasbench.methods.gaussian.scbo.search import SCBO

__all__ = ["SCBO"]
