"""Computes one run: ask, evaluate, tell, until the budget is used up."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from operator import index
from time import monotonic, perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasbench.base.foreign import end_copies, guarded, pass_on_noted
from nasbench.base.metrics import Values, as_number
from nasbench.benchmarks import Benchmark, Evaluation, Level, Metric, abilities
from nasbench.benchmarks.constraints import NO_BOUNDS, Bound, Bounds
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.engine._calls import MethodFailed, built, failed, logged
from nasbench.cli.engine._clock import Clock
from nasbench.cli.engine.columns import Done, columns_of, with_end
from nasbench.cli.engine.evaluations import refusals, refused, refusing, row_of, with_objectives
from nasbench.cli.engine.hidden_repetition import HiddenRepetition, hides_one
from nasbench.cli.engine.watch import asking
from nasbench.cli.engine.workers import (
    EvaluationSeeds,
    Finished,
    LiveWorkers,
    PendingEvaluation,
    SimulatedWorkers,
    Workers,
)
from nasbench.methods import Logged, LongSearch, Method, MethodSpec, Observation, Problem, Proposal
from nasbench.methods.problem import Budget
from nasbench.results import Row, Setup, Trajectory
from nasbench.results.store.journal import Journal
from nasbench.results.store.trajectory import to_columns

MAX_EVALUATIONS = 200_000
"""Largest number of evaluations of one run: a budget in seconds alone would otherwise not bound it."""
MOST_REFUSALS = 100
"""Refused proposals in a row, per evaluation of the budget, that end a run."""


def run(
    setup: Setup,
    seed: int,
    spec: MethodSpec,
    benchmark: Benchmark,
    bounds: Sequence[Bound],
    journal: Journal | None = None,
) -> Trajectory:
    """Computes one run of a setup.

    The method and the benchmark draw from separate streams (`_streams`); so the trajectory is a function of
    (setup, seed), wherever and in whatever company it is computed.

    Args:
        journal: the journal of a run on a live benchmark; evaluations that it holds are told again instead of computed.

    Raises Diverged if the method does not propose again what the journal holds.
    """
    began, start = datetime.now(UTC), monotonic()
    bounds = Bounds.of(bounds)
    with guarded():
        columns, failure, log = _searched(setup, seed, spec, benchmark, bounds, journal)
    pass_on_noted()
    ended = began + timedelta(seconds=monotonic() - start)  # the clock of the machine may be set meanwhile
    return Trajectory(seed, columns, failure, _text(began), _text(ended), log)


def died(setup: Setup, seed: int, reason: str, rows: Sequence[Row] = ()) -> Trajectory:
    """The trajectory of a run whose process died: the evaluations that are known, and a failed row with the reason."""
    now = _text(datetime.now(UTC))
    if setup.objectives:  # a journal has the best of the first one there, and shares of a hypervolume are not known
        rows = [row._replace(incumbent=math.nan) for row in rows]
    columns = to_columns(list(rows), len(setup.metrics))
    return Trajectory(
        seed, with_end(columns, max((row.finished for row in rows), default=0.0), reason), reason, now, now
    )


def _streams(setup: Setup, seed: int) -> tuple[np.random.Generator, EvaluationSeeds]:
    """New random streams of a run, one for the method and one for the benchmark.

    They derive from the seed, the benchmark, the constraint and the objectives, if there are several: methods are
    paired inside a setting, and settings are independent of each other. (From the seed alone, settings would repeat
    each other's proposals, and tests over settings would find differences between identical methods in a third of all
    reports.)
    """
    facts = [setup.bench, setup.constraint, *setup.objectives]
    setting = hashlib.sha256(json.dumps(facts).encode()).digest()
    method, benchmark = np.random.SeedSequence((seed, int.from_bytes(setting[:16], "little"))).spawn(2)
    return np.random.default_rng(method), EvaluationSeeds(benchmark)


def _searched(
    setup: Setup,
    seed: int,
    spec: MethodSpec,
    benchmark: Benchmark,
    bounds: Bounds,
    journal: Journal | None,
) -> tuple[dict[str, NDArray[Any]], str, tuple[Logged, ...]]:
    """The columns of a run, why it failed (empty if it did not), and what its method logged."""
    search, rng = opened(setup, seed, benchmark, bounds, journal)
    failure = ""
    log: tuple[Logged, ...] = ()
    try:
        state = None if journal is None else journal.state("method")
        begin = perf_counter()
        problem = search.with_refusals(Problem.of(benchmark, bounds, state, search.objectives))
        method = built(spec, problem, rng, benchmark)
        if setup.charge_thinking and journal is None:  # on the wall clock it is already
            search.clock.owe(perf_counter() - begin)
        try:
            search.loop(method)
        except (MethodFailed, _EndsEarly) as error:
            failure = str(error)
        log = logged(method)
    except MethodFailed as error:
        failure = failure or str(error)
    return search.ended(failure), failure, log


def opened(
    setup: Setup, seed: int, benchmark: Benchmark, bounds: Bounds, journal: Journal | None
) -> tuple[RunLoop, np.random.Generator]:
    """A run before its first evaluation, and the random stream of its method."""
    rng, seeds = _streams(setup, seed)
    objectives = abilities.objectives(benchmark, setup.objectives)
    hidden = (
        HiddenRepetition(benchmark, bounds, seeds.hidden) if hides_one(benchmark) and not setup.objectives else None
    )
    workers = SimulatedWorkers(benchmark) if journal is None else LiveWorkers(benchmark, journal, bounds, objectives)
    return RunLoop(setup, benchmark, bounds, objectives, workers, seeds, hidden), rng


class _EndsEarly(Exception):
    """Raised when a run proposes as much as it may, and its budget is not used up."""


class _Trial(NamedTuple):
    """A training that may be continued."""

    configuration: Configuration
    level: Level
    """The level that it has reached."""
    paid: float
    """Seconds that it has cost."""
    seed: int


class _Budget:
    """The rest of a run's budget."""

    def __init__(self, setup: Setup, whole: int) -> None:
        self.left = math.inf if setup.evals is None else setup.evals * whole
        """Work (`Level.work`) that may still be given to workers."""
        self.seconds = math.inf if setup.seconds is None else setup.seconds
        self.asked = 0
        self.refusals = 0
        """Refusals in a row."""
        self._patience = MOST_REFUSALS * (setup.evals or MAX_EVALUATIONS)

    def lasts(self, now: float) -> bool:
        """Whether something is left of it."""
        return self.left > 0 and now < self.seconds

    @property
    def is_patient(self) -> bool:
        """Whether one more proposal is allowed."""
        return self.asked < MAX_EVALUATIONS and self.refusals < self._patience

    def takes(self, work: int) -> bool:
        """Takes work from what is left; False if that is not enough, and then nothing shorter is looked for."""
        if work > self.left:
            self.left = 0
            return False
        self.left -= work
        return True


