"""Searchers: propose a configuration, learn from its evaluation."""

from nasbench.methods.contract import METHODS, Logged, Method, Observation, Problem, Proposal
from nasbench.methods.spec import MethodSpec

__all__ = ["METHODS", "Logged", "Method", "MethodSpec", "Observation", "Problem", "Proposal"]
