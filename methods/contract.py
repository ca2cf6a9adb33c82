"""The contract of a search method."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeAlias

from numpy.random import Generator

from nasbench.benchmarks import abilities
from nasbench.benchmarks.constraints import Bound
from nasbench.benchmarks.contract import WHOLE, Benchmark, Evaluation
from nasbench.benchmarks.fidelity import Fidelity, Level
from nasbench.benchmarks.metrics import Metric, Values
from nasbench.benchmarks.repeatability import Repeatable
from nasbench.benchmarks.spaces import AsFlat, Block, Configuration, Flat, Space
from nasbench.benchmarks.spaces.blockwise import Blockwise
from nasbench.benchmarks.spaces.errors import UsageError
from nasbench.benchmarks.spaces.registry import Registry
from nasbench.benchmarks.spaces.views import missing


@dataclass(frozen=True)
class Problem:
    """What a method may know: where to search, what to minimise, under which constraints."""

    space: Space
    """The configurations that the method may propose."""
    objectives: tuple[Metric, ...]
    """The metrics to minimise, first among those of an evaluation; today always one."""
    constraints: tuple[Bound, ...] = ()
    """The bounds that a configuration must satisfy to be feasible; empty where there is no constraint."""
    known: Callable[[str, Configuration], float] | None = None
    """(metric, configuration) → value of a cheap metric (`Metric.cheap`), without an evaluation; None where nothing is
    known beforehand. A metric that states `Metric.seconds` is charged them on the run's clock, each time."""
    state: Path | None = None
    """A file that belongs to this run alone. A method whose asks take minutes may keep its progress there, and continue
    from it after an interruption. None where runs leave nothing behind."""
    fidelity: Fidelity | None = None
    """The levels at which a training may be stopped, and watched; None where every evaluation is a whole one."""
    told: Mapping[str, Metric] = field(default_factory=dict)
    """The metrics that a method is told, by name, the objectives first: none that a test split measures. Left out, they
    are those of the objectives and the constraints."""

    def __post_init__(self) -> None:
        if not self.told:
            metrics = (*self.objectives, *(bound.metric for bound in self.constraints))
            object.__setattr__(self, "told", {metric.name: metric for metric in metrics})

    @property
    def objective(self) -> Metric:
        """The metric to minimise, for methods that serve one objective."""
        return self.objectives[0]

    @property
    def known_bounds(self) -> tuple[Bound, ...]:
        """The constraints on metrics that need no evaluation."""
        return () if self.known is None else tuple(bound for bound in self.constraints if bound.metric.cheap)

    @property
    def learnt_bounds(self) -> tuple[Bound, ...]:
        """The other constraints, whose metrics only an evaluation tells."""
        known = self.known_bounds
        return tuple(bound for bound in self.constraints if bound not in known)

    def allows(self, configuration: Configuration) -> bool:
        """Whether all constraints hold that need no evaluation."""
        known = self.known
        return known is None or all(b.holds(known(b.metric.name, configuration)) for b in self.known_bounds)

    def known_violation(self, configuration: Configuration) -> float:
        """The sum of the violations of the constraints that need no evaluation."""
        known = self.known
        if known is None:
            return 0.0
        return math.fsum(b.violation(known(b.metric.name, configuration)) for b in self.known_bounds)

    @cached_property
    def flat(self) -> Flat:
        """The flat view of the space, for methods that need `AsFlat`: one for the whole run.

        Raises UsageError if the space has none.
        """
        if not isinstance(self.space, AsFlat):
            raise UsageError("this space is no list of hyper-parameters")
        return self.space.as_flat()

    @classmethod
    def of(cls, benchmark: Benchmark, constraints: tuple[Bound, ...] = (), state: Path | None = None) -> Problem:
        """The problem that a benchmark under constraints poses: nothing in it tells what a test split measures."""

        told = {metric.name: metric for metric in benchmark.metrics if not metric.held_out}

        def known(metric: str, configuration: Configuration) -> float:
            if metric not in told:  # whatever a third party's benchmark may answer
                abilities.named(benchmark, metric)
                raise UsageError(f"{metric} of {benchmark.name} is measured on a test split: no method is told it")
            return abilities.known(benchmark, metric, configuration)

        return cls(benchmark.space, (benchmark.objective,), constraints, known, state, benchmark.fidelity, told)


