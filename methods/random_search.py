"""Random search (Bergstra and Bengio, 2012): every configuration drawn independently and uniformly."""

from __future__ import annotations

from numpy.random import Generator

from nasbench.benchmarks.spaces import Configuration
from nasbench.methods.about import About, Needs
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.problem import Observation, Problem


@METHODS.register("random")
class RandomSearch(Method):
    """Samples the space and learns nothing: the baseline every other method must beat.

    Take it for a baseline in every comparison.

    Beside its source: nothing departs.
    """

    needs = Needs(several=True)
    about = About(source="J. Bergstra and Y. Bengio. Random Search for Hyper-Parameter Optimization. JMLR 13, 2012.")

    def __init__(self, problem: Problem, rng: Generator) -> None:
        self._problem, self._rng = problem, rng

    def ask(self) -> Configuration:
        return self._problem.sample(self._rng)

    def tell(self, observation: Observation) -> None:
        """Ignored."""
