"""Computes one run: ask, evaluate, tell, until the budget is used up."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from operator import index, itemgetter
from time import monotonic, perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasbench.base.foreign import cleaned, ends_nothing, pass_on_noted
from nasbench.base.metrics import Values
from nasbench.benchmarks import Benchmark, Bound, Evaluation, Level, Metric, abilities
from nasbench.benchmarks.abilities import KnowsMeans
from nasbench.benchmarks.spaces import Configuration
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.cli.engine.block import run_block
from nasbench.cli.engine.calls import MethodFailed, built, failed, logged
from nasbench.cli.engine.evaluations import refusals, refused, refusing, row_of, with_objectives
from nasbench.cli.engine.held_back import UNKNOWN, HeldBack
from nasbench.cli.engine.shares import with_shares
from nasbench.cli.engine.watch import asking
from nasbench.cli.engine.workers import (
    EvaluationSeeds,
    Finished,
    LiveWorkers,
    Pending,
    SimulatedWorkers,
    Workers,
)
from nasbench.methods import Logged, Method, MethodSpec, Observation, Problem, Proposal
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
    bounds: tuple[Bound, ...],
    journal: Journal | None = None,
) -> Trajectory:
    """Computes one run of a setup.

    The method and the benchmark draw from separate streams (`_streams`); so the trajectory is a function of
    (setup, seed), wherever and in whatever company it is computed.

    Args:
        journal: the journal of a run on a live benchmark; evaluations that it holds are told again instead of computed.

    Raises Diverged if the method does not propose again what the journal holds.
    """
    began, start, columns, failure = datetime.now(UTC), monotonic(), None, ""
    log: tuple[Logged, ...] = ()
    with cleaned(), ends_nothing():
        if isinstance(benchmark, TabularBenchmark):
            columns = run_block(setup, spec, benchmark, bounds, *_streams(setup, seed))
        if columns is None:
            columns, failure, log = _run_loop(setup, spec, benchmark, bounds, journal, *_streams(setup, seed))
    pass_on_noted()
    ended = began + timedelta(seconds=monotonic() - start)  # the clock of the machine may be set meanwhile
    return Trajectory(seed, columns, failure, _text(began), _text(ended), log)


def died(setup: Setup, seed: int, reason: str, rows: Sequence[Row] = ()) -> Trajectory:
    """The trajectory of a run whose process died: the evaluations that are known, and a failed row with the reason."""
    now, metrics = _text(datetime.now(UTC)), len(setup.metrics)
    if setup.objectives:  # a journal has the best of the first one there, and shares of a hypervolume are not known
        rows = [row._replace(incumbent=math.nan) for row in rows]
    closing = _closing(rows, max((row.finished for row in rows), default=0.0), reason, metrics)
    return Trajectory(seed, to_columns([*rows, closing], metrics), reason, now, now)


def _closing(rows: Sequence[Row], clock: float, failure: str, metrics: int) -> Row:
    """The row that ends a failed run."""
    nan = math.nan
    closing = Row(len(rows) + 1, 0, None, nan, False, nan, clock, clock, 0.0, "failed", failure, (nan,) * metrics)
    last = rows[-1] if rows else closing
    return closing._replace(incumbent=last.incumbent, unseen=last.unseen, unseen_feasible=last.unseen_feasible)


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


def _run_loop(
    setup: Setup,
    spec: MethodSpec,
    benchmark: Benchmark,
    bounds: tuple[Bound, ...],
    journal: Journal | None,
    rng: np.random.Generator,
    seeds: EvaluationSeeds,
) -> tuple[dict[str, NDArray[Any]], str, tuple[Logged, ...]]:
    """The columns of a run, why it failed (empty if it did not), and what its method logged."""
    workers: Workers
    objectives = abilities.objectives(benchmark, setup.objectives)
    workers = SimulatedWorkers(benchmark) if journal is None else LiveWorkers(benchmark, journal, bounds, objectives)
    search = _Search(setup, benchmark, bounds, objectives, workers, seeds)
    failure = ""
    log: tuple[Logged, ...] = ()
    try:
        state = None if journal is None else journal.state("method")
        begin = perf_counter()
        method = built(spec, search.posed(Problem.of(benchmark, bounds, state, objectives)), rng)
        if setup.charge_thinking and journal is None:  # on the wall clock it is already
            search.charge(perf_counter() - begin)
        try:
            search.loop(method)
        except (MethodFailed, _EndsEarly) as error:
            failure = str(error)
        log = logged(method)
    except MethodFailed as error:
        failure = failure or str(error)
    if failure:
        search.close(failure)
    workers.close()
    columns = to_columns(search.rows, len(benchmark.metrics))
    if len(objectives) > 1:
        means = np.array(search.means).reshape(len(search.means), len(benchmark.metrics))  # there may be none
        columns = with_shares(columns, means, benchmark, objectives, bounds)
    return columns, failure, log


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


class _Search:
    """The state of a run's event loop."""

    def __init__(
        self,
        setup: Setup,
        benchmark: Benchmark,
        bounds: tuple[Bound, ...],
        objectives: tuple[Metric, ...],
        workers: Workers,
        seeds: EvaluationSeeds,
    ) -> None:
        self.rows: list[Row] = []
        self.means: list[tuple[float, ...]] = []
        """The means of every metric of each row's configuration, with several objectives; NaN if unknown."""
        self._objectives = objectives
        self._several = len(objectives) > 1
        self._benchmark, self._space, self._workers, self._seeds = benchmark, benchmark.space, workers, seeds
        self._fidelity, self._highest, self._whole = benchmark.fidelity, benchmark.highest, benchmark.highest.work
        self._left = math.inf if setup.evals is None else setup.evals * self._whole
        self._seconds = math.inf if setup.seconds is None else setup.seconds
        self._free = list(range(setup.workers))
        self._charge, self._charged, self._fees = setup.charge_thinking, 0.0, 0.0
        self._asked, self._spent, self._top, self._incumbent = 0, 0, 0, math.nan
        self._trials: dict[int, _Trial] = {}
        self._metrics = len(benchmark.metrics)
        self._refused_by = () if setup.train_infeasible else refusing(benchmark, bounds)
        self._refusals, self._patience = 0, MOST_REFUSALS * (setup.evals or MAX_EVALUATIONS)
        """Refusals in a row, and how many of them end the run."""
        self._limits = [(bound, benchmark.places[bound.metric.name]) for bound in bounds]
        self._held_back = HeldBack(benchmark, bounds, seeds.held_back) if setup.held_back else None
        self._worth = UNKNOWN  # of the incumbent
        self._means = benchmark.mean_metrics if isinstance(benchmark, KnowsMeans) else None
        self._told: dict[str, int] = {}
        self._seen: Callable[[tuple[float, ...]], tuple[float, ...]] = tuple

    def posed(self, problem: Problem) -> Problem:
        """The problem of this run: what its method is told of an evaluation, and pays for what it asks beforehand."""
        problem = replace(problem, refusals=refusals(self._benchmark, self._refused_by))
        known = problem.known
        self._told = {name: place for place, name in enumerate(problem.told)}
        places = [self._benchmark.places[name] for name in problem.told]
        self._seen = itemgetter(*places) if len(places) > 1 else lambda row: (row[places[0]],)
        prices = {name: metric.seconds for name, metric in problem.told.items() if metric.seconds}
        if known is None or self._benchmark.live or not prices:  # on the wall clock it takes its time
            return problem

        def paid(metric: str, configuration: Configuration) -> float:
            self._fees += prices.get(metric, 0.0)
            return known(metric, configuration)

        return replace(problem, known=paid)

    def charge(self, seconds: float) -> None:
        """Puts seconds on the clock with the next ask: those of the method's constructor."""
        self._fees += seconds

    def loop(self, method: Method) -> None:
        while True:
            while self._may_ask():
                self._ask(method)
            finished = self._workers.next()
            if finished is None or finished.finished > self._seconds:
                break  # what is still running when the seconds are over does not count
            self._free.append(finished.pending.worker)
            self._tell(method, finished)
        if self._left <= 0 or self._clock() >= self._seconds:
            return
        if self._refusals >= self._patience:
            raise _EndsEarly(f"the last {self._refusals:,} proposals were all refused, {self.rows[-1].reason}")
        if self._asked == MAX_EVALUATIONS:
            raise _EndsEarly(f"{MAX_EVALUATIONS} evaluations did not use up the budget")

    def _may_ask(self) -> bool:
        may_propose = self._asked < MAX_EVALUATIONS and self._refusals < self._patience
        return bool(self._free) and self._left > 0 and may_propose and self._clock() < self._seconds

    def close(self, failure: str) -> None:
        """Ends the run before its budget is used up, with a failed row that gives the reason."""
        self.rows.append(_closing(self.rows, self._clock(), failure, self._metrics))
        self.means.append((math.nan,) * self._metrics)

    def _ask(self, method: Method) -> None:
        begin = perf_counter()
        try:
            with asking(self._asked):
                asked = method.ask()
            if isinstance(asked, Proposal):
                configuration, level, number, before = self._part(asked)
            else:  # to be trained to the end
                configuration, level, number, before = asked, self._highest, self._asked, None
            self._space.check(configuration)
        except BaseException as error:
            raise failed("ask", error, type(method)) from error
        finally:
            thinking = perf_counter() - begin + method.unpaid
            self._workers.pay(method.unpaid)
            method.unpaid = 0.0
        if self._charge or self._fees:
            self._put_on_clock(thinking)
        now = self._clock()
        if now >= self._seconds:
            return  # the thought has used up what was left
        is_new = before is None and bool(self._refused_by)
        refusal = refused(self._benchmark, configuration, self._refused_by) if is_new else None
        self._refusals = 0 if refusal is None else self._refusals + 1
        if refusal is None:
            added = level.work - (0 if before is None else before.level.work)
            if added > self._left:
                self._left = 0  # what is left of the budget is not enough: nothing shorter is looked for
                return
            self._left -= added
        worker = self._free.pop(0)
        if before is not None:
            seed, since, paid = before.seed, before.level, before.paid
        else:
            seed, since, paid = self._seeds[number], None, 0.0
            if self._held_back is not None:
                seed = self._held_back.draw(configuration, seed)
        self._workers.start(
            Pending(self._asked, worker, configuration, now, thinking, number, level, seed, since, paid, refusal)
        )
        self._asked += 1

    def _put_on_clock(self, thinking: float) -> None:
        """Charges what a method asked beforehand at a price, and its thinking where that is charged."""
        self._charged = self._clock() + self._fees + (thinking if self._charge else 0.0)
        self._fees = 0.0

    def _part(self, proposal: Proposal) -> tuple[Configuration, Level, int, _Trial | None]:
        """What a proposal asks for: configuration, level, number of the training, and the training that it continues.

        Raises ValueError or TypeError if that cannot be.
        """
        configuration, level, fidelity = proposal.configuration, proposal.level, self._fidelity
        if level != self._highest and (fidelity is None or level not in fidelity):
            raise ValueError(f"there is no level {level}; allowed: {fidelity or 'the whole evaluation'}")
        if proposal.continues is None:
            return configuration, level, self._asked, None
        number = index(proposal.continues)
        trial = self._trials.pop(number, None)
        if trial is None:
            raise ValueError(f"trial {number} cannot be continued: it is at work, has failed, or has ended")
        if configuration != trial.configuration or fidelity is None or not fidelity.continues(trial.level, level):
            raise ValueError(f"trial {number} is of another configuration, or cannot go on up to that level")
        return configuration, level, number, trial

    def _tell(self, method: Method, finished: Finished) -> None:
        pending, evaluation, started, ended = finished
        if self._several and pending.level == self._highest:
            evaluation = with_objectives(self._benchmark, evaluation, self._objectives)
        metrics, status, reason = row_of(evaluation), evaluation.status, evaluation.reason
        feasible = status == "ok" and self._satisfies(metrics)
        level, is_lower = pending.level.work, not metrics[0] >= self._incumbent  # the first incumbent is NaN
        is_incumbent = feasible and (level > self._top or (level == self._top and is_lower))
        if is_incumbent:
            self._top, self._incumbent = level, metrics[0]
        if pending.refusal is None:
            self._spent += level - (0 if pending.since is None else pending.since.work)
        if level < self._whole and status == "ok" and self._fidelity and self._fidelity.may_continue(pending.level):
            paid = pending.paid + evaluation.cost
            self._trials[pending.trial] = _Trial(pending.configuration, pending.level, paid, pending.seed)
        begin = perf_counter()
        failure = None
        try:
            with asking(self._asked - 1):
                seen = Evaluation(
                    Values(self._told, self._seen(metrics)), evaluation.cost, status, reason, evaluation.curve
                )
                method.tell(Observation(pending.configuration, seen, feasible, pending.level, pending.trial))
        except BaseException as error:
            failure = failed("tell", error, type(method))
        thinking = perf_counter() - begin
        if self._charge or self._fees:
            self._put_on_clock(thinking)
        if is_incumbent and self._held_back is not None:
            self._worth = self._held_back.worth(pending.configuration)
        self.rows.append(
            Row(
                len(self.rows) + 1,
                pending.worker,
                self._space.to_json(pending.configuration),
                metrics[0],
                feasible,
                self._incumbent,
                started,
                ended,
                pending.thinking + thinking,
                status,
                reason,
                metrics,
                *self._score(pending.configuration),
                pending.trial,
                level,
                evaluation.cost,
                self._spent / self._whole,
                *self._worth,
            )
        )
        if failure is not None:
            raise failure

    def _score(self, configuration: Configuration) -> tuple[float, bool | None]:
        """The score of a configuration: its mean objective, and whether it is feasible by its means."""
        if self._means is None:
            if self._several:
                self.means.append((math.nan,) * self._metrics)
            return math.nan, None
        means = self._means(configuration)
        row = means.row if type(means) is Values else tuple(means[name] for name in self._benchmark.places)
        is_feasible = math.isfinite(row[0]) and self._satisfies(row)
        if self._several:
            self.means.append(row)
            return math.nan, is_feasible
        return row[0], is_feasible

    def _satisfies(self, row: tuple[float, ...]) -> bool:
        """Whether values, in the order of the benchmark's metrics, satisfy the constraints."""
        for bound, place in self._limits:  # noqa: SIM110 (a generator costs as much as everything else here)
            if not bound.holds(row[place]):
                return False
        return True

    def _clock(self) -> float:
        """Seconds on the run's clock; at least the end of what the method was charged for last."""
        now = self._workers.now()
        return now if now >= self._charged else self._charged


def _text(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds")
