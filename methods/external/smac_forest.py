"""SMAC3 (Lindauer et al., 2022): a random forest with logarithmic expected improvement, constraints by a penalty."""

from __future__ import annotations

import logging
import math
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.random import Generator

from nasbench.base.errors import check_range
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.spaces import AsFlat, Configuration, Flat, Float, Hyperparameter, Integer, Ordinal
from nasbench.benchmarks.spaces.flat import Coordinate
from nasbench.methods._pending import Pending
from nasbench.methods.about import About, Needs
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.external.requirements import require
from nasbench.methods.problem import Observation, Problem

if TYPE_CHECKING:
    from smac import HyperparameterOptimizationFacade
    from smac.runhistory import TrialInfo

_LEAVES = 4096
"""Largest number of leaves of a tree. SMAC's default of 2^20 makes scikit-learn reserve memory for two million nodes
per tree, which takes most of an ask. A tree never has more leaves than observations, so smaller runs are unchanged."""
_TRIALS = 1_000_000
"""More than any run evaluates. SMAC uses it only to limit the initial design to a quarter of it."""


@METHODS.register("smac")
class Smac(Method):
    """SMAC3's facade for hyper-parameters: Sobol points, then a forest of 10 trees; a fifth of the asks is random.

    SMAC minimises one cost and has no constraints, so constraints become a penalty: an infeasible configuration costs
    the worst feasible objective so far plus its violation (while nothing is feasible, its violation), and is told again
    when that worst changes. A failed evaluation costs the worst of all. A pending configuration is not proposed again.
    When SMAC has no proposal left, random ones follow.

    Take it for a comparison with SMAC3 on mixed and conditional spaces.

    Beside its source: it is SMAC3's own but for constraints, which become a penalty.

    Options:
        initial: Sobol points at first, at least 1.
        retrain: proposals per fit of the forest, at least 1 (SMAC's default is 8).
    """

    about = About(
        repeatable=Repeatable.SAME_MACHINE,
        source=(
            "M. Lindauer, K. Eggensperger, M. Feurer, A. Biedenkapp, D. Deng, C. Benjamins, T. Ruhkopf, R. Sass "
            "and F. Hutter. SMAC3: A Versatile Bayesian Optimization Package for Hyperparameter Optimization. JMLR "
            "23(54), 2022."
        ),
        seconds=0.09,
    )
    needs = Needs(views=(AsFlat,))

    def __init__(self, problem: Problem, rng: Generator, *, initial: int = 10, retrain: int = 8) -> None:
        require("smac", "smac", "smac")
        for name, value in (("initial", initial), ("retrain", retrain)):
            check_range(name, value, 1)
        self._problem, self._rng = problem, rng
        self._initial, self._retrain = initial, retrain
        self._seed = int(rng.integers(2**31 - 1))
        self._flat = problem.flat
        self._facade: HyperparameterOptimizationFacade | None = None
        self._pending = Pending[Any]()  # the trial's TrialInfo, or None if SMAC did not propose it
        self._told: list[tuple[TrialInfo, Observation, float]] = []
        """Observations of SMAC's proposals, with the costs that SMAC was told."""

    @classmethod
    def make_ready(cls) -> None:
        require("smac", "smac", "smac")
        import smac  # noqa: F401

    def ask(self) -> Configuration:
        from smac.main.exceptions import ConfigurationSpaceExhaustedException

        info: TrialInfo | None = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # numpy: the mean of no finished trial is NaN
                info = self._opened_facade().ask()
            values = dict(info.config)
            configuration = self._flat.at(
                [_number(values.get(f"x{i}")) for i in range(len(self._flat.hyperparameters))]
            )
        except (ConfigurationSpaceExhaustedException, StopIteration):
            configuration = self._problem.sample(self._rng)
        self._pending.add(configuration, info)
        return configuration

    def tell(self, observation: Observation) -> None:
        from smac.runhistory import TrialValue

        info = self._pending.answer(observation)
        if info is None:
            return  # SMAC did not propose it
        self._told.append((info, observation, math.nan))
        costs = penalised([o for _, o, _ in self._told], self._problem)
        for i, ((trial, told, before), cost) in enumerate(zip(self._told, costs, strict=True)):
            if cost != before:
                self._opened_facade().tell(trial, TrialValue(cost=cost), save=False)
                self._told[i] = (trial, told, cost)

    def _opened_facade(self) -> HyperparameterOptimizationFacade:
        if self._facade is None:
            logging.getLogger("smac").setLevel(logging.CRITICAL)
            from smac import HyperparameterOptimizationFacade, Scenario
            from smac.main.config_selector import ConfigSelector
            from smac.model.random_forest.random_forest import RandomForest

            space = _space(self._flat, self._seed)
            with tempfile.TemporaryDirectory() as folder:  # SMAC writes its scenario there and never reads it
                scenario = Scenario(
                    space, deterministic=True, n_trials=_TRIALS, seed=self._seed, output_directory=Path(folder)
                )
                design = HyperparameterOptimizationFacade.get_initial_design(scenario, n_configs=self._initial)
                forest = RandomForest(
                    configspace=space, log_y=True, n_trees=10, ratio_features=1.0, min_samples_split=2,
                    min_samples_leaf=1, bootstrapping=True, seed=self._seed, max_leaf_nodes=_LEAVES, n_jobs=1,
                )  # fmt: skip
                self._facade = HyperparameterOptimizationFacade(
                    scenario,
                    model=forest,
                    initial_design=design,
                    intensifier=HyperparameterOptimizationFacade.get_intensifier(scenario, max_config_calls=1),
                    config_selector=ConfigSelector(scenario, retrain_after=self._retrain),
                    overwrite=True,
                    logging_level=False,
                )
        return self._facade


