"""A benchmark for somebody else's optimiser: configurations are dicts, and a loop of theirs becomes a stored run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from numbers import Integral
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from nasbench.base.errors import UsageError, unprintable
from nasbench.base.numbers import count
from nasbench.benchmarks import Bounds, Metric, abilities, open_benchmark, parse_constraints
from nasbench.benchmarks.spaces import Configuration, Space
from nasbench.cli.engine.evaluations import attempt, is_feasible
from nasbench.cli.engine.keys import check_values, several
from nasbench.cli.engine.loop import opened
from nasbench.cli.engine.plan import Grid, PlannedSetup, Protocol, expand
from nasbench.cli.engine.provenance import provenance
from nasbench.cli.engine.workers import Diverged
from nasbench.cli.outside import words
from nasbench.methods import METHODS, About, Method, MethodSpec, Observation, Problem
from nasbench.results import Store, Trajectory
from nasbench.results.store.journal import Journal, forget

_VALUES = (int, float, bool, str)


class BudgetUsed(Exception):
    """A recorded run has no budget left: the last evaluation was one too many, and does not count."""


class Result(NamedTuple):
    """An evaluation, as somebody else's optimiser needs it."""

    value: float
    """The objective, which is minimised; NaN of a failure."""
    feasible: bool
    """Whether it satisfies the constraints."""
    metrics: dict[str, float]
    """Every metric in its unit, without those of a test split."""
    cost: float
    """Seconds that it took, or that the table says."""
    status: str
    """ok, failed, or infeasible (refused before training)."""

    @classmethod
    def of(cls, observation: Observation) -> Result:
        """What our methods are told, in these words."""
        evaluation = observation.evaluation
        metrics = dict(evaluation.metrics)
        return cls(observation.objective, observation.feasible, metrics, evaluation.cost, evaluation.status)


class OutsideTask:
    """A benchmark under constraints, for an optimiser that is not ours.

    Args:
        benchmark: its name, as `nasbench list` prints it.
        constraints: inequalities that hold together (`"model_size@0.1"`, or several), or `"none"`.

    Raises UsageError for an unknown benchmark, or for a constraint that it cannot have.
    """

    def __init__(self, benchmark: str, constraints: str | Sequence[str] = "none") -> None:
        self._benchmark = open_benchmark(benchmark)
        self._limits = parse_constraints(several(constraints))
        self.constraints: Bounds = abilities.bounds(self._benchmark, self._limits)
        """The constraints as limits on metrics."""
        abilities.make_ready(self._benchmark)

    @property
    def space(self) -> Space:
        """What can be chosen."""
        return self._benchmark.space

    @property
    def objective(self) -> Metric:
        """What is minimised."""
        return self._benchmark.objective

    def __str__(self) -> str:
        bounds = f", subject to {' and '.join(map(str, self.constraints))}" if self.constraints else ""
        unit = f" ({self.objective.unit})" if self.objective.unit else ""
        return f"{self._benchmark.name}: minimise {self.objective.name}{unit}{bounds}"

    def evaluate(self, configuration: Mapping[str, Any], seed: int = 0) -> Result:
        """Evaluates a configuration, outside of any run.

        Args:
            configuration: name → value; values of hyper-parameters that it does not have by its conditions are ignored.
            seed: decides everything random, such as the repetition that a table answers.

        Raises UsageError, with the allowed values, for what is no member of the space.
        """
        return Result.of(self.observed(self.read(configuration), seed))

    def observed(self, configuration: Configuration, seed: int = 0) -> Observation:
        """What our methods would be told of a configuration of the space."""
        evaluation = attempt(self._benchmark, configuration, seed)
        told = evaluation._replace(metrics={name: evaluation.metrics[name] for name in self.problem.told})
        return Observation(configuration, told, is_feasible(told, self.constraints), self._benchmark.highest)

    @cached_property
    def problem(self) -> Problem:
        """The problem as our methods see it; metrics of a test split are absent."""
        return Problem.of(self._benchmark, self.constraints)

    def read(self, configuration: Mapping[str, Any]) -> Configuration:
        """The configuration of the space with these values. Raises UsageError for what is no member of it."""
        return self.space.from_values(words.as_ours(self.space, configuration))

    def to_configspace(self) -> Any:
        """The space as ConfigSpace's `ConfigurationSpace` (the package must be installed)."""
        return words.to_configspace(self.space)

    def to_optuna(self) -> dict[str, Any]:
        """Name → Optuna's distribution, as `trial.suggest_…` and `create_trial` take them."""
        return words.to_optuna(self.space)

    def to_syne_tune(self) -> dict[str, Any]:
        """Name → Syne Tune's domain."""
        return words.to_syne_tune(self.space)

    def record(
        self,
        name: str,
        *,
        seed: int,
        store: str | Path,
        evals: int | None = None,
        seconds: float | None = None,
        version: int = 1,
        options: Mapping[str, int | float | bool | str] | None = None,
    ) -> Recording:
        """Records the loop of an optimiser as a run of a store, on one worker.

        Args:
            name: what reports call the optimiser; not the name of a method of ours.
            seed: of the run: it decides which repetitions a table answers, as for our methods.
            store: folder of the store, made if absent.
            evals: budget in evaluations; 200 if neither budget is given.
            seconds: budget in seconds on the run's clock.
            version: raise it when the optimiser changes: runs of two versions are not compared.
            options: its options; they identify the run.

        Raises UsageError for a name that is taken, or for options that are no numbers or texts.
        """
        check_values({"evals": evals, "budget_seconds": seconds})
        if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
            raise UsageError(f"seed must be a whole number from 0, not {seed!r}")
        evals = 200 if evals is None and seconds is None else evals
        planned = self._planned(name, Protocol(evals, seconds), version, dict(options or {}))
        return Recording(self, planned, int(seed), Store.create(Path(store)))

    def _planned(self, name: str, protocol: Protocol, version: int, options: dict[str, Any]) -> PlannedSetup:
        if not name.strip() or unprintable(name):
            raise UsageError(f"{name!r} is no name of an optimiser: one line of printable text")
        if name in METHODS.names():
            raise UsageError(f"{name} is a method of nasbench: give your optimiser another name")
        if odd := [option for option, value in options.items() if type(value) not in _VALUES]:
            raise UsageError(f"{odd[0]} of {name} is {options[odd[0]]!r}: options are numbers, booleans or texts")
        if type(version) is not int or version < 1:
            raise UsageError(f"version of {name} must be a whole number from 1, not {version!r}")

        class Named(Proposed):
            about = About(version=version)

        with METHODS.temporarily(name, Named):
            grid = Grid((MethodSpec(name),), (self._benchmark.name,), (self._limits,), (0,), protocol)
            (planned,) = expand([grid])
        said = ",".join(f"{option}={value}" for option, value in sorted(options.items()))
        title = f"{name}:{said}" if said else name
        setup = replace(planned.setup, method=title, parameters=tuple(sorted(options.items())))
        return replace(planned, setup=setup)


