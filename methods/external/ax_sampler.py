"""Ax (Bakshy et al., 2018): Gaussian processes with noisy expected improvement, for one objective or several."""

from __future__ import annotations

import logging
import math
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.random import Generator

from nasbench.base.errors import check_least
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.spaces import AsFlat, Configuration, Float, GridSpace, Hyperparameter, Integer, Ordinal
from nasbench.benchmarks.spaces.flat import Coordinate, differ, uniquely_named
from nasbench.methods._pending import Pending
from nasbench.methods.about import About, Needs
from nasbench.methods.contract import METHODS, Method
from nasbench.methods.external.requirements import require
from nasbench.methods.problem import Observation, Problem

if TYPE_CHECKING:
    from ax.api.client import Client


@METHODS.register("ax-nei")
class AxNEI(Method):
    """Ax's service interface: Sobol points, then a GP with (constrained) noisy expected improvement.

    Constraints are Ax's outcome constraints, failed evaluations are failed trials, and pending ones are running trials.
    Ax treats conditional hyper-parameters as always present: the value of an absent one has no effect. A suggestion
    takes seconds. Where it stands for another configuration (of a list of rows the nearest), Ax is told of that one.

    Take it for few and dear evaluations of numbers, with constraints, where seconds of thinking do not matter.

    Beside its source: it is Ax's own.

    Options:
        initial: Sobol points at first, at least 1.
    """

    about = About(
        repeatable=Repeatable.SAME_MACHINE,
        source=(
            "B. Letham, B. Karrer, G. Ottoni and E. Bakshy. Constrained Bayesian Optimization with Noisy "
            "Experiments. Bayesian Analysis 14(2), 2019. Ax: E. Bakshy, L. Dworkin, B. Karrer, K. Kashin, B. "
            "Letham, A. Murthy and S. Singh. AE: A domain-agnostic platform for adaptive experimentation. Workshop "
            "on Systems for ML at NeurIPS 2018."
        ),
        version=2,
        seconds=12.0,
    )
    needs = Needs(views=(AsFlat,))
    label = "ax-nei"
    """The name in messages."""

    def __init__(self, problem: Problem, rng: Generator, *, initial: int = 10) -> None:
        require(self.label, "gp", "ax")
        check_least("initial", initial, 1)
        self._problem, self._rng, self._initial = problem, rng, initial
        self._seed = int(rng.integers(2**31))
        self._flat, self._named = problem.flat, uniquely_named(problem.flat.hyperparameters)
        self._client: Client | None = None
        self._pending = Pending[int]()
        self._proposed: set[Configuration] = set()

    def ask(self) -> Configuration:
        client = self._opened_client()
        from ax.exceptions.core import DataRequiredError, SearchSpaceExhausted

        space = self._problem.space
        try:
            if isinstance(space, GridSpace) and len(self._proposed) == space.size:
                raise SearchSpaceExhausted("Ax would search for minutes")
            ((trial, parameters),) = client.get_next_trials(max_trials=1).items()
            proposed = self._present([_number(parameters[h.name]) for h in self._named])
            configuration = self._flat.at(proposed)
            if differ(proposed, self._flat.coordinates(configuration)):
                client.mark_trial_abandoned(trial)  # not to be proposed again
                trial = self._attached(client, configuration)
        except (DataRequiredError, SearchSpaceExhausted):
            # Ax waits for pending initial trials, or has proposed the whole space: propose a random configuration.
            configuration = self._problem.sample(self._rng)
            trial = self._attached(client, configuration)
        self._pending.add(configuration, trial)
        self._proposed.add(configuration)
        return configuration

    def _attached(self, client: Client, configuration: Configuration) -> int:
        """A trial of a configuration that Ax has not proposed."""
        pairs = zip(self._named, self._flat.coordinates(configuration), strict=True)
        trial: int = client.attach_trial({h.name: _any_value(h) if x is None else _number(x) for h, x in pairs})
        return trial

    def tell(self, observation: Observation) -> None:
        trial = self._pending.answer(observation)
        if observation.evaluation.status != "ok":
            self._opened_client().mark_trial_failed(trial)
            return
        metrics = observation.evaluation.metrics
        data = {f"c{i}": b.counted(metrics[b.metric.name]) for i, b in enumerate(self._problem.constraints)}
        self._opened_client().complete_trial(trial, raw_data=self._goals(observation) | data)

    @property
    def _names(self) -> list[str]:
        """The names in Ax of what is minimised."""
        return ["objective"]

    def _goals(self, observation: Observation) -> dict[str, float]:
        """The values of what is minimised, by their names in Ax."""
        return {"objective": observation.objective}

    def _present(self, proposed: list[float | int]) -> list[Coordinate]:
        """Ax's proposal with None for absent hyper-parameters."""
        kept: list[Coordinate] = []
        for x, condition in zip(proposed, self._flat.conditions, strict=True):
            kept.append(x if condition is None or condition.holds(kept) else None)
        return kept

    @classmethod
    def make_ready(cls) -> None:
        before = logging.root.manager.disable
        logging.disable(logging.INFO)  # Ax logs that it has been imported
        try:
            import ax.api.client  # noqa: F401
        finally:
            logging.disable(before)

    def _opened_client(self) -> Client:
        if self._client is None:
            self.make_ready()
            from ax.api.client import Client

            for module in ("linear_operator", "botorch"):  # jitter at every fit; nothing feasible yet, at every ask
                warnings.filterwarnings("ignore", module=module)
            for name in [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "ax"]:
                logging.getLogger(name).setLevel(logging.ERROR)  # loggers of Ax do not inherit their level
            client = Client(random_seed=self._seed)
            client.configure_experiment(parameters=[_parameter(h) for h in self._named])
            sides = [(i, side) for i, bound in enumerate(self._problem.constraints) for side in bound.sides]
            constraints = [f"c{i} <= {b.high!r}" if b.high < math.inf else f"c{i} >= {b.low!r}" for i, b in sides]
            goals = ", ".join(f"-{goal}" for goal in self._names)
            client.configure_optimization(goals, outcome_constraints=constraints or None)
            client.configure_generation_strategy(
                "fast",
                initialization_budget=self._initial,
                initialization_random_seed=self._seed,
                initialize_with_center=False,
            )
            self._client = client
        return self._client


