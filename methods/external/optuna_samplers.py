"""Optuna's samplers (Akiba et al., 2019), through its ask-and-tell interface."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Any

from numpy.random import Generator

from nasbench.benchmarks.repeatability import Repeatable
from nasbench.benchmarks.spaces import AsFlat, Configuration, Coordinate, Float, Hyperparameter, Integer, Ordinal
from nasbench.benchmarks.spaces.errors import UsageError
from nasbench.methods.base import METHODS, Method, Observation, Problem
from nasbench.methods.external.requirements import require

if TYPE_CHECKING:
    import optuna


class OptunaMethod(Method):
    """A sampler of Optuna on our problem.

    Ordinal hyper-parameters are integers (the index of the level), constraints are set trial by trial (satisfied where
    <= 0), a failed evaluation is a failed trial, and pending ones are running trials, which Optuna knows of. One that
    was refused before training is the worst there can be, with what is known of its constraints.
    """

    repeatable = Repeatable.SAME_MACHINE
    source = (
        "T. Akiba, S. Sano, T. Yanase, T. Ohta and M. Koyama. Optuna: A Next-generation Hyperparameter Optimization "
        "Framework. KDD 2019."
    )
    needs = (AsFlat,)

    def __init__(self, problem: Problem, rng: Generator) -> None:
        self._problem, self._seed = problem, int(rng.integers(2**32))
        self._flat = problem.flat
        self._study: optuna.Study | None = None
        self._pending: dict[Configuration, deque[Any]] = {}

    @classmethod
    def make_ready(cls) -> None:
        import optuna  # noqa: F401

    @abstractmethod
    def sampler(self, seed: int) -> optuna.samplers.BaseSampler:
        """The sampler, with a seed of its own."""

    def constrain(self, trial: optuna.Trial, excesses: dict[str, float]) -> None:
        """Tells the sampler how far a trial exceeds each bound, by the bound's name; satisfied where <= 0."""
        for name, excess in excesses.items():
            trial.set_constraint(name, excess)

    def ask(self) -> Configuration:
        trial = self._begun().ask()
        coordinates: list[Coordinate] = []
        for h, condition in zip(self._flat.hyperparameters, self._flat.conditions, strict=True):
            present = condition is None or condition.holds(coordinates)
            coordinates.append(suggested(trial, h) if present else None)
        configuration = self._flat.at(coordinates)
        self._pending.setdefault(configuration, deque()).append(trial)
        return configuration

    def tell(self, observation: Observation) -> None:
        import optuna

        trial = self._pending[observation.configuration].popleft()
        evaluation = observation.evaluation
        told = {bound: evaluation.metrics[bound.column] for bound in self._problem.constraints}
        if evaluation.status == "failed" or (evaluation.status == "infeasible" and all(map(math.isnan, told.values()))):
            self._begun().tell(trial, state=optuna.trial.TrialState.FAIL)
            return
        if evaluation.status == "infeasible":  # what is not known of a refused one is as if it held
            told = {bound: bound.limit if math.isnan(value) else value for bound, value in told.items()}
        self.constrain(trial, {str(bound): -bound.slack(bound.counted(value)) for bound, value in told.items()})
        self._begun().tell(trial, observation.objective if evaluation.status == "ok" else math.inf)

    def _begun(self) -> optuna.Study:
        if self._study is None:
            import optuna

            optuna.logging.set_verbosity(optuna.logging.ERROR)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it is experimental, or that an argument will go
                self._study = optuna.create_study(sampler=self.sampler(self._seed))
        return self._study


@METHODS.register("optuna-tpe")
class OptunaTPE(OptunaMethod):
    """Optuna's TPE with its defaults and its own handling of constraints (which is not c-TPE).

    Options:
        initial: random configurations at first, at least 1.
    """

    seconds = 2.5e-3

    def __init__(self, problem: Problem, rng: Generator, *, initial: int = 10) -> None:
        require("optuna-tpe", "peers", "optuna")
        _check_initial(initial)
        super().__init__(problem, rng)
        self._initial = initial

    def sampler(self, seed: int) -> optuna.samplers.BaseSampler:
        import optuna

        return optuna.samplers.TPESampler(n_startup_trials=self._initial, seed=seed)


@METHODS.register("cnsga2")
class CNSGA2(OptunaMethod):
    """Constrained NSGA-II (Deb et al., 2002), Optuna's, with the population of the c-TPE paper.

    Options:
        population: members of a generation, at least 2.
    """

    source = (
        "K. Deb, A. Pratap, S. Agarwal and T. Meyarivan. A Fast and Elitist Multiobjective Genetic Algorithm: "
        "NSGA-II. IEEE Transactions on Evolutionary Computation 6(2), 2002."
    )
    seconds = 4e-4

    initial_option = "population"

    def __init__(self, problem: Problem, rng: Generator, *, population: int = 8) -> None:
        require("cnsga2", "peers", "optuna")
        if population < 2:
            raise UsageError(f"population must be at least 2, not {population}")
        super().__init__(problem, rng)
        self._population = population

    def sampler(self, seed: int) -> optuna.samplers.BaseSampler:
        import optuna

        return optuna.samplers.NSGAIISampler(population_size=self._population, seed=seed)


@METHODS.register("optuna-gp")
class OptunaGP(OptunaMethod):
    """Optuna's Gaussian process with constrained expected improvement (log EI).

    Options:
        initial: random configurations at first, at least 1.
    """

    seconds = 0.23

    @classmethod
    def make_ready(cls) -> None:
        super().make_ready()
        import torch  # noqa: F401

    def __init__(self, problem: Problem, rng: Generator, *, initial: int = 10) -> None:
        require("optuna-gp", "peers,gp", "optuna", "torch")
        _check_initial(initial)
        super().__init__(problem, rng)
        self._initial = initial

    def sampler(self, seed: int) -> optuna.samplers.BaseSampler:
        import optuna

        return optuna.samplers.GPSampler(n_startup_trials=self._initial, seed=seed, deterministic_objective=False)


def _check_initial(initial: int) -> None:
    if initial < 1:
        raise UsageError(f"initial must be at least 1, not {initial}")


def suggested(trial: optuna.Trial, h: Hyperparameter) -> Coordinate:
    """What Optuna proposes for a hyper-parameter: of an ordinal one it sees the index of the level, an integer."""
    if isinstance(h, Float):
        return trial.suggest_float(h.name, h.low, h.high, log=h.log)
    if isinstance(h, Integer):
        return trial.suggest_int(h.name, h.low, h.high, log=h.log)
    if isinstance(h, Ordinal):
        return trial.suggest_int(h.name, 0, len(h.values) - 1)
    return trial.suggest_categorical(h.name, tuple(range(len(h.values))))
