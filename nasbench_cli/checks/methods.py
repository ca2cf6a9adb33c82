"""The promises of a search method (the contract is in `nasbench.methods.Method`)."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from nasbench.benchmarks import Benchmark, Bound, Evaluation, UsageError, open_benchmark
from nasbench.benchmarks.spaces import Configuration, FiniteSpace, Space
from nasbench.benchmarks.spaces.base import ForeignConfiguration, Values
from nasbench.cli.checks.base import (
    Check,
    Failed,
    changes,
    check_member,
    global_state,
    require,
    require_untouched,
    scrambled,
)
from nasbench.cli.engine.plan import misfit
from nasbench.methods import Method, MethodSpec, Observation, Problem

_TRIED = ("nb201-cifar10", "digits@1")
_EVALUATIONS, _LIVE_EVALUATIONS = 24, 4
_PATIENCE, _LEAST = 10.0, 0.02  # times as long as it says; seconds that nobody has to answer for


class Usual(NamedTuple):
    """A search with one worker, without constraints and without failures."""

    asked: list[Configuration]
    """The proposed configurations, in order."""
    seconds: float
    """Wall-clock seconds per suggestion, without what a long first ask is expected to take (`Method.beginning`)."""


@dataclass(frozen=True)
class Trial:
    """A method together with a benchmark that it fits."""

    spec: MethodSpec
    benchmark: Benchmark

    @classmethod
    def of(cls, method: str, bench: str | None = None) -> Trial:
        """The trial of a method on a benchmark; equal names give the same object, so checks share its usual search.

        Raises UsageError for names there are not, or where the method does not fit.
        """
        return _trial(method, bench)

    @cached_property
    def usual(self) -> Usual:
        """The search that most checks compare with: one worker, no constraint, no failure. Computed once."""
        begin = perf_counter()
        method = self.method()
        asked = _search(self, method)
        seconds = perf_counter() - begin - method.beginning
        return Usual(asked, seconds / self.count)

    @property
    def count(self) -> int:
        """Number of evaluations in a search: fewer where each takes long."""
        return _LIVE_EVALUATIONS if self.benchmark.live else _EVALUATIONS

    def method(self, bounds: Sequence[Bound] = (), state: Path | None = None) -> Method:
        """A new instance of the method; its generator always starts from the same state."""
        return self.spec.build(Problem.of(self.benchmark, tuple(bounds), state), np.random.default_rng(5))

    def evaluated(self, configuration: Configuration, number: int, bounds: Sequence[Bound] = ()) -> Observation:
        """The observation that the harness would tell: test metrics are hidden."""
        evaluation = _score(self.benchmark, configuration, number)
        hidden = [
            math.nan if m.held_out else v for m, v in zip(self.benchmark.metrics, evaluation.metrics, strict=True)
        ]
        holds = all(bound.holds(evaluation.metrics[bound.column]) for bound in bounds)
        ok = evaluation.status == "ok"
        return Observation(configuration, evaluation._replace(metrics=tuple(hidden)), ok and holds)


@cache
def _trial(method: str, bench: str | None) -> Trial:
    spec = MethodSpec.parse(method)
    misfits = []
    for name in _TRIED if bench is None else (bench,):
        benchmark = open_benchmark(name)
        why = misfit(spec.method, benchmark)
        if not why:
            benchmark.make_ready()
            spec.method.make_ready()
            return Trial(spec, benchmark)
        misfits.append(f"on {name} it {why}")
    raise UsageError(f"{method} cannot be tried: {'; '.join(misfits)}; name another benchmark with --bench")


def _score(benchmark: Benchmark, configuration: Configuration, number: int) -> Evaluation:
    """An evaluation. A live benchmark trains nothing here: its scores are made up, its cheap metrics are true."""
    if not benchmark.live:
        return benchmark.evaluate(configuration, number)
    rng = np.random.default_rng(number)
    metrics = [
        benchmark.known(column, configuration) if metric.cheap else float(rng.random())
        for column, metric in enumerate(benchmark.metrics)
    ]
    if any(map(math.isnan, metrics)):  # as it would be before training
        return Evaluation((math.nan,) * len(metrics), 0.0, "infeasible", "dead")
    return Evaluation(tuple(metrics), 1.0)


def _failure(benchmark: Benchmark, configuration: Configuration) -> Observation:
    nothing = (math.nan,) * len(benchmark.metrics)
    return Observation(configuration, Evaluation(nothing, 1.0, "failed", "made to fail"), False)


def _search(
    trial: Trial,
    method: Method,
    workers: int = 1,
    bounds: Sequence[Bound] = (),
    fails: Callable[[int], bool] = lambda _: False,
) -> list[Configuration]:
    """The proposals of a search; among several pending configurations the newest is told first.

    Args:
        workers: the number of configurations that are pending at a time.
        fails: whether the evaluation of this number, from 1, fails.
    """
    asked: list[Configuration] = []
    pending: list[Configuration] = []
    while len(asked) < trial.count:
        while len(pending) < workers:
            asked.append(method.ask())
            check_member(trial.benchmark.space, asked[-1], "ask")
            pending.append(asked[-1])
        configuration, number = pending.pop(), len(asked)
        if fails(number):
            method.tell(_failure(trial.benchmark, configuration))
        else:
            method.tell(trial.evaluated(configuration, number, bounds))
    return asked


def _proposes_members(trial: Trial) -> None:
    require(trial.usual.asked, "it proposes nothing")


def _same_seed_same_proposals(trial: Trial) -> None:
    """Also requires that the second search leaves the global random state alone (the first may load libraries)."""
    first = trial.usual.asked
    scrambled()
    state = global_state()
    second = _search(trial, trial.method())
    _require_equal(trial, first, second, "the same generator and the same tells")
    require_untouched(changes(state))


def _workers_in_any_order(trial: Trial) -> None:
    first = _search(trial, trial.method(), workers=3)
    _require_equal(trial, first, _search(trial, trial.method(), workers=3), "three workers told in the same order")


def _resumes_exactly(trial: Trial) -> None:
    """Interrupts a search half-way, keeps only the method's state file, and asks and tells everything again."""
    half = trial.count // 2
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        interrupted, resumed = trial.method(state=state), []
        for number in range(1, half + 1):
            interrupted.tell(trial.evaluated(interrupted.ask(), number))
        again = trial.method(state=state)
        for number in range(1, trial.count + 1):
            resumed.append(again.ask())
            again.tell(trial.evaluated(resumed[-1], number))
    _require_equal(trial, trial.usual.asked, resumed, "a resume from half of a search")


