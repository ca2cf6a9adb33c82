"""Any of Optuna's samplers by name: `optuna:sampler=nsga3,population=20`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.random import Generator

from nasbench.benchmarks.spaces import Categorical
from nasbench.benchmarks.spaces.errors import UsageError, unknown
from nasbench.methods.base import METHODS, Problem
from nasbench.methods.external.optuna_samplers import OptunaMethod
from nasbench.methods.external.requirements import require

if TYPE_CHECKING:
    import optuna


@dataclass(frozen=True)
class _Sampler:
    """What is needed to build one of Optuna's samplers."""

    name: str
    """Its class in `optuna.samplers`."""
    always: Mapping[str, object] = field(default_factory=dict)
    """Arguments that it always gets."""
    modules: tuple[str, ...] = ()
    """What must be installed beside Optuna."""
    extra: str = "optuna"
    """The extras that install it all."""
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
"""Samplers by name. Grid and brute force are missing: they end a study, which has no meaning here. Unscrambled, QMC
would propose the same under every seed."""


@METHODS.register("optuna")
class Optuna(OptunaMethod):
    """A sampler of Optuna's own: tpe, gp, cmaes, qmc, nsga2, nsga3 or random.

    The other options are passed on to a sampler that has them, and refused with one that does not. cmaes, qmc and
    random know of no constraints; cmaes searches spaces of numbers only.

    Options:
        sampler: tpe, gp, cmaes, qmc, nsga2, nsga3 or random.
        initial: random configurations at first, where the sampler has `n_startup_trials`; 0 for its own default.
        population: members of a generation, where the sampler has `population_size` or `popsize`; 0 for its own
            default.
        multivariate: false for one density per hyper-parameter, where the sampler has `multivariate`.
    """

    seconds = 5e-3

    def __init__(
        self,
        problem: Problem,
        rng: Generator,
        *,
        sampler: str = "tpe",
        initial: int = 0,
        population: int = 0,
        multivariate: bool = True,
    ) -> None:
        if sampler not in SAMPLERS:
            raise unknown("sampler of optuna", sampler, SAMPLERS)
        self._kind = SAMPLERS[sampler]
        require(f"optuna:sampler={sampler}", self._kind.extra, "optuna", *self._kind.modules)
        super().__init__(problem, rng)
        self._arguments = dict(self._kind.always) | asked_arguments(
            f"Optuna's {sampler}", constructor(self._kind.name), initial, population, multivariate
        )
        names = [h.name for h in self._flat.hyperparameters if isinstance(h, Categorical)]
        if sampler == "cmaes" and names:
            raise UsageError(f"optuna:sampler=cmaes searches numbers only, and here {names[0]} is categorical")

    @classmethod
    def initial_phase(cls, options: Mapping[str, int | float | bool | str]) -> int:
        has = inspect.signature(constructor(SAMPLERS[str(options["sampler"])].name)).parameters
        for name, option in (("n_startup_trials", "initial"), ("population_size", "population")):
            if name in has:
                return int(options[option] or has[name].default or 0)
        return 0

    def sampler(self, seed: int) -> optuna.samplers.BaseSampler:
        return constructor(self._kind.name)(seed=seed, **self._arguments)

    def constrain(self, trial: optuna.Trial, excesses: dict[str, float]) -> None:
        if self._kind.constrained:
            super().constrain(trial, excesses)


def constructor(name: str) -> Callable[..., optuna.samplers.BaseSampler]:
    """The class of this name in `optuna.samplers`."""
    import optuna

    found: Callable[..., optuna.samplers.BaseSampler] = getattr(optuna.samplers, name)
    return found


def asked_arguments(
    who: str, build: Callable[..., Any], initial: int, population: int, multivariate: bool
) -> dict[str, object]:
    """The options that differ from their defaults, by the names that the constructor `build` has for them.

    Raises UsageError if it does not have one, or a number is out of range.
    """
    has = inspect.signature(build).parameters
    found: dict[str, object] = {}
    for option, value, default, least, names in (
        ("initial", initial, 0, 1, ("n_startup_trials",)),
        ("population", population, 0, 2, ("population_size", "popsize")),
        ("multivariate", multivariate, True, False, ("multivariate",)),
    ):
        if value == default:
            continue
        theirs = [name for name in names if name in has]
        if not theirs:
            raise UsageError(f"{who} has no option {option}: its constructor takes no {' or '.join(names)}")
        if value < least:
            raise UsageError(f"{option} must be at least {least}, not {value}")
        found[theirs[0]] = value
    return found