def penalised(told: list[Observation], problem: Problem) -> list[float]:
    """The cost of each observation: its objective if it is feasible, else a penalty."""
    ranks = [observation.rank(problem.constraints) for observation in told]
    worst = max([o.objective for o in told if o.feasible], default=0.0)
    costs = [o.objective if o.feasible else worst + violation for o, (violation, _) in zip(told, ranks, strict=True)]
    highest = max([cost for cost in costs if math.isfinite(cost)], default=0.0)
    return [cost if math.isfinite(cost) else highest for cost in costs]


def _space(flat: Flat, seed: int) -> Any:
    """The hyper-parameters as a ConfigSpace, named x0, x1, … in order; levels of ordinals are integers."""
    from ConfigSpace import ConfigurationSpace, InCondition

    space = ConfigurationSpace(seed=seed)
    parameters = [_parameter(f"x{i}", h) for i, h in enumerate(flat.hyperparameters)]
    space.add(parameters)
    for child, condition in zip(parameters, flat.conditions, strict=True):
        if condition is not None:
            permitted = [i for i, present in enumerate(condition.permitted) if present]
            space.add(InCondition(child, parameters[condition.parent], permitted))
    return space


def _parameter(name: str, h: Hyperparameter) -> Any:
    from ConfigSpace import (
        CategoricalHyperparameter,
        Constant,
        UniformFloatHyperparameter,
        UniformIntegerHyperparameter,
    )

    if isinstance(h, Float):
        return UniformFloatHyperparameter(name, h.low, h.high, log=h.log)
    if isinstance(h, Integer):
        return UniformIntegerHyperparameter(name, h.low, h.high, log=h.log)
    if len(h.values) == 1:
        return Constant(name, 0)
    if isinstance(h, Ordinal):
        return UniformIntegerHyperparameter(name, 0, len(h.values) - 1)
    return CategoricalHyperparameter(name, list(range(len(h.values))))


def _number(value: Any) -> Coordinate:
    """A value of ConfigSpace, which may be a NumPy number, as a coordinate."""
    return None if value is None else value.item() if hasattr(value, "item") else value
