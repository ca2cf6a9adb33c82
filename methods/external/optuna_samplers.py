"""Optuna's samplers (Akiba et al., 2019), through its ask-and-tell interface: `optuna:sampler=nsga3,population=20`.

Some have names and defaults of their own: `optuna-tpe`, `cnsga2`, `optuna-gp`, and for several objectives `nsga2` and
`motpe`.
"""

from __future__ import annotations

import inspect
import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from numpy.random import Generator

from nasbench.base.errors import UsageError, check_choice, check_least
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.spaces import (
    AsFlat,
    Categorical,
    Configuration,
    Coordinate,
    Float,
    Hyperparameter,
    Integer,
    Ordinal,
)
from nasbench.benchmarks.spaces.flat import differ, uniquely_named
from nasbench.methods._pending import Pending
from nasbench.methods.about import About, Needs, Options
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.external.requirements import require
from nasbench.methods.problem import Observation, Problem

if TYPE_CHECKING:
    import optuna


class OptunaMethod(Method):
    """A sampler of Optuna as a method.

    Ordinal hyper-parameters are integers (the index of the level), and constraints are set for each trial (satisfied if
    <= 0). A failed evaluation is a failed trial; pending evaluations are running trials. A configuration that was
    refused before training has an infinite objective and its known constraint values. Several objectives are told as
    losses (`Problem.losses`). Samplers add what exceeds several bounds, so each excess is a share of its limit. Where a
    proposal stands for another configuration (of a list of rows the nearest), its trial fails, and a trial of that
    configuration takes its place.
    """

    about = About(
        version=2,
        repeatable=Repeatable.SAME_MACHINE,
        source=(
            "T. Akiba, S. Sano, T. Yanase, T. Ohta and M. Koyama. Optuna: A Next-generation Hyperparameter "
            "Optimization Framework. KDD 2019."
        ),
    )
    needs = Needs(views=(AsFlat,))

    def __init__(self, problem: Problem, rng: Generator) -> None:
        self._problem, self._seed = problem, int(rng.integers(2**32))
        self._flat, self._named = problem.flat, uniquely_named(problem.flat.hyperparameters)
        self._study: optuna.Study | None = None
        self._pending = Pending[Any]()

    @classmethod
    def make_ready(cls) -> None:
        import optuna  # noqa: F401

    @abstractmethod
    def sampler(self, seed: int) -> optuna.samplers.BaseSampler:
        """The sampler with a seed."""

    def constrain(self, trial: optuna.Trial, excesses: dict[str, float]) -> None:
        """Tells the sampler by how much a trial exceeds each bound (`Bound.excess`), by the bound's name."""
        for name, excess in excesses.items():
            trial.set_constraint(name, excess)

    def ask(self) -> Configuration:
        import optuna

        trial, proposed = self._proposal()
        configuration = self._flat.at(proposed)
        evaluated = self._flat.coordinates(configuration)
        if differ(proposed, evaluated):
            states, pairs = optuna.trial.TrialState, zip(self._named, evaluated, strict=True)
            failed = self._opened_study().tell(trial, state=states.FAIL)
            # As `Study.enqueue_trial` does, but with what the sampler has noted, such as the trial's generation.
            attributes = {**failed.system_attrs, "fixed_params": {h.name: x for h, x in pairs if x is not None}}
            self._opened_study().add_trial(optuna.trial.create_trial(state=states.WAITING, system_attrs=attributes))
            trial, _ = self._proposal()
        self._pending.add(configuration, trial)
        return configuration

    def _proposal(self) -> tuple[optuna.Trial, list[Coordinate]]:
        """A new trial, and its coordinates."""
        trial = self._opened_study().ask()
        coordinates: list[Coordinate] = []
        for h, condition in zip(self._named, self._flat.conditions, strict=True):
            present = condition is None or condition.holds(coordinates)
            coordinates.append(suggested(trial, h) if present else None)
        return trial, coordinates

    def tell(self, observation: Observation) -> None:
        import optuna

        trial = self._pending.answer(observation)
        evaluation = observation.evaluation
        told = {bound: evaluation.metrics[bound.metric.name] for bound in self._problem.constraints}
        if evaluation.status == "failed" or (evaluation.status == "infeasible" and all(map(math.isnan, told.values()))):
            self._opened_study().tell(trial, state=optuna.trial.TrialState.FAIL)
            return
        if evaluation.status == "infeasible":  # unknown constraints of a refused configuration count as satisfied
            told = {bound: bound.edge if math.isnan(value) else value for bound, value in told.items()}
        self.constrain(trial, {str(bound): bound.excess(bound.counted(value)) for bound, value in told.items()})
        if self._problem.several:
            self._opened_study().tell(trial, self._problem.losses(observation))
        else:
            self._opened_study().tell(trial, observation.objective if evaluation.status == "ok" else math.inf)

    def _opened_study(self) -> optuna.Study:
        if self._study is None:
            import optuna

            optuna.logging.set_verbosity(optuna.logging.ERROR)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of experimental samplers and deprecated arguments
                self._study = optuna.create_study(
                    sampler=self.sampler(self._seed), directions=["minimize"] * len(self._problem.objectives)
                )
        return self._study


