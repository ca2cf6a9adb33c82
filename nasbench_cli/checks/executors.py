"""The promises of an executor (the contract is in `nasbench.cli.engine.executors.Executor`)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

from numpy.random import Generator

from nasbench.base.foreign import end_process
from nasbench.benchmarks import UsageError, abilities, open_benchmark
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.checks.check import Check, NotTested, require
from nasbench.cli.engine.executors import chosen
from nasbench.cli.engine.keys import asked_grid
from nasbench.cli.engine.session import Session, begin
from nasbench.cli.engine.suites import Suite
from nasbench.methods import Method, MethodSpec, Observation, Problem
from nasbench.results.store import content_hash

_METHODS, _BENCHMARK, _SEEDS = ("random", "evolution:population=5"), "hpobench-car", 3
_SUITE = Suite((asked_grid(methods=_METHODS, benchmarks=[_BENCHMARK], seeds=_SEEDS, evals=20),))
_RUNS = len(_METHODS) * _SEEDS
_LIVE = "digits@1"
_TOO_CLOSE = "it computes a third party's method in the process of the command"


@contextmanager
def _session(suite: Suite = _SUITE) -> Iterator[Session]:
    with tempfile.TemporaryDirectory() as folder:
        yield begin(suite, Path(folder) / "store", "nasbench check")


@cache
def _expected() -> str:
    """The digest of the contents that the executor `serial` stores."""
    with _session() as session:
        for _ in session.compute(chosen("serial", 1)):
            pass
        return content_hash(session.store)


def _compare(executor: str, jobs: int) -> None:
    with _session() as session:
        computed = [r.seed for records in session.compute(chosen(executor, jobs)) for r in records]
        failures, missing = session.outcome()
        for _, record in failures:
            require(False, f"{len(failures)} of {_RUNS} runs failed, the first: {record.first_reason}")
        require(missing == 0, f"{missing} of {_RUNS} runs are missing from the store")
        asked = sorted([*range(_SEEDS)] * len(_METHODS))
        require(sorted(computed) == asked, f"it yields records of the seeds {sorted(computed)} and not of {asked}")
        require(content_hash(session.store) == _expected(), "its store has other contents than that of one process")


def _stores_the_same(executor: str) -> None:
    _compare(executor, 1)


def _stores_the_same_with_two_jobs(executor: str) -> str | None:
    try:
        chosen(executor, 2)
    except UsageError:
        return "it computes one run at a time"
    _compare(executor, 2)
    return None


def _stops_and_goes_on(executor: str) -> None:
    with _session() as session:
        with closing(session.compute(chosen(executor, 1))) as runs:
            next(runs)
        again = begin(_SUITE, session.store.folder, "nasbench check")
        require(bool(again.to_do), "it does not stop: after its first records no run is missing")
        for _ in again.compute(chosen(executor, 1)):
            pass
        require(content_hash(again.store) == _expected(), "a second command does not complete what the first one left")


def _stores_live_runs(executor: str) -> str | None:
    try:
        abilities.make_ready(open_benchmark(_LIVE))
    except UsageError as error:
        raise NotTested(str(error)) from None
    suite = Suite((asked_grid(methods=["random"], benchmarks=[_LIVE], seeds=1, evals=2),))
    with _session(suite) as session:
        for _ in session.compute(chosen(executor, 1)):
            pass
        failures, missing = session.outcome()
        require(not failures and not missing, f"a live run on {_LIVE} is failed or missing")
        left = [path.name for path in session.store.journals.iterdir()]
        require(not left, f"a finished live run leaves {', '.join(left)} in the folder of journals")
    return None


class _Ends(Method):
    """Ends its process at the second ask, as a crash in compiled code does; not that of the check."""

    def __init__(self, problem: Problem, rng: Generator, *, checker: int = 0) -> None:
        self._space, self._rng, self._checker, self._asked = problem.space, rng, checker, 0

    def ask(self) -> Configuration:
        self._asked += 1
        if self._asked == 2:
            if os.getpid() == self._checker:
                raise RuntimeError(_TOO_CLOSE)
            end_process(0)
        return self._space.sample(self._rng)

    def tell(self, observation: Observation) -> None:
        """Ignored."""


class _Ending(MethodSpec):
    """A third party's method that every process finds, although no package registers it."""

    is_foreign = True
    method = _Ends


def _records_what_ends_its_process(executor: str) -> None:
    with _session() as session:
        calm, ending = session.planned
        ending = replace(ending, spec=_Ending(ending.spec.name, (("checker", os.getpid()),)))
        seeds, told = [0, 1], "a run that ends its process"
        for _ in replace(session, requested=[(ending, seeds), (calm, seeds)]).compute(chosen(executor, 1)):
            pass
        stored = session.store.runs()
        failures = {seed: run.failure for seed, run in stored.get(ending.setup.id, {}).items()}
        require(not any(_TOO_CLOSE in failure for failure in failures.values()), f"{_TOO_CLOSE}: see `batch.owner`")
        require(
            sorted(failures) == seeds and all(failures.values()),
            f"{told} is not recorded as failed: `batch.single` and `work.give_up` do it",
        )
        require(sorted(stored.get(calm.setup.id, {})) == seeds, f"{told} costs other runs")


_ALL: dict[str, Callable[[str], str | None]] = {
    "stores what one process stores": _stores_the_same,
    "stores the same with two jobs": _stores_the_same_with_two_jobs,
    "stops when told, and a second command completes the store": _stops_and_goes_on,
    "records a run that ends its process, and goes on": _records_what_ends_its_process,
    "stores live runs, and leaves no journal": _stores_live_runs,
}
EXECUTOR_CHECKS = tuple(Check(promise, function, str) for promise, function in _ALL.items())
"""The promises of an executor; each check takes its name, with options if there are any."""
