"""Workers that evaluate, simulated on a table and real on a live benchmark, and their clock."""

from __future__ import annotations

import hashlib
import heapq
import queue
import threading
import time
from collections import deque
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nasbench.base.metrics import Metric, Values
from nasbench.benchmarks import Benchmark, Evaluation, Level
from nasbench.benchmarks.constraints import Bounds
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.engine.evaluations import attempt, is_feasible, row_of, with_objectives
from nasbench.cli.engine.events import notices_about_evaluation
from nasbench.cli.engine.watch import evaluating
from nasbench.results.store.journal import Journal, Record

_BLOCK = 256


class PendingEvaluation(NamedTuple):
    """A configuration given to a worker."""

    ask: int
    """From 0, in order of asking."""
    worker: int
    configuration: Configuration
    started: float
    thinking: float
    """Seconds the method needed to propose it."""
    trial: int
    """Number of the training: that of the ask which began it."""
    level: Level
    """The level of the fidelity up to which it is trained."""
    seed: int
    """From which the benchmark draws whatever is random in this training."""
    since: Level | None = None
    """The level from which the training goes on; None for a new one."""
    paid: float = 0.0
    """Seconds that the training has cost up to there."""
    refusal: Evaluation | None = None
    """The evaluation of a configuration that is refused; None if it is trained."""
    added: int = 0
    """Work of the budget that it uses (`Level.work`)."""


class Finished(NamedTuple):
    """A pending configuration with its evaluation."""

    pending: PendingEvaluation
    evaluation: Evaluation
    started: float
    finished: float


class Workers(Protocol):
    """What the runner sees of its workers."""

    def now(self) -> float:
        """Seconds on the run's clock."""

    def start(self, pending: PendingEvaluation) -> None:
        """Gives a free worker something to do."""

    def next(self) -> Finished | None:
        """Advances to the evaluation that finishes first; None if nothing is pending."""

    def pay(self, seconds: float) -> None:
        """Adds to the clock the seconds that the method worked in an interrupted attempt."""

    def close(self) -> None:
        """Ends the workers: the run is over."""