@dataclass(frozen=True)
class _Sampler:
    """A sampler of Optuna and its requirements."""

    name: str
    """Name of its class in `optuna.samplers`."""
    always: Mapping[str, object] = field(default_factory=dict)
    """Arguments that its constructor always gets."""
    modules: tuple[str, ...] = ()
    """Modules that must be installed in addition to Optuna."""
    extra: str = "optuna"
    """Our extras that install everything."""
    constrained: bool = False
    """Whether it uses constraints."""


SAMPLERS = {
    "tpe": _Sampler("TPESampler", constrained=True),
    "gp": _Sampler("GPSampler", {"deterministic_objective": False}, ("torch",), "optuna,live", constrained=True),
    "cmaes": _Sampler("CmaEsSampler", {"warn_independent_sampling": False}, ("cmaes",)),
    "qmc": _Sampler("QMCSampler", {"scramble": True, "warn_independent_sampling": False}),
    "nsga2": _Sampler("NSGAIISampler", constrained=True),
    "nsga3": _Sampler("NSGAIIISampler", constrained=True),
    "random": _Sampler("RandomSampler"),
}
"""Samplers by name. Grid and brute force are left out because they end a study. Unscrambled QMC would propose the same
configurations for every seed."""


class _BuiltIn(OptunaMethod):
    """A sampler of the package Optuna, with arguments for its constructor."""

    def __init__(self, problem: Problem, rng: Generator, kind: _Sampler, arguments: Mapping[str, object]) -> None:
        super().__init__(problem, rng)
        self._kind, self._arguments = kind, {**kind.always, **arguments}

    def sampler(self, seed: int) -> optuna.samplers.BaseSampler:
        return _constructor(self._kind)(seed=seed, **self._arguments)

    def constrain(self, trial: optuna.Trial, excesses: dict[str, float]) -> None:
        if self._kind.constrained:
            super().constrain(trial, excesses)


def _of_one(problem: Problem, options: Options) -> str:
    if problem.several and options["sampler"] == "cmaes":
        return "serves one objective with sampler=cmaes; sampler=tpe, gp, nsga2 and nsga3 serve several"
    return ""


def _startup(options: Options) -> int:
    has = inspect.signature(_constructor(SAMPLERS[str(options["sampler"])])).parameters
    for name, option in (("n_startup_trials", "initial"), ("population_size", "population")):
        if name in has:
            return int(options[option] or has[name].default or 0)
    return 0


@METHODS.register("optuna")
class Optuna(_BuiltIn):
    """A sampler of Optuna: tpe, gp, cmaes, qmc, nsga2, nsga3 or random.

    The other options are passed to the sampler if it has them, else refused. cmaes, qmc and random ignore constraints;
    cmaes searches spaces of numbers only, and serves one objective.

    Take it for another sampler of Optuna, by `sampler=NAME`, on our benchmarks.

    Beside its source: it is Optuna's own.

    Options:
        sampler: tpe, gp, cmaes, qmc, nsga2, nsga3 or random.
        initial: random configurations at first, if the sampler has `n_startup_trials`; 0 for its default.
        population: members of a generation, if the sampler has `population_size` or `popsize`; 0 for its default.
        multivariate: false for one density per hyper-parameter, if the sampler has `multivariate`; with several
            objectives Optuna's TPE has one per hyper-parameter in any case.
        liar: false to ignore pending evaluations, if the sampler has `constant_liar`.
    """

    about = replace(_BuiltIn.about, initial=_startup, seconds=5e-3)
    needs = replace(_BuiltIn.needs, several=True, unless=_of_one)

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        sampler: str = "tpe",
        initial: int = 0,
        population: int = 0,
        multivariate: bool = True,
        liar: bool = True,
    ) -> None:
        check_choice("sampler of optuna", sampler, SAMPLERS)
        kind = SAMPLERS[sampler]
        require(f"optuna:sampler={sampler}", kind.extra, "optuna", *kind.modules)
        asked = asked_arguments(f"Optuna's {sampler}", _constructor(kind), initial, population, multivariate, liar)
        super().__init__(problem, rng, kind, asked)
        names = [h.name for h in self._flat.hyperparameters if isinstance(h, Categorical)]
        if sampler == "cmaes" and names:
            raise UsageError(f"optuna:sampler=cmaes searches numbers only, and here {names[0]} is categorical")


@METHODS.register("optuna-tpe")
class OptunaTPE(_BuiltIn):
    """Optuna's TPE with its defaults and its handling of constraints (which is not c-TPE).

    Take it for a comparison with the TPE that most people use.

    Beside its source: it is Optuna's own.

    Options:
        initial: random configurations at first, at least 1.
    """

    about = replace(_BuiltIn.about, seconds=2.5e-3)

    def __init__(self, problem: Problem, rng: Generator, *, initial: int = 10) -> None:
        require("optuna-tpe", "peers", "optuna")
        check_least("initial", initial, 1)
        super().__init__(problem, rng, SAMPLERS["tpe"], {"n_startup_trials": initial})


