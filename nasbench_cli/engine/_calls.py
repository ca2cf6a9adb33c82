"""Calls of a method by the runner: an error in one ends the method's run, and nothing else."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from nasbench.base.faults import check_device
from nasbench.base.foreign import is_at_fault, is_ours
from nasbench.benchmarks import Benchmark
from nasbench.benchmarks.spaces.base import ForeignConfiguration
from nasbench.cli.engine.evaluations import explained
from nasbench.cli.engine.failures import OF_BENCHMARK
from nasbench.cli.engine.watch import asking
from nasbench.methods import Logged, Method, MethodSpec, Problem
from nasbench.results.store.trajectory import log_arrays


class MethodFailed(Exception):
    """Raised when a method breaks its contract; the message says how."""


def failed(
    call: str, error: BaseException, method: type[Method], began: float, benchmark: Benchmark | None = None
) -> MethodFailed:
    """The failure of a method by an error in one of its calls, which began at a time of `perf_counter`.

    Where the code of a third party's benchmark, or of its space, has raised it, the method is not to blame.

    Raises DeviceLost if the error is of a lost device: then another process repeats the run.
    """
    check_device(error)
    parts = () if benchmark is None or isinstance(error, ForeignConfiguration) else (benchmark.space, benchmark)
    for item in map(type, parts):
        if not is_ours(item.__module__) and is_at_fault(item, error, method):
            return MethodFailed(f"{item.__name__} {OF_BENCHMARK}, in {call}: {explained(error, item, began=began)}")
    return MethodFailed(f"{call}: {explained(error, method, began=began)}")


def built(spec: MethodSpec, problem: Problem, rng: np.random.Generator, benchmark: Benchmark) -> Method:
    """A method for the problem of a benchmark. Raises MethodFailed if its constructor fails."""
    began = perf_counter()
    try:
        with asking(0):
            return spec.build(problem, rng)
    except BaseException as error:
        raise failed("constructor", error, spec.method, began, benchmark) from error


def logged(method: Method) -> tuple[Logged, ...]:
    """What a method has logged. Raises MethodFailed if there is something that no store can hold."""
    began = perf_counter()
    try:
        log = tuple(Logged(*row) for row in method.log)
        log_arrays(log)
    except BaseException as error:
        raise failed("log", error, type(method), began) from error
    return log