class Proposed(Method):
    """What a loop of the user's proposes, as a method: it asks for what it is given, and keeps what it is told."""

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self.next: Configuration = None
        self.told: Observation | None = None

    def ask(self) -> Configuration:
        return self.next

    def tell(self, observation: Observation) -> None:
        self.told = observation


class Recording:
    """A run that the user's loop drives, one evaluation at a time; it is stored when its `with` block ends.

    It has what every run has: the budget, the simulated clock of a table, a repetition that is hidden from it, and on a
    live benchmark a journal, by which a loop that proposes the same again goes on where an earlier one was cut off. A
    block that ends before its budget is stored as a run that failed, which a later one replaces; one that an exception
    ends is not stored.
    """

    def __init__(self, task: OutsideTask, planned: PlannedSetup, seed: int, store: Store) -> None:
        self._task, self._setup, self._seed, self._store = task, planned.setup, seed, store
        record = store.record(self._setup, seed)
        if record is not None and not record.failure:
            raise UsageError(
                f"{store.folder} has {self._setup.title}, seed {seed}, already: leave that seed out, raise version= of "
                "an optimiser that has changed, or give another store"
            )
        self._replaces = record is not None
        self._stuck = ""
        """Why it cannot go on, if its journal holds other proposals."""
        identity = self._setup.run_id(seed)
        self._path = store.journals / f"{identity}.jsonl"
        self._journal = Journal(self._path, identity) if planned.live else None
        benchmark = open_benchmark(self._setup.bench)
        self._search, rng = opened(self._setup, seed, benchmark, planned.bounds, self._journal)
        self.problem = self._search.with_refusals(Problem.of(benchmark, planned.bounds))
        """The problem with its budget, as our methods see it."""
        self._proposed = Proposed(self.problem, rng)
        self._began = datetime.now(UTC)

    def __enter__(self) -> Recording:
        return self

    @property
    def open(self) -> bool:
        """Whether there is budget left."""
        return self._search.is_open

    @property
    def seconds(self) -> float:
        """Seconds on the run's clock."""
        return self._search.clock.now()

    def evaluate(self, configuration: Mapping[str, Any]) -> Result:
        """Evaluates a configuration at the expense of the budget.

        Raises BudgetUsed if there is none left; UsageError, at no expense, for what is no member of the space.
        """
        return Result.of(self.observed(self._task.read(configuration)))

    def observed(self, configuration: Configuration) -> Observation:
        """As `evaluate`, of a configuration of the space."""
        if self._stuck:
            raise UsageError(self._stuck)
        self._proposed.next = configuration
        try:
            is_there = self.open and self._search.advance(self._proposed)
        except Diverged as error:
            assert self._journal is not None
            title = f"{self._setup.title}, seed {self._seed}"
            self._stuck = f"{title}, cannot go on: {error}; {self._journal.advice}"
            raise UsageError(self._stuck) from None
        if not is_there:
            raise BudgetUsed(f"the budget of {self._setup.title}, seed {self._seed}, is used up")
        assert self._proposed.told is not None
        return self._proposed.told

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        is_over = kind is None or issubclass(kind, BudgetUsed)
        failure = self._search.unfinished
        if self.open:
            failure = f"its loop ended after {count(len(self._search.done), 'evaluation')}, before its budget"
        columns = self._search.ended(failure)
        if self._journal is not None:
            self._journal.close()
        if is_over:
            ended, facts = datetime.now(UTC), provenance() | {"repeatable": "machines that have its code"}
            began, over = (time.isoformat(timespec="milliseconds") for time in (self._began, ended))
            if self._replaces:
                self._store.forget(self._setup, {self._seed})
            self._store.commit(self._setup, [Trajectory(self._seed, columns, failure, began, over)], facts)
            if self._journal is not None and not failure:
                forget(self._path)
        return is_over
