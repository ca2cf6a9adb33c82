"""Computes one run: ask, evaluate, tell, until the budget is used up."""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from operator import index
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks import Benchmark, Bound, Evaluation
from nasbench.benchmarks.spaces import Configuration
from nasbench.benchmarks.spaces.foreign import cleaned
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.cli.engine.block import run_block
from nasbench.cli.engine.watch import asking
from nasbench.cli.engine.workers import (
    EvaluationSeeds,
    Finished,
    LiveWorkers,
    Pending,
    SimulatedWorkers,
    Workers,
    explained,
    is_feasible,
)
from nasbench.methods import Logged, Method, MethodSpec, Observation, Problem, Proposal
from nasbench.results import Cell, Row, Trajectory
from nasbench.results.store.journal import Journal
from nasbench.results.store.trajectory import to_columns

_LOG = logging.getLogger("nasbench")

MAX_EVALUATIONS = 200_000
"""Largest number of evaluations of one run: a budget in seconds alone would otherwise not bound it."""


def run(
    cell: Cell,
    seed: int,
    spec: MethodSpec,
    benchmark: Benchmark,
    bounds: tuple[Bound, ...],
    journal: Journal | None = None,
) -> Trajectory:
    """Computes one run of a cell.

    The method and the benchmark draw from separate streams (`_streams`); so the trajectory is a function of
    (cell, seed), wherever and in whatever company it is computed.

    Args:
        journal: the journal of a run on a live benchmark; evaluations that it holds are told again instead of computed.

    Raises Diverged if the method does not propose again what the journal holds.
    """
    began = _now()
    with cleaned():
        if isinstance(benchmark, TabularBenchmark):
            with asking(0):
                columns = run_block(cell, spec, benchmark, bounds, *_streams(cell, seed))
            if columns is not None:
                return Trajectory(seed, columns, "", began, _now())
        columns, failure, log = _run_loop(cell, spec, benchmark, bounds, journal, *_streams(cell, seed))
    return Trajectory(seed, columns, failure, began, _now(), log)


def begin_together(
    cell: Cell, spec: MethodSpec, benchmark: Benchmark, bounds: tuple[Bound, ...], begun: Sequence[tuple[int, Path]]
) -> None:
    """What the first asks of runs begin with, for all at once.

    Args:
        begun: seeds, and the files in which their runs will look for what was done.
    """
    try:
        with cleaned(), asking(0):
            methods = [
                spec.build(Problem.of(benchmark, bounds, state), _streams(cell, seed)[0]) for seed, state in begun
            ]
            spec.method.begin_together(methods)
    except BaseException as error:
        _LOG.warning("runs cannot begin together, and begin one by one: %s", explained(error))


def died(cell: Cell, seed: int, reason: str, rows: Sequence[Row] = ()) -> Trajectory:
    """The trajectory of a run whose process died: the evaluations that are known, and a failed row with the reason."""
    now, metrics = _now(), len(cell.metrics)
    closing = _closing(rows, max((row.finished for row in rows), default=0.0), reason, metrics)
    return Trajectory(seed, to_columns([*rows, closing], metrics), reason, now, now)


def _closing(rows: Sequence[Row], clock: float, failure: str, metrics: int) -> Row:
    """The row that ends a failed run."""
    nan = math.nan
    incumbent = rows[-1].incumbent if rows else nan
    nothing = (nan,) * metrics
    return Row(len(rows) + 1, 0, None, nan, False, incumbent, clock, clock, 0.0, "failed", failure, nothing)


def _streams(cell: Cell, seed: int) -> tuple[np.random.Generator, EvaluationSeeds]:
    """New random streams of a run, one for the method and one for the benchmark.

    They derive from the seed, the benchmark and the constraint: methods are paired inside a setting, and settings are
    independent of each other. (From the seed alone, settings would repeat each other's proposals, and tests over
    settings would find differences between identical methods in a third of all reports.)
    """
    setting = hashlib.sha256(json.dumps([cell.bench, cell.constraint]).encode()).digest()
    method, benchmark = np.random.SeedSequence((seed, int.from_bytes(setting[:16], "little"))).spawn(2)
    return np.random.default_rng(method), EvaluationSeeds(benchmark)


