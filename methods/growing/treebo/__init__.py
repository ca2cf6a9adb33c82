"""TreeBO: Bayesian optimisation over the paths of a tree of decisions (Jenatton et al., ICML 2017)."""

from nasbench.methods.growing.treebo.method import TreeBO

__all__ = ["TreeBO"]
