"""Searchers: propose a configuration, learn from its evaluation."""

from methods.base import METHODS, Method, Observation, Problem
from methods.spec import MethodSpec

__all__ = ["METHODS", "Method", "MethodSpec", "Observation", "Problem"]
