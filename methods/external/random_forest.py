"""Constrained expected improvement on random forests.

It replaces Hypermapper 2, a baseline of the c-TPE paper with a similar search: Hypermapper 2.2.13 does not run with
current libraries (it calls scikit-learn with arguments that were removed in 1.4, and imports pkg_resources).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from nasbench.base.errors import check_range
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.spaces import AsFlat, Categorical, Configuration
from nasbench.methods.about import About, Needs
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.external.requirements import require
from nasbench.methods.problem import Observation, Problem
from nasbench.methods.surrogates.acquisition import expected_improvement, probability


@METHODS.register("rf-cei")
class RandomForestCEI(Method):
    """Random forests for the objective and every constraint; maximises EI times the probability of feasibility.

    After the initial configurations, it proposes the best of many candidates: random ones, and neighbours of the best
    configurations so far. The spread over trees is the uncertainty. Failed and pending evaluations are ignored.

    Take it for tables with constraints, as a model without kernels.

    Beside its source: it stands for Hypermapper 2, which does not run beside current scikit-learn, and was not set
    beside it.

    Options:
        initial: random configurations at first, at least 1.
        candidates: candidates per proposal.
        trees: trees per forest.
    """

    about = About(
        repeatable=Repeatable.SAME_MACHINE,
        source=(
            "This project's, in place of Hypermapper: L. Nardi, D. Koeplinger and K. Olukotun. Practical Design "
            "Space Exploration. MASCOTS 2019."
        ),
        version=2,
        learns_from_all=True,
        seconds=0.05,
    )
    needs = Needs(views=(AsFlat,))

    def __init__(
        self, problem: Problem, rng: Generator, *, initial: int = 10, candidates: int = 500, trees: int = 30
    ) -> None:
        require("rf-cei", "peers", "sklearn")
        for name, value in (("initial", initial), ("candidates", candidates), ("trees", trees)):
            check_range(name, value, 1)
        self._problem, self._rng = problem, rng
        self._flat = problem.flat
        self._initial, self._candidates, self._trees = initial, candidates, trees
        self._asked = 0
        self._told: list[Observation] = []
        """Observations with at least some constraint values, including those refused before training."""
        self._observed: list[Observation] = []

    @classmethod
    def make_ready(cls) -> None:
        import scipy.special  # noqa: F401
        import sklearn.ensemble  # noqa: F401

    def ask(self) -> Configuration:
        self._asked += 1
        if max(self._asked - 1, len(self._told)) < self._initial or not self._observed:
            return self._problem.sample(self._rng)
        candidates = self._proposals()
        known, at = self._features([o.configuration for o in self._observed]), self._features(candidates)
        scores = np.zeros(len(candidates))
        for bound in self._problem.constraints:
            metric = bound.metric.name
            told = [
                o for o in self._told if o.evaluation.status == "ok" or not math.isnan(o.evaluation.metrics[metric])
            ]
            values = np.array([bound.counted(o.evaluation.metrics[metric]) for o in told])
            mean, spread = self._predict(self._features([o.configuration for o in told]), values, at)
            scores += np.log(np.maximum(probability(bound, mean, spread), 1e-300))
        feasible = [o.objective for o in self._observed if o.feasible]
        if feasible:  # before the first feasible observation, only feasibility counts
            mean, spread = self._predict(known, np.array([o.objective for o in self._observed]), at)
            scores += np.log(np.maximum(expected_improvement(mean, spread, min(feasible)), 1e-300))
        return candidates[int(np.argmax(scores))]

    def tell(self, observation: Observation) -> None:
        if observation.evaluation.status != "failed":
            self._told.append(observation)
        if observation.evaluation.status == "ok":
            self._observed.append(observation)

    def _proposals(self) -> list[Configuration]:
        space = self._problem.space
        ranked = sorted(self._observed, key=lambda o: o.rank(self._problem.constraints))[:5]
        near = [space.mutant(o.configuration, self._rng) for o in ranked for _ in range(self._candidates // 10)]
        return near + [space.sample(self._rng) for _ in range(self._candidates - len(near))]

    def _features(self, configurations: list[Configuration]) -> NDArray[np.float64]:
        """One-hot for categorical hyper-parameters, the coordinate for others, -1 where absent."""
        rows = np.array(
            [[-1.0 if x is None else x for x in self._flat.coordinates(c)] for c in configurations], dtype=float
        )
        columns = []
        for d, h in enumerate(self._flat.hyperparameters):
            hot = rows[:, [d]] == np.arange(len(h.values)) if isinstance(h, Categorical) else rows[:, [d]]
            columns.append(hot.astype(float))
        return np.hstack(columns)

    def _predict(
        self, known: NDArray[np.float64], values: NDArray[np.float64], at: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation over trees at the candidates."""
        from sklearn.ensemble import RandomForestRegressor

        seed = int(self._rng.integers(2**31))
        forest = RandomForestRegressor(self._trees, min_samples_leaf=2, max_features=0.8, random_state=seed)
        forest.fit(known, values)
        answers = np.array([tree.predict(at) for tree in forest.estimators_])
        return answers.mean(axis=0), np.maximum(answers.std(axis=0), 1e-9 * (1 + np.abs(values).max()))