def _run_loop(
    cell: Cell,
    spec: MethodSpec,
    benchmark: Benchmark,
    bounds: tuple[Bound, ...],
    journal: Journal | None,
    rng: np.random.Generator,
    seeds: EvaluationSeeds,
) -> tuple[dict[str, NDArray[Any]], str, tuple[Logged, ...]]:
    """The columns of a run, why it failed (empty if it did not), and what its method logged."""
    workers: Workers
    if journal is None:
        workers = SimulatedWorkers(benchmark, seeds)
    else:
        known = tuple(bound for bound in bounds if bound.metric.cheap and not cell.train_infeasible)
        workers = LiveWorkers(benchmark, seeds, journal, bounds, known)
    search = _Search(cell, benchmark, bounds, workers)
    failure = ""
    log: tuple[Logged, ...] = ()
    try:
        state = None if journal is None else journal.state("method")
        method = _built(spec, Problem.of(benchmark, bounds, state), rng)
        try:
            search.loop(method)
        except (_MethodFailed, _BudgetTooLarge) as error:
            failure = str(error)
        log = _logged(method)
    except _MethodFailed as error:
        failure = failure or str(error)
    if failure:
        search.close(failure)
    workers.close()
    return to_columns(search.rows, len(benchmark.metrics)), failure, log


def _built(spec: MethodSpec, problem: Problem, rng: np.random.Generator) -> Method:
    try:
        with asking(0):
            return spec.build(problem, rng)
    except BaseException as error:
        raise _MethodFailed(f"constructor: {explained(error)}") from error


def _logged(method: Method) -> tuple[Logged, ...]:
    try:
        return tuple(method.log)
    except BaseException as error:
        raise _MethodFailed(f"log: {explained(error)}") from error


class _MethodFailed(Exception):
    """Raised when a method breaks its contract; the message says how."""


class _BudgetTooLarge(Exception):
    """Raised when a budget in seconds asks for more evaluations than a run may have."""


class _Trial(NamedTuple):
    """A training that may be continued."""

    configuration: Configuration
    level: int
    """The level that it has reached."""
    paid: float
    """Seconds that it has cost."""


