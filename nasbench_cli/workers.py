"""Who evaluates, and which clock ticks: w asynchronous workers, simulated on a table, real on a live benchmark."""

from __future__ import annotations

import heapq
import math
import queue
import threading
import time
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks import Benchmark, Evaluation
from benchmarks.space import Configuration
from results.journal import Journal, Record

_BLOCK = 256


class Pending(NamedTuple):
    """A configuration given to a worker."""

    ask: int
    """From 0, in order of asking."""
    worker: int
    configuration: Configuration
    started: float
    thinking: float
    """Seconds the method needed to propose it."""


class Finished(NamedTuple):
    """A pending configuration with its evaluation."""

    pending: Pending
    evaluation: Evaluation
    started: float
    finished: float


class Workers(Protocol):
    """What the runner sees of its workers."""

    def now(self) -> float:
        """Seconds on the run's clock."""

    def start(self, pending: Pending) -> None:
        """Gives a free worker something to do."""

    def next(self) -> Finished | None:
        """Advances to the evaluation that finishes first; None if nothing is pending."""


class SimulatedWorkers:
    """A heap of events on a pure simulated clock: an evaluation ends `cost` seconds after it started.

    Nothing that is measured enters this clock, so a run repeats bit for bit, whatever else the machine does.
    """

    def __init__(self, benchmark: Benchmark, seeds: EvaluationSeeds) -> None:
        self._benchmark, self._seeds = benchmark, seeds
        self._events: list[tuple[float, int, Pending, Evaluation]] = []
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def start(self, pending: Pending) -> None:
        evaluation = attempt(self._benchmark, pending.configuration, self._seeds[pending.ask])
        # The number of the ask breaks ties: it is unique, and earlier asks are told first.
        heapq.heappush(self._events, (pending.started + evaluation.cost, pending.ask, pending, evaluation))

    def next(self) -> Finished | None:
        if not self._events:
            return None
        self._now, _, pending, evaluation = heapq.heappop(self._events)
        return Finished(pending, evaluation, pending.started, self._now)


class LiveWorkers:
    """A thread per evaluation on the wall clock, which counts on from where an interrupted attempt left it.

    Evaluations that the journal holds are not computed again: they come back in their recorded order first.
    """

    def __init__(self, benchmark: Benchmark, seeds: EvaluationSeeds, journal: Journal) -> None:
        self._benchmark, self._seeds, self._journal = benchmark, seeds, journal
        self._recorded = {record.ask for record in journal.records}
        self._replay = iter(list(journal.records))
        self._pending: dict[int, Pending] = {}
        self._answers: queue.SimpleQueue[tuple[int, Evaluation, float]] = queue.SimpleQueue()
        offset = journal.records[-1].finished if journal.records else 0.0
        self._origin = time.monotonic() - offset

    def now(self) -> float:
        return time.monotonic() - self._origin

    def start(self, pending: Pending) -> None:
        self._pending[pending.ask] = pending
        if pending.ask not in self._recorded:
            arguments = (pending, self._seeds[pending.ask])
            threading.Thread(target=self._evaluate, args=arguments, daemon=True).start()

    def next(self) -> Finished | None:
        if not self._pending:
            return None
        record = next(self._replay, None)
        if record is not None:
            return self._retold(record)
        ask, evaluation, finished = self._answers.get()
        pending = self._pending.pop(ask)
        configuration = self._benchmark.space.to_json(pending.configuration)
        self._journal.append(Record(ask, configuration, *evaluation, started=pending.started, finished=finished))
        return Finished(pending, evaluation, pending.started, finished)

    def _retold(self, record: Record) -> Finished:
        pending = self._pending.pop(record.ask, None)
        if pending is None or self._benchmark.space.to_json(pending.configuration) != record.configuration:
            raise Diverged(
                f"cannot be resumed: its journal holds {record.configuration} as ask {record.ask}, "
                "but the method now asks otherwise"
            )
        evaluation = Evaluation(record.metrics, record.cost, record.status, record.reason)  # type: ignore[arg-type]
        return Finished(pending, evaluation, record.started, record.finished)

    def _evaluate(self, pending: Pending, seed: int) -> None:
        evaluation = attempt(self._benchmark, pending.configuration, seed)
        self._answers.put((pending.ask, evaluation, self.now()))


class Diverged(Exception):
    """A resumed method does not propose what it proposed before: it is not deterministic, or its code has changed."""


class EvaluationSeeds:
    """The seed of every evaluation of a run: a function of (run seed, number of the ask) only, in [0, 2**63)."""

    def __init__(self, sequence: np.random.SeedSequence) -> None:
        self._stream = np.random.Philox(sequence)
        self._known: list[int] = []

    def __getitem__(self, ask: int) -> int:
        while ask >= len(self._known):
            self._known += self._draw(_BLOCK).tolist()
        return self._known[ask]

    def first(self, n: int) -> NDArray[np.uint64]:
        """The seeds of the asks 0 … n-1; of a fresh instance only."""
        return self._draw(n)

    def _draw(self, n: int) -> NDArray[np.uint64]:
        return self._stream.random_raw(n) >> np.uint64(1)


def attempt(benchmark: Benchmark, configuration: Configuration, seed: int) -> Evaluation:
    """Evaluates; an exception, a NaN or another answer that cannot be used becomes a failed evaluation."""
    try:
        evaluation = benchmark.evaluate(configuration, seed)
        metrics, cost, status, reason = evaluation
        if status == "ok" and not math.isfinite(metrics[0]):
            reason = f"{benchmark.objective.name} is {metrics[0]}"
        elif len(metrics) != len(benchmark.metrics) or not 0 <= cost < math.inf:
            reason = f"{len(metrics)} metrics at a cost of {cost} s, not {len(benchmark.metrics)} at a finite cost"
        elif status == "ok":
            return evaluation
    except Exception as error:
        status, reason, cost = "failed", f"{type(error).__name__}: {error}", 0.0
    nothing = (math.nan,) * len(benchmark.metrics)
    usable = 0 <= cost < math.inf
    return Evaluation(nothing, cost if usable else 0.0, "infeasible" if status == "infeasible" else "failed", reason)