class SimulatedWorkers:
    """A heap of events on a pure simulated clock: an evaluation ends `cost` seconds after it started.

    Nothing that is measured enters this clock, so a run repeats bit for bit, whatever else the machine does.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._events: list[tuple[float, int, PendingEvaluation, Evaluation]] = []
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def start(self, pending: PendingEvaluation) -> None:
        with evaluating(pending.ask, pending.worker):
            evaluation = pending.refusal or attempt(self._benchmark, pending.configuration, pending.seed, pending.level)
        if pending.since is not None:  # recorded times may fall between two levels
            evaluation = evaluation._replace(cost=max(evaluation.cost - pending.paid, 0.0))
        # The number of the ask breaks ties: it is unique, and earlier asks are told first.
        heapq.heappush(self._events, (pending.started + evaluation.cost, pending.ask, pending, evaluation))

    def next(self) -> Finished | None:
        if not self._events:
            return None
        self._now, _, pending, evaluation = heapq.heappop(self._events)
        return Finished(pending, evaluation, pending.started, self._now)

    def pay(self, seconds: float) -> None:
        """Nothing of a simulated run is kept."""

    def close(self) -> None:
        """Nothing runs."""


class LiveWorkers:
    """A thread per evaluation on the wall clock, which counts on from where an interrupted attempt left it.

    Evaluations that the journal holds are not computed again: they come back first, in their recorded order, while the
    clock stands at what they record. It runs, and what was pending is computed, when the last of them has been told.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        journal: Journal,
        bounds: Bounds,
        objectives: tuple[Metric, ...] = (),
    ) -> None:
        self._benchmark, self._journal, self._objectives = benchmark, journal, objectives
        self._bounds = bounds
        self._replay = deque(journal.records)
        self._recorded = {record.ask for record in journal.records}
        self._pending: dict[int, PendingEvaluation] = {}
        self._waiting: list[PendingEvaluation] = []
        self._evaluated: set[int] = set()
        """Trials that this attempt has evaluated: it left their states itself."""
        self._answers: queue.SimpleQueue[tuple[int, Evaluation, float, bool] | BaseException] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._told = 0.0
        self._origin: float | None = None if self._replay else time.monotonic()

    def now(self) -> float:
        return self._told if self._origin is None else time.monotonic() - self._origin

    def start(self, pending: PendingEvaluation) -> None:
        self._pending[pending.ask] = pending
        if self._origin is None:
            self._waiting.append(pending)
        else:
            self._launch(pending)

    def next(self) -> Finished | None:
        if not self._pending:
            return None
        if self._replay:
            return self._retold(self._replay.popleft())
        if self._origin is None:
            self._origin = time.monotonic() - self._told
            for pending in self._waiting:
                if pending.ask not in self._recorded:
                    self._launch(pending)
        answer = self._answers.get()
        if isinstance(answer, BaseException):
            raise answer
        ask, evaluation, ended, resumed = answer
        pending = self._pending.pop(ask)
        self._evaluated.add(pending.trial)
        if resumed:
            # What an interrupted attempt had done of it was on no clock: nothing was recorded of it. Attempts that were
            # interrupted side by side share that time, which an answer before this one may have put on the clock.
            self._origin -= max(evaluation.cost - (ended - self._origin - pending.started), 0.0)
        finished = self._told = max(ended - self._origin, self._told)
        if pending.level == self._benchmark.highest:  # before it is recorded: --retry-failed repeats what failed
            evaluation = with_objectives(self._benchmark, evaluation, self._objectives)
        configuration = self._benchmark.space.to_json(pending.configuration)
        _, cost, status, reason, curve = evaluation
        feasible = is_feasible(evaluation, self._bounds)
        times, part = (pending.started, finished), (pending.trial, pending.level.work)
        was_refused, values = pending.refusal is not None, row_of(evaluation)
        self._journal.append(
            Record(ask, configuration, values, cost, status, reason, *times, *part, feasible, curve, was_refused)
        )
        fidelity = self._benchmark.fidelity
        if evaluation.status != "ok" or fidelity is None or not fidelity.may_continue(pending.level):  # it has ended
            self._state(pending).unlink(missing_ok=True)
        return Finished(pending, evaluation, pending.started, finished)

    def pay(self, seconds: float) -> None:
        """What the journal holds has been paid already."""
        if self._origin is not None:
            self._origin -= seconds

    def close(self) -> None:
        """Waits for evaluations that the run no longer needs, so that they do not disturb the next run's."""
        for thread in self._threads:
            thread.join()

    def _retold(self, record: Record) -> Finished:
        pending = self._pending.pop(record.ask, None)
        if (
            pending is None
            or (pending.trial, pending.level.work) != (record.trial, record.level)
            or self._benchmark.space.to_json(pending.configuration) != record.configuration
        ):
            raise Diverged(
                f"its journal holds {record.configuration} as ask {record.ask}, but the method now asks otherwise"
            )
        if len(record.metrics) != len(self._benchmark.places):
            raise Diverged(
                f"its journal holds {len(record.metrics)} metrics, and {self._benchmark.name} has others now"
            )
        self._told = record.finished
        metrics = Values(self._benchmark.places, record.metrics)
        cost, status, reason = record.cost, record.status, record.reason
        evaluation = Evaluation(metrics, cost, status, reason, record.curve)  # type: ignore[arg-type]
        return Finished(pending, evaluation, record.started, record.finished)

    def _state(self, pending: PendingEvaluation) -> Path:
        """Where a training is kept. Its name says of which configuration it is: where records were lost, or taken back
        (--retry-failed), the method may ask otherwise, and a trial of that number be of another configuration."""
        text = self._benchmark.space.to_json(pending.configuration)
        return self._journal.state(f"{pending.trial}-{hashlib.sha256(text.encode()).hexdigest()[:16]}")

    def _launch(self, pending: PendingEvaluation) -> None:
        thread = threading.Thread(target=self._evaluate, args=(pending, self._state(pending)), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _evaluate(self, pending: PendingEvaluation, state: Path) -> None:
        try:
            resumed = state.exists() and pending.trial not in self._evaluated
            with evaluating(pending.ask, pending.worker), notices_about_evaluation(pending.ask + 1):
                evaluation = pending.refusal or attempt(
                    self._benchmark, pending.configuration, pending.seed, pending.level, state
                )
        except BaseException as error:  # a lost device, or a folder that cannot be read: for the thread that waits
            self._answers.put(error)
            return
        self._answers.put((pending.ask, evaluation, time.monotonic(), resumed))


class Diverged(Exception):
    """A resumed method does not propose what it proposed before: it is not deterministic, or its code has changed."""


class EvaluationSeeds:
    """The seed of every evaluation of a run: a function of (run seed, number of the ask) only, in [0, 2**63)."""

    hidden: int
    """A number of the run that decides which repetitions are hidden from it."""

    def __init__(self, sequence: np.random.SeedSequence) -> None:
        self._stream = np.random.Philox(sequence)
        self._known: list[int] = []
        self.hidden = int(sequence.spawn(1)[0].generate_state(1, np.uint64)[0] >> np.uint64(1))

    def __getitem__(self, ask: int) -> int:
        while ask >= len(self._known):
            self._known += self._draw(_BLOCK).tolist()
        return self._known[ask]

    def _draw(self, n: int) -> NDArray[np.uint64]:
        return self._stream.random_raw(n) >> np.uint64(1)