def _lives_with_failures(trial: Trial) -> None:
    _search(trial, trial.method(), fails=lambda number: number % 3 == 0)
    _search(trial, trial.method(), workers=2, fails=lambda _: True)


def _takes_constraints(trial: Trial) -> str | None:
    cheap = [i for i, metric in enumerate(trial.benchmark.metrics) if metric.cheap]
    if not cheap:
        return f"{trial.benchmark.name} has no cheap metric to constrain"
    column = cheap[0]
    metric = trial.benchmark.metrics[column]
    rng = np.random.default_rng(0)
    known = [trial.benchmark.known(column, trial.benchmark.space.sample(rng)) for _ in range(100)]
    reachable = Bound(metric, column, float(np.nanmedian(known)), upper=True)
    _search(trial, trial.method([reachable]), bounds=[reachable])
    first = trial.evaluated(trial.usual.asked[0], 1).objective
    never = Bound(trial.benchmark.objective, 0, -1 - abs(first), upper=True)  # known after an evaluation only
    _search(trial, trial.method([reachable, never]), bounds=[reachable, never])
    return None


def _blocks_equal_single_asks(trial: Trial) -> str | None:
    if not trial.spec.method.blockwise:
        return "it asks one by one"
    block = trial.method().ask_block(trial.count)
    space = trial.benchmark.space
    if block is None or not isinstance(space, FiniteSpace):
        return "it asks one by one here"
    method = trial.method()
    single = [space.to_json(method.ask()) for _ in range(trial.count)]
    require(list(space.block_to_json(block)) == single, "ask_block and as many asks propose different configurations")
    return None


def _refuses_other_spaces(trial: Trial) -> None:
    space = _Bare()
    misfit = trial.spec.method.misfit(space)
    if misfit:
        require(isinstance(misfit, str), "misfit is no sentence")
        return
    bare = Problem(space, trial.benchmark.objective)
    try:
        method = trial.spec.build(bare, np.random.default_rng(0))
        space.check(method.ask())
    except Exception as error:
        raise Failed(
            f"a space without any view fits, as it says, but searching it ends with {type(error).__name__}: {error}; "
            "name the views it calls in `needs`"
        ) from error


def _refuses_wrong_options(trial: Trial) -> None:
    for option in ("no-such-option=1", "malformed"):
        try:
            MethodSpec.parse(f"{trial.spec.name}:{option}")
        except UsageError:
            continue
        require(False, f"the option {option} is accepted")


def speed(trial: Trial) -> str:
    """Milliseconds per suggestion, measured and stated, as text. It depends on the machine and breaks no promise."""
    each, stated = trial.usual.seconds, trial.spec.method.seconds
    verdict = "" if each <= _PATIENCE * max(stated, _LEAST) else ": estimates of a suite's time will be far off"
    return f"{1000 * each:.3g} ms per suggestion here, {1000 * stated:.3g} ms stated{verdict}"


def _require_equal(trial: Trial, one: list[Configuration], other: list[Configuration], what: str) -> None:
    for number, (a, b) in enumerate(zip(one, other, strict=True), 1):
        if a != b:
            space = trial.benchmark.space
            raise Failed(f"{what} lead to {space.to_json(a)} and {space.to_json(b)} as proposal {number}")


class _Bare(Space):
    """The integers 0 to 99: a space that has no views."""

    def sample(self, rng: Generator) -> int:
        return int(rng.integers(100))

    def mutate(self, configuration: Configuration, rng: Generator) -> int:
        return int(configuration + 1) % 100

    def check(self, configuration: Configuration) -> None:
        if type(configuration) is not int or not 0 <= configuration < 100:
            raise ForeignConfiguration(f"{configuration!r} is not a number below 100")

    def values(self, configuration: Configuration) -> Values:
        return {"number": configuration}

    def from_values(self, values: Values) -> int:
        return int(values["number"])

    def to_json(self, configuration: Configuration) -> str:
        return f'{{"number": {configuration}}}'

    def describe(self) -> list[tuple[str, str, str]]:
        return [("number", "integer", "0 to 99")]


_ALL = {
    "proposes members of the space": _proposes_members,
    "same seed, same proposals, whatever else draws": _same_seed_same_proposals,
    "workers may finish in any order": _workers_in_any_order,
    "resumes exactly": _resumes_exactly,
    "lives with failed evaluations": _lives_with_failures,
    "takes constraints": _takes_constraints,
    "blocks equal single proposals": _blocks_equal_single_asks,
    "refuses spaces it cannot search": _refuses_other_spaces,
    "refuses options it does not have": _refuses_wrong_options,
}
METHOD_CHECKS = tuple(Check(promise, function, Trial.of) for promise, function in _ALL.items())