class _Search:
    """The state of a run's event loop."""

    def __init__(self, cell: Cell, benchmark: Benchmark, bounds: tuple[Bound, ...], workers: Workers) -> None:
        self.rows: list[Row] = []
        self._benchmark, self._space, self._bounds, self._workers = benchmark, benchmark.space, bounds, workers
        self._highest = benchmark.highest
        self._levels = frozenset(benchmark.fidelity.levels if benchmark.fidelity else (1,))
        self._continuable_below = benchmark.continuable_below
        self._left = math.inf if cell.evals is None else cell.evals * self._highest
        self._spent = 0
        self._seconds = math.inf if cell.seconds is None else cell.seconds
        self._free = list(range(cell.workers))
        self._charge, self._charged = cell.charge_thinking, 0.0
        self._asked = 0
        self._top, self._incumbent = 0, math.nan
        self._trials: dict[int, _Trial] = {}
        self._metrics = len(benchmark.metrics)
        self._held_out = tuple(i for i, metric in enumerate(benchmark.metrics) if metric.held_out)

    def loop(self, method: Method) -> None:
        while True:
            while self._may_ask():
                self._ask(method)
            finished = self._workers.next()
            if finished is None or finished.finished > self._seconds:
                break  # what is still running when the seconds are over does not count
            self._free.append(finished.pending.worker)
            self._tell(method, finished)
        if self._asked == MAX_EVALUATIONS and self._left > 0 and self._clock() < self._seconds:
            raise _BudgetTooLarge(f"{MAX_EVALUATIONS} evaluations did not use up the budget")

    def _may_ask(self) -> bool:
        return bool(self._free) and self._left > 0 and self._asked < MAX_EVALUATIONS and self._clock() < self._seconds

    def close(self, failure: str) -> None:
        """Ends the run before its budget is used up, with a failed row that gives the reason."""
        self.rows.append(_closing(self.rows, self._clock(), failure, self._metrics))

    def _ask(self, method: Method) -> None:
        begin = perf_counter()
        try:
            with asking(self._asked):
                asked = method.ask()
            if isinstance(asked, Proposal):
                configuration, level, trial, since, paid = self._part(asked)
            else:  # to be trained to the end
                configuration, level, trial, since, paid = asked, self._highest, self._asked, 0, 0.0
            self._space.check(configuration)
        except BaseException as error:
            raise _MethodFailed(f"ask: {explained(error)}") from error
        finally:
            thinking = perf_counter() - begin + method.unpaid
            self._workers.pay(method.unpaid)
            method.unpaid = 0.0
        if self._charge:
            self._charged = self._clock() + thinking
        now, added = self._clock(), level - since
        if now >= self._seconds:
            return  # the thought has used up what was left
        if added > self._left:
            self._left = 0  # what is left of the budget is not enough: nothing shorter is looked for
            return
        self._left -= added
        self._workers.start(
            Pending(self._asked, self._free.pop(0), configuration, now, thinking, trial, level, since, paid)
        )
        self._asked += 1

    def _part(self, proposal: Proposal) -> tuple[Configuration, int, int, int, float]:
        """What a proposal asks for: configuration, level, trial, since and paid, as in `Pending`.

        Raises ValueError or TypeError if that cannot be.
        """
        configuration, level = proposal.configuration, index(proposal.level)
        if level not in self._levels:
            raise ValueError(f"there is no level {level}; allowed: {', '.join(map(str, sorted(self._levels)))}")
        if proposal.continues is None:
            return configuration, level, self._asked, 0, 0.0
        number = index(proposal.continues)
        trial = self._trials.pop(number, None)
        if trial is None:
            raise ValueError(f"trial {number} cannot be continued: it is at work, has failed, or has ended")
        if configuration != trial.configuration or level <= trial.level:
            raise ValueError(f"trial {number} is of another configuration, or has reached that level")
        return configuration, level, number, trial.level, trial.paid

    def _tell(self, method: Method, finished: Finished) -> None:
        pending, evaluation, started, ended = finished
        metrics, status, reason = evaluation.metrics, evaluation.status, evaluation.reason
        feasible = is_feasible(evaluation, self._bounds)
        level, is_first = pending.level, not metrics[0] >= self._incumbent  # the first incumbent is NaN
        if feasible and (level > self._top or (level == self._top and is_first)):
            self._top, self._incumbent = level, metrics[0]
        self._spent += level - pending.since
        if level < self._continuable_below and status == "ok":
            self._trials[pending.trial] = _Trial(pending.configuration, level, pending.paid + evaluation.cost)
        begin = perf_counter()
        failure = None
        try:
            with asking(self._asked - 1):
                seen = self._seen(evaluation)
                method.tell(Observation(pending.configuration, seen, feasible, level, pending.trial))
        except BaseException as error:
            failure = _MethodFailed(f"tell: {explained(error)}")
        thinking = perf_counter() - begin
        if self._charge:
            self._charged = self._clock() + thinking
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
                self._spent / self._highest,
            )
        )
        if failure is not None:
            raise failure

    def _score(self, configuration: Configuration) -> tuple[float, bool | None]:
        """The score of a configuration: its mean objective, and whether it is feasible by its means."""
        means = self._benchmark.mean_metrics(configuration)
        if means is None:
            return math.nan, None
        return means[0], math.isfinite(means[0]) and all(bound.holds(means[bound.column]) for bound in self._bounds)

    def _seen(self, evaluation: Evaluation) -> Evaluation:
        """An evaluation as the method may see it: every test metric is NaN."""
        if not self._held_out:
            return evaluation
        metrics = list(evaluation.metrics)
        for column in self._held_out:
            metrics[column] = math.nan
        return evaluation._replace(metrics=tuple(metrics))

    def _clock(self) -> float:
        """Seconds on the run's clock; where thinking is charged, at least the end of the method's last thought."""
        now = self._workers.now()
        return max(now, self._charged) if self._charge else now


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