class RunLoop:
    """The event loop of a run: it keeps what cannot be derived from table and record (`columns_of`)."""

    def __init__(
        self,
        setup: Setup,
        benchmark: Benchmark,
        bounds: Bounds,
        objectives: tuple[Metric, ...],
        workers: Workers,
        seeds: EvaluationSeeds,
        hidden: HiddenRepetition | None,
    ) -> None:
        self.done: list[Done] = []
        self.clock = Clock(workers, setup.charge_thinking)
        self._budget = _Budget(setup, benchmark.highest.work)
        self._stated = Budget(setup.evals, setup.seconds, setup.workers)
        self._benchmark, self._workers, self._seeds, self._hidden = benchmark, workers, seeds, hidden
        self.objectives, self._highest = objectives, benchmark.highest
        self._bounds = bounds
        self._limits = [(bound, benchmark.places[bound.metric.name]) for bound in bounds]
        self._refused_by = NO_BOUNDS if setup.train_infeasible else refusing(benchmark, bounds)
        self._free = list(range(setup.workers))
        self._trials: dict[int, _Trial] = {}
        self._told: dict[str, int] = {}
        self._places: list[int] = []
        self._tells_all = False

    def with_refusals(self, problem: Problem) -> Problem:
        """The problem of this run: what its method may use, is told of an evaluation, and pays for what it asks."""
        problem = replace(problem, budget=self._stated, refusals=refusals(self._benchmark, self._refused_by))
        known = problem.known
        self._told = {name: place for place, name in enumerate(problem.told)}
        self._places = [self._benchmark.places[name] for name in problem.told]
        self._tells_all = list(self._told) == list(self._benchmark.places)
        prices = {name: metric.seconds for name, metric in problem.told.items() if metric.seconds}
        if known is None or self._benchmark.live or not prices:  # on the wall clock it takes its time
            return problem

        def paid(metric: str, configuration: Configuration) -> float:
            self.clock.owe(prices.get(metric, 0.0))
            return known(metric, configuration)

        return replace(problem, known=paid)

    @property
    def is_open(self) -> bool:
        """Whether something is left of the budget, and one more proposal is allowed."""
        return self._budget.lasts(self.clock.now()) and self._budget.is_patient

    @property
    def unfinished(self) -> str:
        """Why a run that takes no more proposals has something left of its budget; empty if it has nothing left."""
        budget = self._budget
        if not budget.lasts(self.clock.now()) or budget.is_patient:
            return ""
        if budget.asked == MAX_EVALUATIONS:
            return f"{MAX_EVALUATIONS} evaluations did not use up the budget"
        return f"the last {budget.refusals:,} proposals were all refused, {self.done[-1].evaluation.reason}"

    def advance(self, method: Method) -> bool:
        """Asks once, waits, and tells once: a run on one worker, step by step; False if the budget ended meanwhile."""
        self._ask(method)
        finished = self._workers.next()
        if finished is None or finished.finished > self._budget.seconds:
            self._budget.left = 0
            return False
        self._free.append(finished.pending.worker)
        self._tell(method, finished)
        return True

    def ended(self, failure: str) -> dict[str, NDArray[Any]]:
        """The columns of the run, which is over; with a row that says why it failed, if it did."""
        self._workers.close()
        columns = columns_of(self.done, self._benchmark, self._bounds, self.objectives, self._hidden)
        return with_end(columns, self.clock.now(), failure) if failure else columns

    def loop(self, method: Method) -> None:
        """Asks and tells until the budget is used up. Raises MethodFailed, or _EndsEarly before that."""
        budget, clock = self._budget, self.clock
        while True:
            while self._free and budget.lasts(clock.now()) and budget.is_patient:
                self._ask(method)
            finished = self._workers.next()
            if finished is None or finished.finished > budget.seconds:
                break  # what is still running when the seconds are over does not count
            self._free.append(finished.pending.worker)
            self._tell(method, finished)
        if why := self.unfinished:
            raise _EndsEarly(why)

    def _ask(self, method: Method) -> None:
        begin = perf_counter()
        try:
            with asking(self._budget.asked):
                asked = method.ask()
            end_copies()
            configuration, level, number, before = self._read(asked)
            self._benchmark.space.check(configuration)
        except BaseException as error:
            raise failed("ask", error, type(method), begin, self._benchmark) from error
        finally:
            thinking = perf_counter() - begin + self._unpaid(method, begin)
        self.clock.charge(thinking)
        now = self.clock.now()
        if now >= self._budget.seconds:
            return  # the thought has used up what was left
        since, paid = (None, 0.0) if before is None else (before.level, before.paid)
        is_new = before is None and self._refused_by
        refusal = refused(self._benchmark, configuration, self._refused_by) if is_new else None
        self._budget.refusals = 0 if refusal is None else self._budget.refusals + 1
        added = level.work - (0 if since is None else since.work) if refusal is None else 0
        if not self._budget.takes(added):
            return
        seed = self._seed(configuration, number) if before is None else before.seed
        asks, worker = self._budget.asked, self._free.pop(0)
        self._budget.asked += 1
        self._workers.start(
            PendingEvaluation(
                asks, worker, configuration, now, thinking, number, level, seed, since, paid, refusal, added
            )
        )

    def _unpaid(self, method: Method, begin: float) -> float:
        """Seconds of a long search that are not yet paid, and are now. Raises MethodFailed if they are no number."""
        if not isinstance(method, LongSearch):
            return 0.0
        try:
            unpaid = as_number("unpaid", method.unpaid)
        except ValueError as error:
            raise failed("ask", error, type(method), begin) from error
        self._workers.pay(unpaid)
        method.unpaid = 0.0
        return unpaid

    def _seed(self, configuration: Configuration, number: int) -> int:
        """The seed of a new training: that of its number, or one that draws no hidden repetition."""
        seed = self._seeds[number]
        return seed if self._hidden is None else self._hidden.draw(configuration, seed)

    def _read(self, asked: Configuration | Proposal) -> tuple[Configuration, Level, int, _Trial | None]:
        """What is asked for: configuration, level, number of the training, and the training that it continues.

        Raises ValueError or TypeError if that cannot be.
        """
        if not isinstance(asked, Proposal):  # to be trained to the end
            return asked, self._highest, self._budget.asked, None
        configuration, level, fidelity = asked.configuration, asked.level, self._benchmark.fidelity
        if level != self._highest and (fidelity is None or level not in fidelity):
            raise ValueError(f"there is no level {level}; allowed: {fidelity or 'the whole evaluation'}")
        if asked.continues is None:
            return configuration, level, self._budget.asked, None
        number = index(asked.continues)
        trial = self._trials.pop(number, None)
        if trial is None:
            raise ValueError(f"trial {number} cannot be continued: it is at work, has failed, or has ended")
        if configuration != trial.configuration or fidelity is None or not fidelity.continues(trial.level, level):
            raise ValueError(f"trial {number} is of another configuration, or cannot go on up to that level")
        return configuration, level, number, trial

    def _tell(self, method: Method, finished: Finished) -> None:
        pending, evaluation, started, ended = finished
        if pending.level == self._highest:
            evaluation = with_objectives(self._benchmark, evaluation, self.objectives)
        row = row_of(evaluation)
        feasible = evaluation.status == "ok" and self._satisfies(row)
        self._keep_trial(pending, evaluation)
        failure = None
        begin = perf_counter()
        try:
            with asking(self._budget.asked - 1):
                told = evaluation if self._tells_all else self._without_others(evaluation, row)
                method.tell(Observation(pending.configuration, told, feasible, pending.level, pending.trial))
        except BaseException as error:
            failure = failed("tell", error, type(method), begin, self._benchmark)
        thinking = perf_counter() - begin
        self.clock.charge(thinking)
        self.done.append(Done(pending, evaluation, started, ended, pending.thinking + thinking))
        if failure is not None:
            raise failure

    def _without_others(self, evaluation: Evaluation, row: tuple[float, ...]) -> Evaluation:
        """The evaluation as the method is told of it: metrics of a test split are absent."""
        return evaluation._replace(metrics=Values(self._told, tuple([row[place] for place in self._places])))

    def _keep_trial(self, pending: PendingEvaluation, evaluation: Evaluation) -> None:
        """Keeps a training that may be continued."""
        fidelity = self._benchmark.fidelity
        if fidelity is not None and evaluation.status == "ok" and fidelity.may_continue(pending.level):
            paid = pending.paid + evaluation.cost
            self._trials[pending.trial] = _Trial(pending.configuration, pending.level, paid, pending.seed)

    def _satisfies(self, row: tuple[float, ...]) -> bool:
        """Whether values, in the order of the benchmark's metrics, satisfy the constraints."""
        for bound, place in self._limits:  # noqa: SIM110 (a generator costs as much as everything else here)
            if not bound.holds(row[place]):
                return False
        return True


def _text(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds")
