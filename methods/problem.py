"""What a search method is given, and what it answers: the problem, proposals and observations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.random import Generator

from nasbench.base.errors import UsageError
from nasbench.base.fronts import losses
from nasbench.base.metrics import Metric, Values
from nasbench.benchmarks import abilities
from nasbench.benchmarks.constraints import NO_BOUNDS, Bounds
from nasbench.benchmarks.contract import WHOLE, Benchmark, Evaluation
from nasbench.benchmarks.fidelity import Fidelity, Level
from nasbench.benchmarks.knowledge import Experts, Knowledge
from nasbench.benchmarks.spaces import AsFlat, Configuration, Flat, Space
from nasbench.methods.refusals import Refusals

T = TypeVar("T")


class Budget(NamedTuple):
    """What a run may use: evaluations, seconds on its clock, or both."""

    evals: int | None
    seconds: float | None
    workers: int
    """Evaluations that may be pending at the same time."""


@dataclass(frozen=True)
class Problem:
    """The search problem of a method: the space, the objectives, and the constraints."""

    space: Space
    """The configurations that the method may propose."""
    objectives: tuple[Metric, ...]
    """The metrics to optimise, one to three; an evaluation lists them first. A single one is minimised; among several,
    some may be maximised, and `losses` gives all of them as losses."""
    constraints: Bounds = NO_BOUNDS
    """The bounds that a feasible configuration satisfies; empty if the problem is unconstrained."""
    known: Callable[[str, Configuration], float] | None = None
    """(metric, configuration) → value of a cheap metric (`Metric.cheap`) without an evaluation; None if the benchmark
    has no such metric. Each call adds the metric's `Metric.seconds` to the run's clock."""
    state: Path | None = None
    """A file for this run alone. A method whose asks take minutes may save its progress there and continue from it
    after an interruption. None if the run leaves no files behind."""
    fidelity: Fidelity | None = None
    """The levels up to which a configuration may be trained; None if every evaluation is a full training."""
    told: Mapping[str, Metric] = field(default_factory=dict)
    """The metrics that observations contain, by name, objectives first. Metrics of a test split are absent. By default:
    the metrics of the objectives and the constraints."""
    knowledge: Knowledge | None = None
    """What is known beforehand of other tasks on the same space; None unless the benchmark is a table, and the method
    asks for it (`Needs.knowledge`)."""
    experts: Experts | None = None
    """Simulated experts of the task itself; None unless the benchmark is a table, and the method asks for them
    (`Needs.experts`)."""
    budget: Budget | None = None
    """What the run may use; None outside of a run. Methods of papers do not look at it."""
    refusals: Refusals | None = None
    """What the run refuses to train, which uses none of its budget of evaluations; None if it evaluates everything, as
    on tables."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", Bounds.of(self.constraints))
        if not self.told:
            metrics = (*self.objectives, *(bound.metric for bound in self.constraints))
            object.__setattr__(self, "told", {metric.name: metric for metric in metrics})

    @property
    def objective(self) -> Metric:
        """The metric to minimise, for methods that serve one objective."""
        return self.objectives[0]

    @property
    def several(self) -> bool:
        """Whether there are several objectives."""
        return len(self.objectives) > 1

    def losses(self, observation: Observation) -> Losses:
        """The observed objectives as losses, by which several objectives are compared; infinite unless it is ok.

        Lower is better: the sign of a maximised metric is changed, and a metric on a log scale (`Metric.log`) is given
        by its logarithm.
        """
        if observation.evaluation.status != "ok":
            return (math.inf,) * len(self.objectives)
        metrics = observation.evaluation.metrics
        values = np.array([metrics[objective.name] for objective in self.objectives])
        return tuple(losses(values, [metric.scale for metric in self.objectives]).tolist())

    @property
    def known_bounds(self) -> Bounds:
        """The constraints whose metric is known without an evaluation."""
        return NO_BOUNDS if self.known is None else self.constraints.known

    @property
    def learnt_bounds(self) -> Bounds:
        """The constraints whose metric is known only from an evaluation."""
        return self.constraints if self.known is None else self.constraints.learnt

    def allows(self, configuration: Configuration) -> bool:
        """Whether the configuration satisfies every constraint that is known without an evaluation."""
        known = self.known
        return known is None or all(b.holds(known(b.metric.name, configuration)) for b in self.known_bounds)

    def sample(self, rng: Generator) -> Configuration:
        """A random configuration of the space, one that the run does not refuse if many draws give any."""
        return self.accepted(lambda: self.space.sample(rng))

    def accepted(self, draw: Callable[[], T], of: Callable[[T], Configuration] = lambda drawn: drawn) -> T:
        """The first of many draws that the run does not refuse, or the last of them; one draw if it refuses nothing.

        Args:
            of: the configuration of a draw, where it is something else.
        """
        return draw() if self.refusals is None else self.refusals.first(draw, of)

    def known_violation(self, configuration: Configuration) -> float:
        """The sum of the violations of the constraints that are known without an evaluation."""
        known = self.known
        if known is None:
            return 0.0
        return math.fsum(b.violation(known(b.metric.name, configuration)) for b in self.known_bounds)

    @cached_property
    def flat(self) -> Flat:
        """The flat view of the space, for methods that need `AsFlat`; the same object during the whole run.

        Raises UsageError if the space has no flat view.
        """
        if not isinstance(self.space, AsFlat):
            raise UsageError("this space is no list of hyper-parameters")
        return self.space.as_flat()

    @classmethod
    def of(
        cls,
        benchmark: Benchmark,
        constraints: Bounds = NO_BOUNDS,
        state: Path | None = None,
        objectives: tuple[Metric, ...] = (),
    ) -> Problem:
        """The problem of a benchmark under constraints; the metrics of a test split are left out.

        Args:
            objectives: several metrics of the benchmark; by default its own objective.
        """
        objectives = objectives or (benchmark.objective,)
        told = {metric.name: metric for metric in (*objectives, *benchmark.metrics) if not metric.is_test}

        def known(metric: str, configuration: Configuration) -> float:
            if metric not in told:  # also if a third party's benchmark would answer
                abilities.named(benchmark, metric)
                raise UsageError(f"{metric} of {benchmark.name} is measured on a test split: no method is told it")
            return abilities.known(benchmark, metric, configuration)

        beforehand = Knowledge.of(benchmark, constraints), Experts.of(benchmark, constraints)
        return cls(benchmark.space, objectives, constraints, known, state, benchmark.fidelity, told, *beforehand)


