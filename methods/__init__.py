"""Searchers: propose a configuration, learn from its evaluation."""

from methods.base import METHODS, Logged, Method, Observation, Problem
from methods.spec import MethodSpec

__all__ = ["METHODS", "Logged", "Method", "MethodSpec", "Observation", "Problem"]
