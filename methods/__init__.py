"""Searchers: propose a configuration, learn from its evaluation."""

from nasbench.methods.about import About, Needs
from nasbench.methods.contract import METHODS, Logged, LongSearch, Method, beginning_of
from nasbench.methods.problem import Observation, Problem, Proposal
from nasbench.methods.spec import MethodSpec

__all__ = [
    "METHODS",
    "About",
    "Logged",
    "LongSearch",
    "Method",
    "MethodSpec",
    "Needs",
    "Observation",
    "Problem",
    "Proposal",
    "beginning_of",
]