@METHODS.register("ax-nehvi")
class AxNEHVI(AxNEI):
    """Ax for several objectives: noisy expected hypervolume improvement (Daulton et al., 2021), with constraints.

    Metrics of which ratios count (`Metric.log`) are minimised by their logarithm. Ax infers the reference point.

    Take it for few and dear evaluations with two or three objectives.

    Beside its source: it is Ax's own.
    """

    about = replace(
        AxNEI.about,
        source=(
            "S. Daulton, M. Balandat and E. Bakshy. Parallel Bayesian Optimization of Multiple Noisy Objectives "
            "with Expected Hypervolume Improvement. NeurIPS 2021."
        ),
    )
    needs = replace(AxNEI.needs, several=True)
    label = "ax-nehvi"

    @property
    def _names(self) -> list[str]:
        return [f"objective{k}" for k in range(len(self._problem.objectives))]

    def _goals(self, observation: Observation) -> dict[str, float]:
        return dict(zip(self._names, self._problem.losses(observation), strict=True))


def _number(value: object) -> float | int:
    if isinstance(value, float | int):
        return value
    raise TypeError(f"Ax proposed {value!r}, not a number")


def _any_value(h: Hyperparameter) -> float | int:
    """A value for an absent hyper-parameter."""
    return h.low if isinstance(h, Float | Integer) else 0


def _parameter(h: Hyperparameter) -> Any:
    from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

    if isinstance(h, Float | Integer):
        return RangeParameterConfig(
            name=h.name,
            bounds=(h.low, h.high),
            parameter_type="float" if isinstance(h, Float) else "int",
            scaling="log" if h.log else "linear",
        )
    indices = list(range(len(h.values)))
    return ChoiceParameterConfig(name=h.name, values=indices, parameter_type="int", is_ordered=isinstance(h, Ordinal))