Rank: TypeAlias = tuple[float, float]
"""(sum of the violations of all constraints, objective): compared in this order; smaller is better."""


class Proposal(NamedTuple):
    """A configuration to evaluate up to a level of the fidelity, or a training to continue up to it."""

    configuration: Configuration
    """The configuration; that of the trial, where one is continued."""
    level: Level
    """One of the problem's `fidelity.levels`; beyond what the trial has reached, where one is continued."""
    continues: int | None = None
    """Number of the trial to go on with (`Observation.trial`); only what is added is paid. None begins a new one."""

    @classmethod
    def of(cls, asked: Configuration | Proposal, highest: Level) -> Proposal:
        """What a method asked for: a bare configuration is to be trained up to the highest level."""
        return asked if isinstance(asked, Proposal) else cls(asked, highest)


class Observation(NamedTuple):
    """A configuration that was proposed, with its evaluation."""

    configuration: Configuration
    """The configuration, as `ask` returned it."""
    evaluation: Evaluation
    """Its metrics by name, the objectives first, and its cost. It has all metrics in `Problem.told` (NaN for one that
    is not known) and no other: what a test split measures, a method never sees."""
    feasible: bool
    """True if the evaluation is ok and every constraint holds on the observed values."""
    level: Level = WHOLE
    """The level of the fidelity up to which it was trained; the empty one where there is no choice."""
    trial: int = 0
    """Number of the training: that of the ask that began it, from 0."""

    @property
    def objective(self) -> float:
        """The observed objective, to be minimised; NaN unless the evaluation is ok."""
        metrics = self.evaluation.metrics
        return metrics.row[0] if type(metrics) is Values else next(iter(metrics.values()))

    @property
    def curve(self) -> tuple[float, ...] | None:
        """The objective at each value of the fidelity's first axis up to that of `level`, where other axes stay.

        None where the benchmark does not know it, where levels are trainings of their own, and unless the evaluation is
        ok.
        """
        return self.evaluation.curve

    def rank(self, constraints: tuple[Bound, ...]) -> Rank:
        """A key that orders observations by violation (0 if feasible), then by objective; a failed one is worst.

        One that was refused before training is ordered by what was known of its violation.
        """
        evaluation = self.evaluation
        if evaluation.status == "failed":
            return math.inf, math.inf
        values = [(bound, evaluation.metrics[bound.metric.name]) for bound in constraints]
        if evaluation.status == "infeasible":
            known = [bound.violation(value) for bound, value in values if not math.isnan(value)]
            return math.fsum(known) or math.inf, math.inf
        return math.fsum([bound.violation(value) for bound, value in values]), self.objective


class Logged(NamedTuple):
    """A number about a search that a method leaves behind. A field is None where the quantity has no such part."""

    epoch: int
    """The epoch of the search that the number belongs to, from 1."""
    quantity: str
    """What is measured, for example `val_loss`."""
    value: float
    """The number itself, in the unit of the quantity."""
    stage: int | None = None
    """Number of the stage of the network, from 1."""
    edge: str | None = None
    """Edge of the cell, as `source-target`."""
    choice: str | None = None
    """The choice whose probability the value is."""
    step: int | None = None
    """Number of the step inside the epoch, from 1."""