Losses: TypeAlias = tuple[float, ...]
"""One number per objective; lower is better."""

Rank: TypeAlias = tuple[float, float]
"""(sum of the violations of all constraints, objective), compared in this order; smaller is better."""


class Proposal(NamedTuple):
    """A configuration to train up to a level of the fidelity, either from scratch or by continuing a trial."""

    configuration: Configuration
    """The configuration; when a trial is continued, the configuration of that trial."""
    level: Level
    """One of the problem's `fidelity.levels`; when a trial is continued, a higher level than it has reached."""
    continues: int | None = None
    """The trial to continue (`Observation.trial`); only the additional training costs. None starts a new trial."""

    @classmethod
    def of(cls, asked: Configuration | Proposal, highest: Level) -> Proposal:
        """The answer of `ask` as a proposal: a bare configuration is trained up to the highest level."""
        return asked if isinstance(asked, Proposal) else cls(asked, highest)


class Observation(NamedTuple):
    """A proposed configuration with its evaluation."""

    configuration: Configuration
    """The configuration, as `ask` returned it."""
    evaluation: Evaluation
    """The metrics by name, objectives first, and the cost. The metrics are exactly those of `Problem.told` (NaN if
    unknown): a method never sees the metrics of a test split."""
    feasible: bool
    """True if the evaluation is ok and the observed values satisfy every constraint."""
    level: Level = WHOLE
    """The level of the fidelity up to which the configuration was trained; empty if the problem has no fidelity."""
    trial: int = 0
    """Number of the training, from 0: the number of the ask that began it."""

    @property
    def objective(self) -> float:
        """The observed objective, to be minimised; NaN unless the evaluation is ok."""
        metrics = self.evaluation.metrics
        return metrics.row[0] if type(metrics) is Values else next(iter(metrics.values()))

    @property
    def curve(self) -> tuple[float, ...] | None:
        """The learning curve: the objective at each value of the fidelity's first axis, up to `level`.

        None if the benchmark does not record it, if each level is a separate training, or if the evaluation is not ok.
        """
        return self.evaluation.curve

    def rank(self, constraints: Bounds) -> Rank:
        """A key that orders observations by violation (0 if feasible), then by objective; failed ones come last.

        A configuration that was refused before training is ordered by the violations that are known without it.
        """
        evaluation = self.evaluation
        if evaluation.status == "failed":
            return math.inf, math.inf
        metrics = evaluation.metrics
        if evaluation.status == "infeasible":
            known = Bounds(bound for bound in constraints if not math.isnan(metrics[bound.metric.name]))
            return known.violation(metrics) or math.inf, math.inf
        return constraints.violation(metrics), self.objective
