"""One run: ask, evaluate, tell, until the budget is used up."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from time import perf_counter
from typing import TypeVar

import numpy as np

from benchmarks import Benchmark, Bound
from methods import Method, MethodSpec, Observation, Problem
from nasbench_cli.workers import Diverged, EvaluationSeeds, Finished, LiveWorkers, Pending, SimulatedWorkers, Workers
from results import Cell, Row, Trajectory
from results.journal import Journal

T = TypeVar("T")

MAX_EVALUATIONS = 200_000
"""Of one run: a budget in seconds alone could otherwise grow without bound."""


def run(
    cell: Cell,
    seed: int,
    spec: MethodSpec,
    benchmark: Benchmark,
    bounds: tuple[Bound, ...],
    journal: Journal | None = None,
) -> Trajectory:
    """Computes one run of a cell.

    The method and the benchmark draw from separate streams spawned from `seed`; so the trajectory is a function of
    (cell, seed), wherever and in whatever company it is computed.

    Args:
        journal: of a live benchmark's run; what it holds is told again instead of computed.
    """
    method_stream, benchmark_stream = np.random.SeedSequence(seed).spawn(2)
    seeds = EvaluationSeeds(benchmark_stream)
    workers = SimulatedWorkers(benchmark, seeds) if journal is None else LiveWorkers(benchmark, seeds, journal)
    search = _Search(cell, Trajectory(seed, began=_now()), benchmark, bounds, workers)
    try:
        problem = Problem.of(benchmark, bounds)
        search.loop(_attributed("constructor", lambda: spec.build(problem, np.random.default_rng(method_stream))))
    except _MethodFailed as failure:
        search.close(str(failure))
    except Diverged as failure:
        search.close(f"cannot be resumed: {failure}")
    search.trajectory.ended = _now()
    return search.trajectory


class _MethodFailed(Exception):
    """A method broke its contract; the message says how."""


class _Search:
    """The state of a run's event loop."""

    def __init__(
        self, cell: Cell, trajectory: Trajectory, benchmark: Benchmark, bounds: tuple[Bound, ...], workers: Workers
    ) -> None:
        self.trajectory = trajectory
        self._rows = trajectory.rows
        self._space, self._bounds, self._workers = benchmark.space, bounds, workers
        self._evals = MAX_EVALUATIONS if cell.evals is None else cell.evals
        self._seconds = math.inf if cell.seconds is None else cell.seconds
        self._free = list(range(cell.workers))
        self._charge, self._charged = cell.charge_thinking, 0.0
        self._asked = 0
        self._incumbent = math.nan
        self._metrics = len(benchmark.metrics)

    def loop(self, method: Method) -> None:
        while True:
            while self._free and self._asked < self._evals and self._clock() < self._seconds:
                self._ask(method)
            finished = self._workers.next()
            if finished is None or finished.finished > self._seconds:
                break  # what is still running when the seconds are over does not count
            self._free.append(finished.pending.worker)
            self._tell(method, finished)
        if self._asked == MAX_EVALUATIONS and self._clock() < self._seconds < math.inf:
            self.close(f"{MAX_EVALUATIONS} evaluations did not use up the budget of {self._seconds:g} s")

    def close(self, failure: str) -> None:
        """Ends the run before its budget, with a row that says why."""
        self.trajectory.failure = failure
        now, nan = self._clock(), math.nan
        metrics = (nan,) * self._metrics
        number = len(self._rows) + 1
        self._rows.append(Row(number, 0, None, nan, False, self._incumbent, now, now, 0.0, "failed", failure, metrics))

    def _ask(self, method: Method) -> None:
        begin = perf_counter()
        try:
            configuration = method.ask()
            thinking = perf_counter() - begin
            self._space.check(configuration)
        except Exception as error:
            raise _MethodFailed(f"ask: {type(error).__name__}: {error}") from error
        if self._charge:
            self._charged = self._clock() + thinking
        self._workers.start(Pending(self._asked, self._free.pop(0), configuration, self._clock(), thinking))
        self._asked += 1

    def _tell(self, method: Method, finished: Finished) -> None:
        pending, evaluation, started, ended = finished
        metrics, _, status, reason = evaluation
        feasible = status == "ok"
        for bound in self._bounds:
            feasible = feasible and bound.holds(metrics[bound.column])
        if feasible and not metrics[0] >= self._incumbent:  # the first incumbent is NaN
            self._incumbent = metrics[0]
        begin = perf_counter()
        failure = None
        try:
            method.tell(Observation(pending.configuration, evaluation, feasible))
        except Exception as error:
            failure = _MethodFailed(f"tell: {type(error).__name__}: {error}")
        thinking = perf_counter() - begin
        if self._charge:
            self._charged = self._clock() + thinking
        self._rows.append(
            Row(
                len(self._rows) + 1,
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
            )
        )
        if failure is not None:
            raise failure

    def _clock(self) -> float:
        """Now; where thinking is charged, not before the method has ended its last thought."""
        now = self._workers.now()
        return max(now, self._charged) if self._charge else now


def _attributed(what: str, call: Callable[[], T]) -> T:
    try:
        return call()
    except Exception as error:
        raise _MethodFailed(f"{what}: {type(error).__name__}: {error}") from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