class Method(Blockwise, ABC):
    """A search method: proposes configurations, learns from their evaluations.

    The harness builds one instance per run and then calls `ask` and `tell` from one thread, as follows.

    * With w workers, up to w configurations are pending: `ask` comes before the `tell` of earlier asks, and tells come
      in the order in which evaluations finish, not in the order of asking. Every `tell` answers an earlier `ask`.
    * A failed evaluation is told too, with status "failed" and NaN metrics: the method must go on. One that was refused
      before training has the status "infeasible", and of its metrics those that are known without it.
    * All randomness comes from `rng`, which is the method's own; nothing touches global random state. Same seed, same
      tells: same asks. A run that was killed is resumed by asking again and telling what was recorded.
    * The constructor is cheap (it is also called to check options); the work belongs in `ask`.
    * An exception ends the run, is recorded with its text, and leaves other runs alone.

    Options are the constructor's keyword-only arguments, annotated int, float, bool or str, all with defaults: they are
    what the user writes in `--method name:option=value`. A bad value raises UsageError. The docstring ends with a
    section `Options:`, one `name: meaning` each, which `nasbench show` prints; what a base class says holds, too.
    """

    source: ClassVar[str] = ""
    """The publication that the method comes from: authors, title, venue and year."""

    version: ClassVar[int] = 1
    """Part of a run's identity: raise it when a change makes the method propose differently."""

    tuned_on: ClassVar[tuple[str, ...]] = ()
    """Search spaces (`Benchmark.search_space`) on whose results a default or a rule of this method was chosen; empty
    for defaults of a publication. Reports call verdicts on these spaces in sample."""

    repeatable: ClassVar[Repeatable] = Repeatable.ANY_PROCESSOR
    """The machines on which the same seed proposes the same; `nasbench check` tries it."""

    seconds: ClassVar[float] = 0.0
    """CPU seconds of one ask with its tell, averaged over a run of 200 evaluations, to estimate a suite's cost."""

    initial_option: ClassVar[str] = "initial"
    """Name of the option that says how many configurations are drawn at random before the method uses what it is told:
    a budget that is not larger shows nothing of the method, and users are told so (`initial_phase`)."""

    unpaid: float = 0.0
    """Seconds of work that the last ask took over from an interrupted attempt (`Problem.state`). The harness adds them
    to the run's clock and sets this to 0."""

    needs: ClassVar[tuple[type, ...]] = ()
    """Views of the space that the method calls, as protocols (`AsFlat`, `AsGraph`, …: `spaces.views`). The method fits
    a space that has all of them."""

    needs_fidelity: ClassVar[bool] = False
    """Whether the method chooses how long to train. It then fits benchmarks that state a fidelity."""

    @abstractmethod
    def __init__(self, problem: Problem, rng: Generator) -> None: ...

    @abstractmethod
    def ask(self) -> Configuration | Proposal:
        """The configuration to evaluate next: a member of the problem's space.

        A method that chooses how long to train returns a `Proposal` of it; a bare configuration is trained to the end.
        """

    @abstractmethod
    def tell(self, observation: Observation) -> None:
        """Learns from a finished evaluation of an earlier `ask`."""

    @property
    def beginning(self) -> float:
        """CPU seconds that the first ask is expected to take beyond `seconds`; 0 unless it is a long one."""
        return 0.0

    @property
    def log(self) -> Sequence[Logged]:
        """Numbers about the search, asked for when the run is over and stored with it; empty by default."""
        return ()

    def ask_block(self, n: int) -> Block | None:
        """The next n configurations at once, for methods whose proposals depend on no observation.

        They must equal what n calls of `ask` return; the harness then evaluates them together. None, the default, where
        a method learns. Used only where the class declares `blockwise=True`.
        """
        return None

    @classmethod
    def initial_phase(cls, options: Mapping[str, int | float | bool | str]) -> int:
        """Number of configurations drawn at random before the method uses what it is told; 0 if it has none.

        Args:
            options: every option with its value.
        """
        return int(options.get(cls.initial_option, 0))

    @classmethod
    def make_ready(cls) -> None:
        """Loads and compiles what the method needs.

        Called before a run whose clock is real, or is charged with thinking, so that this time is not on it.
        """

    @classmethod
    def misfit(cls, problem: Problem, options: Mapping[str, int | float | bool | str]) -> str:
        """The reason why this method cannot search here, as the end of the sentence "it …"; empty if it can.

        Args:
            problem: a problem on the benchmark in question.
            options: every option with its value.
        """
        if cls.needs_fidelity and problem.fidelity is None:
            return "chooses how long to train, and that benchmark has one fidelity only"
        names = missing(problem.space, cls.needs)
        return f"needs a {' and a '.join(names)}" if names else ""


def _is_method(item: object) -> bool:
    return isinstance(item, type) and issubclass(item, Method)


METHODS: Registry[type[Method]] = Registry("method", "nasbench.methods", "nasbench.methods", _is_method)
"""Every method by name."""