@METHODS.register("cnsga2")
class CNSGA2(_BuiltIn):
    """Constrained NSGA-II (Deb et al., 2002), Optuna's, with the population of the c-TPE paper.

    Take it for a comparison with c-TPE's paper, which has it as a rival.

    Beside its source: it is Optuna's own; the population is the paper's.

    Options:
        population: members of a generation, at least 2.
    """

    about = replace(
        _BuiltIn.about,
        source=(
            "K. Deb, A. Pratap, S. Agarwal and T. Meyarivan. A Fast and Elitist Multiobjective Genetic Algorithm: "
            "NSGA-II. IEEE Transactions on Evolutionary Computation 6(2), 2002."
        ),
        initial=lambda options: int(options["population"]),
        seconds=4e-4,
    )

    def __init__(self, problem: Problem, rng: Generator, *, population: int = 8) -> None:
        require("cnsga2", "peers", "optuna")
        check_least("population", population, 2)
        super().__init__(problem, rng, SAMPLERS["nsga2"], {"population_size": population})


@METHODS.register("nsga2")
class NSGA2(CNSGA2):
    """NSGA-II with constrained domination (Deb et al., 2002), Optuna's, for several objectives.

    Its population is that of `cnsga2`: eight members, as in the c-TPE paper. With one objective it is `cnsga2`.

    Take it for fronts, as the best-known evolutionary baseline.

    Beside its source: it is Optuna's own, with a population of eight.
    """

    needs = replace(CNSGA2.needs, several=True)


@METHODS.register("motpe")
class MOTPE(OptunaTPE):
    """Multi-objective TPE (Ozaki et al., 2020), Optuna's, for several objectives.

    Constraints are handled as in `optuna-tpe`, which it is with one objective.

    Take it for fronts, as the baseline of Bayesian optimisation.

    Beside its source: it is Optuna's own.

    Options:
        initial: random configurations at first, at least 1.
    """

    about = replace(
        OptunaTPE.about,
        source=(
            "Y. Ozaki, Y. Tanigaki, S. Watanabe and M. Onishi. Multiobjective Tree-Structured Parzen Estimator for "
            "Computationally Expensive Optimization Problems. GECCO 2020."
        ),
        seconds=6e-3,
    )
    needs = replace(OptunaTPE.needs, several=True)


@METHODS.register("optuna-gp")
class OptunaGP(_BuiltIn):
    """Optuna's Gaussian process with constrained expected improvement (log EI).

    With several objectives it maximises the expected hypervolume improvement (log EHVI), with constraints.

    Take it for few evaluations of numbers, with constraints or several objectives.

    Beside its source: it is Optuna's own.

    Options:
        initial: random configurations at first, at least 1.
    """

    about = replace(_BuiltIn.about, seconds=0.23)
    needs = replace(_BuiltIn.needs, several=True)

    def __init__(self, problem: Problem, rng: Generator, *, initial: int = 10) -> None:
        require("optuna-gp", "peers,gp", "optuna", "torch")
        check_least("initial", initial, 1)
        super().__init__(problem, rng, SAMPLERS["gp"], {"n_startup_trials": initial})

    @classmethod
    def make_ready(cls) -> None:
        super().make_ready()
        import scipy.optimize
        import scipy.stats  # noqa: F401
        import torch  # noqa: F401


def _constructor(kind: _Sampler) -> Callable[..., optuna.samplers.BaseSampler]:
    import optuna

    constructor: Callable[..., optuna.samplers.BaseSampler] = getattr(optuna.samplers, kind.name)
    return constructor


def asked_arguments(
    who: str, build: Callable[..., Any], initial: int, population: int, multivariate: bool, liar: bool = True
) -> dict[str, object]:
    """The options that differ from their defaults, by their parameter names in the constructor `build`.

    Raises UsageError if the constructor lacks a parameter, or a number is out of range.
    """
    has = inspect.signature(build).parameters
    arguments: dict[str, object] = {}
    for option, value, default, least, names in (
        ("initial", initial, 0, 1, ("n_startup_trials",)),
        ("population", population, 0, 2, ("population_size", "popsize")),
        ("multivariate", multivariate, True, False, ("multivariate",)),
        ("liar", liar, True, False, ("constant_liar",)),
    ):
        if value == default:
            continue
        parameters = [name for name in names if name in has]
        if not parameters:
            raise UsageError(f"{who} has no option {option}: its constructor takes no {' or '.join(names)}")
        check_least(option, value, least)
        arguments[parameters[0]] = value
    return arguments


def suggested(trial: optuna.Trial, h: Hyperparameter) -> Coordinate:
    """Optuna's proposal for a hyper-parameter; ordinals are integers (the index of the level) to Optuna."""
    if isinstance(h, Float):
        return trial.suggest_float(h.name, h.low, h.high, log=h.log)
    if isinstance(h, Integer):
        return trial.suggest_int(h.name, h.low, h.high, log=h.log)
    if isinstance(h, Ordinal):
        return trial.suggest_int(h.name, 0, len(h.values) - 1)
    return trial.suggest_categorical(h.name, tuple(range(len(h.values))))
