"""A method, a benchmark and an executor to copy, rename and change; `nasbench check` says what is still missing."""

from __future__ import annotations

import math
import os
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from numpy.random import Generator

from nasbench.benchmarks import Benchmark, Evaluation, Level, Metric, UsageError
from nasbench.benchmarks.spaces import Configuration, GridSpace, Ordinal
from nasbench.cli.engine.executors import Batch, BatchResult, Executor, Lost, Records, Work, compute_batch
from nasbench.methods import Method, Observation, Problem


class HillClimbing(Method):
    """Steps from the best so far; after `patience` steps without success it begins anew.

    Options:
        patience: steps without success, at least 1.
    """

    def __init__(self, problem: Problem, rng: Generator, *, patience: int = 20) -> None:
        if patience < 1:
            raise UsageError(f"patience must be positive, not {patience}")
        self._problem, self._rng, self._patience = problem, rng, patience
        self._best: Observation | None = None
        self._waited = 0

    def ask(self) -> Configuration:
        if self._best is None or self._waited >= self._patience:
            self._best, self._waited = None, 0
            return self._problem.sample(self._rng)
        return self._problem.space.mutate(self._best.configuration, self._rng)

    def tell(self, observation: Observation) -> None:
        rank = observation.rank(self._problem.constraints)  # feasibility, then violation, then the objective
        if self._best is None or rank < self._best.rank(self._problem.constraints):
            self._best, self._waited = observation, 0
        else:
            self._waited += 1


class Rastrigin(Benchmark):
    """Rastrigin's function on a grid, with noise that the seed decides; a point's distance from the origin is known."""

    name, family, checksum = "rastrigin", "functions", "rastrigin-1"
    source, licence = "a formula", "MIT"
    space = GridSpace([Ordinal(f"x{i}", tuple(i / 2 for i in range(-10, 11))) for i in range(3)])
    metrics = (Metric("value", ""), Metric("distance", "", cheap=True))

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        xs = self.space.values(configuration).values()
        value = sum(10 + x * x - 10 * math.cos(2 * math.pi * x) for x in xs)
        metrics = {"value": value + seed % 1000 / 1e4, "distance": self.known("distance", configuration)}
        return Evaluation(metrics, cost=60.0)

    def known(self, metric: str, configuration: Configuration) -> float:
        return math.hypot(*self.space.values(configuration).values())


class Pool(Executor):
    """Computes each batch in a process of its own, which Python's standard library starts.

    Options:
        nice: niceness of the processes, 0 to 19.
    """

    local = True

    def __init__(self, jobs: int, *, nice: int = 10) -> None:
        if not 0 <= nice <= 19:
            raise UsageError(f"nice must lie in [0, 19], not {nice}")
        super().__init__(jobs)
        self._nice = nice

    def execute(self, work: Work) -> Records:
        waiting, running = work.batches(self.jobs), dict[Future[BatchResult], tuple[Batch, ProcessPoolExecutor]]()
        try:
            while waiting or running:
                while waiting and len(running) < self.jobs:
                    batch = waiting.pop(0)
                    pool = ProcessPoolExecutor(1, get_context("spawn"), os.nice, (self._nice,))
                    running[pool.submit(compute_batch, batch, work.journals)] = batch, pool
                done = next(as_completed(running))
                batch, pool = running.pop(done)
                pool.shutdown()
                if not isinstance(done.exception(), BrokenProcessPool):
                    yield work.keep(batch, done.result())
                elif len(batch.seeds) > 1:  # one of its runs ended the process: which one?
                    waiting += batch.single()
                else:
                    yield work.give_up(batch, Lost("the process that computed it died"))
        finally:
            for _, pool in running.values():
                pool.shutdown(cancel_futures=True)
