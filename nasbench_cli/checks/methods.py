"""The promises of a search method (the contract is in `nasbench.methods.Method`)."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from nasbench.base.foreign import end_copies, errors_named, guarded
from nasbench.base.metrics import Values
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks import WHOLE, Benchmark, Evaluation, Metric, UsageError, abilities, open_benchmark
from nasbench.benchmarks.constraints import NO_BOUNDS, Bounds
from nasbench.cli.checks.check import (
    Check,
    Failed,
    NotTested,
    changes,
    check_member,
    global_state,
    require,
    require_untouched,
    scrambled,
)
from nasbench.cli.checks.elsewhere import UNKNOWN, digest, digests, environment_for
from nasbench.cli.checks.problems import PROBLEMS, BareSpace, Posed, score
from nasbench.cli.engine.evaluations import explained, is_feasible, refusals, refusing
from nasbench.cli.engine.shared_state import changed, shared_state
from nasbench.methods import Method, MethodSpec, Observation, Problem, Proposal, beginning_of

_TRIED = ("nb201-cifar10", "digits@1")
_TRIED_AT_LEVELS = ("sk-boosting-digits", "digits@9")
_EVALUATIONS, _LIVE_EVALUATIONS, _PARTS = 24, 4, 60  # the last: of trainings in parts, some of which reach the end
_PROBLEM_EVALUATIONS = 30
_SEED, _BEFORE = 5, 3  # of the usual search; evaluations of another one that goes before
_LONG_SEARCH, _QUICK, _AT_ONCE = 200, 0.5, 0.01  # evaluations, as many as a run has by default; seconds of a suggestion
_PATIENCE, _LEAST = 10.0, 0.02  # times as long as it says; seconds that nobody has to answer for


class Usual(NamedTuple):
    """A search with one worker, without constraints and without failures."""

    asked: list[Proposal]
    """The proposals in their order."""
    seconds: float
    """Wall-clock seconds per suggestion, without the expected time of a long first ask (`LongSearch.beginning`)."""


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
        asked = _searched(self, method)
        seconds = perf_counter() - begin - beginning_of(method)
        return Usual(asked, seconds / self.count)

    def search_by_another_seed(self) -> None:
        """A short search, which may leave nothing behind in this process; none where each evaluation takes long."""
        if not self.benchmark.live:
            _searched(self, self.method(seed=_SEED + 1), count=_BEFORE)

    @property
    def count(self) -> int:
        """Number of evaluations in a search: fewer if each takes long."""
        if self.spec.method.needs.fidelity:
            return _PARTS
        return _LIVE_EVALUATIONS if self.benchmark.live else _EVALUATIONS

    def method(
        self,
        bounds: Bounds = NO_BOUNDS,
        state: Path | None = None,
        objectives: tuple[Metric, ...] = (),
        seed: int = _SEED,
    ) -> Method:
        """A new instance of the method; its generator starts from the same state for the same seed.

        Args:
            objectives: see `Problem.of`.
        """
        problem = Problem.of(self.benchmark, bounds, state, objectives)
        known = refusals(self.benchmark, refusing(self.benchmark, bounds))
        return self.spec.build(replace(problem, refusals=known), np.random.default_rng(seed))

    def evaluated(self, proposal: Proposal, number: int, bounds: Bounds = NO_BOUNDS) -> Observation:
        """The observation that the harness would tell of the training with this number: test metrics are hidden."""
        evaluation = score(self.benchmark, proposal, number, bounds)
        known = evaluation.metrics
        evaluation = evaluation._replace(metrics=self._as_told([known.get(name, math.nan) for name in self._names]))
        feasible = is_feasible(evaluation, bounds)
        return Observation(proposal.configuration, evaluation, feasible, proposal.level, number)

    def failed(self, proposal: Proposal, number: int) -> Observation:
        """The observation of an evaluation that failed."""
        nothing = self._as_told([math.nan] * len(self._names))
        failure = Evaluation(nothing, 1.0, "failed", "made to fail")
        return Observation(proposal.configuration, failure, False, proposal.level, number)

    @cached_property
    def _names(self) -> dict[str, int]:
        """The place of each metric that methods are told of: those of a test split are hidden."""
        return {name: place for place, name in enumerate(m.name for m in self.benchmark.metrics if not m.is_test)}

    def _as_told(self, values: Sequence[float]) -> Values:
        """Values as the harness tells them: what can be done with them here can be done in a run."""
        return Values(self._names, tuple(values))


@cache
def _trial(method: str, bench: str | None) -> Trial:
    spec = MethodSpec.of(method)
    misfits = []
    tried = _TRIED_AT_LEVELS if spec.method.needs.fidelity else _TRIED
    for name in tried if bench is None else (bench,):
        benchmark = open_benchmark(name)
        why = spec.misfit(Problem.of(benchmark))
        if not why:
            abilities.make_ready(benchmark)
            with errors_named(f"method {spec.name} cannot be made ready"), guarded():
                spec.method.make_ready()
            return Trial(spec, benchmark)
        misfits.append(f"on {name} it {why}")
    raise UsageError(f"{method} cannot be tested: {'; '.join(misfits)}; name another benchmark with --bench")


class _TrialSearch:
    """A search as the harness runs it, which checks that every proposal is allowed."""

    def __init__(self, trial: Trial, method: Method, bounds: Bounds = NO_BOUNDS) -> None:
        self.asked: list[Proposal] = []
        self._trial, self._method, self._bounds = trial, method, bounds
        self._pending: list[tuple[Proposal, int]] = []
        self._reached: dict[int, Proposal] = {}
        """Number of a training → its last proposal, for trainings that may be continued."""

    def step(self, workers: int = 1, fails: Callable[[int], bool] = lambda _: False) -> None:
        """Asks until enough proposals are pending, and tells one of them, each place in turn, perhaps as failed."""
        while len(self._pending) < workers:
            proposal = Proposal.of(self._method.ask(), self._trial.benchmark.highest)
            end_copies()
            check_member(self._trial.benchmark.space, proposal.configuration, "ask")
            self._pending.append((proposal, self._number(proposal)))
            self.asked.append(proposal)
        proposal, number = self._pending.pop(len(self.asked) % workers)
        trial = self._trial
        is_failure = fails(len(self.asked))
        told = trial.failed(proposal, number) if is_failure else trial.evaluated(proposal, number, self._bounds)
        fidelity = trial.benchmark.fidelity
        if fidelity is not None and fidelity.may_continue(proposal.level) and told.evaluation.status == "ok":
            self._reached[number] = proposal
        self._method.tell(told)

    def _number(self, proposal: Proposal) -> int:
        """The number of the training that a proposal begins or continues. Raises Failed if it may not be proposed."""
        fidelity = self._trial.benchmark.fidelity
        levels = fidelity.levels if fidelity else (WHOLE,)
        require(proposal.level in levels, f"it asks for level {proposal.level}, which is none of {fidelity}")
        if proposal.continues is None:
            return len(self.asked)
        before = self._reached.pop(proposal.continues, None)
        what = f"it continues trial {proposal.continues}"
        require(before is not None, f"{what}, which was not told, is at work, has failed, or cannot be continued")
        assert before is not None
        require(before.configuration == proposal.configuration, f"{what} with another configuration")
        goes_on = fidelity is not None and fidelity.continues(before.level, proposal.level)
        require(goes_on, f"{what} up to level {proposal.level}, but it has reached {before.level}")
        return proposal.continues


def _searched(
    trial: Trial,
    method: Method,
    workers: int = 1,
    bounds: Bounds = NO_BOUNDS,
    fails: Callable[[int], bool] = lambda _: False,
    count: int | None = None,
) -> list[Proposal]:
    """The proposals of a search; pending ones are told in another order than they were asked.

    Args:
        workers: number of pending evaluations.
        fails: whether the evaluation that is told after a given number of asks fails.
        count: the number of proposals; by default that of the trial.
    """
    search = _TrialSearch(trial, method, bounds)
    while len(search.asked) < (count or trial.count):
        search.step(workers, fails)
    return search.asked


def _proposes_members(trial: Trial) -> str | None:
    different = {proposal.configuration for proposal in trial.usual.asked}
    return f"but all {trial.count} are the same configuration" if len(different) == 1 else None


def _of_repeatable(check: Callable[[Trial], str | None]) -> Callable[[Trial], str | None]:
    """A check that proposals are the same, which a method does not promise that never repeats itself."""

    def checked(trial: Trial) -> str | None:
        if trial.spec.repeatable is Repeatable.NEVER:
            raise NotTested("it states that it does not propose the same twice")
        return check(trial)

    return checked


@_of_repeatable
def _same_seed_same_proposals(trial: Trial) -> str | None:
    """Requires equal searches; the second one must leave global random state alone (the first may load libraries).

    Those of a method that is quick, or whose objects share something, are tried as long as a run is: what it does after
    its random phase counts.
    """
    first, method = trial.usual.asked, trial.spec.method
    scrambled()
    state, shared = global_state(), shared_state(method)
    second = _searched(trial, trial.method())
    _require_equal(trial, first, second, "the same generator and the same tells")
    require_untouched(changes(state))
    kept = changed(shared, method)
    shares = f"all searches share {kept[0]}" if kept else ""
    is_slow = trial.benchmark.live or trial.usual.seconds > (_QUICK if kept else _AT_ONCE)
    if not is_slow:
        one = _searched(trial, trial.method(), count=_LONG_SEARCH)
        scrambled()
        state = global_state()
        other = _searched(trial, trial.method(), count=_LONG_SEARCH)
        _require_equal(trial, one, other, f"the same generator and the same tells{f' ({shares})' * bool(kept)}")
        require_untouched(changes(state))
    if kept:
        return f"{shares}: {trial.count} evaluations do not show it" if is_slow else None
    return _said_of_another_seed(trial)


def _said_of_another_seed(trial: Trial) -> str | None:
    """A remark if another seed leads to the same search: runs that repeat each other are no sample."""
    is_slow = trial.benchmark.live or trial.usual.seconds > _QUICK
    if is_slow or _searched(trial, trial.method(seed=_SEED + 1)) != trial.usual.asked:
        return None
    return "and so for any other seed: does it draw from `rng`? Seeds would repeat one run"


@_of_repeatable
def _workers_in_any_order(trial: Trial) -> None:
    first = _searched(trial, trial.method(), workers=3)
    _require_equal(trial, first, _searched(trial, trial.method(), workers=3), "three workers told in the same order")


@_of_repeatable
def _resumes_exactly(trial: Trial) -> None:
    """Interrupts a search half-way, keeps only the method's state file, and repeats all asks and tells."""
    half = trial.count // 2
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        interrupted = _TrialSearch(trial, trial.method(state=state))
        for _ in range(half):
            interrupted.step()
        resumed = _TrialSearch(trial, trial.method(state=state))
        for _ in range(trial.count):
            resumed.step()
    _require_equal(trial, trial.usual.asked, resumed.asked, "a resume from half of a search")


def _bears(pose: Callable[[Benchmark], list[Posed]]) -> Callable[[Trial], str | None]:
    """A check that searches the problems of one kind to the end, with two pending evaluations.

    A method that serves several objectives searches each problem with two objectives too.
    """

    def check(trial: Trial) -> str | None:
        constrained = pose(trial.benchmark)
        told = None if constrained else f"{trial.benchmark.name} has no cheap metric to constrain"
        two = tuple(metric for metric in trial.benchmark.metrics if not metric.is_test)[:2]
        several = [two] if trial.spec.method.needs.several and len(two) == 2 else []
        for (bounds, fails), objectives in itertools.product(constrained, [(), *several]):
            try:
                method = trial.method(bounds, objectives=objectives)
            except UsageError as refusal:  # a command says the same before it runs anything
                told = str(refusal)
                continue
            _searched(trial, method, 2, bounds, fails, _PROBLEM_EVALUATIONS)
        return told

    return check


def _trains_as_it_may(trial: Trial) -> str | None:
    """Checks levels and continuations, as every search does, with several pending evaluations, some of which fail."""
    if not trial.spec.method.needs.fidelity:
        return "it trains everything to the end"
    asked = _searched(trial, trial.method(), workers=5, fails=lambda number: number % 3 == 0)
    if trial.spec.repeatable is not Repeatable.NEVER:
        again = _searched(trial, trial.method(), workers=5, fails=lambda number: number % 3 == 0)
        _require_equal(trial, asked, again, "the same tells")
    levels = sorted({proposal.level for proposal in trial.usual.asked}, key=lambda level: level.work)
    further = sum(proposal.continues is not None for proposal in trial.usual.asked)
    return f"levels {', '.join(map(str, levels))}; {further} of {trial.count} proposals continue a training"


def _refuses_other_spaces(trial: Trial) -> None:
    space = BareSpace()
    bare = Problem(space, (trial.benchmark.objective,), fidelity=trial.benchmark.fidelity)
    misfit = trial.spec.misfit(bare)
    if misfit:
        require(isinstance(misfit, str), "misfit does not return a text")
        return
    try:
        method = trial.spec.build(bare, np.random.default_rng(0))
        space.check(Proposal.of(method.ask(), WHOLE).configuration)
    except Exception as error:
        raise Failed(
            "a space without any view fits, as it says, but searching it ends with "
            f"{explained(error, trial.spec.method)}; name the views it calls in `needs`"
        ) from error


def _refuses_wrong_options(trial: Trial) -> None:
    for option in ("no-such-option=1", "malformed"):
        try:
            MethodSpec.parse(f"{trial.spec.name}:{option}")
        except UsageError:
            continue
        require(False, f"the option {option} is accepted")


@_of_repeatable
def _same_elsewhere(trial: Trial) -> str | None:
    """Checks what the method states in `About.repeatable`, for its usual search."""
    repeatable, here = trial.spec.repeatable, digest(trial.usual.asked)
    (elsewhere,) = digests([(trial.spec.text, trial.benchmark.name)], environment_for(repeatable))
    if elsewhere == UNKNOWN:
        raise NotTested("it is registered only in this process")
    require(
        elsewhere == here,
        "a process with other hashes of strings, with another processor's kernels, or after a search by another seed, "
        "proposes something else: sort what comes out of sets, sum in a fixed order, keep nothing outside the "
        "method's object and change no space, or state `repeatable`",
    )
    return None if repeatable is Repeatable.ANY_PROCESSOR else f"it states: on {repeatable}"


def speed(trial: Trial) -> str:
    """Milliseconds per suggestion, measured and stated, as text: a remark, since they depend on the machine."""
    each, stated = trial.usual.seconds, trial.spec.method.about.seconds
    verdict = "" if each <= _PATIENCE * max(stated, _LEAST) else ": estimates of a suite's time will be far off"
    return f"{1000 * each:.3g} ms per suggestion here, {1000 * stated:.3g} ms stated{verdict}"


def _require_equal(trial: Trial, one: list[Proposal], other: list[Proposal], what: str) -> None:
    for number, (a, b) in enumerate(zip(one, other, strict=True), 1):
        if a != b:
            raise Failed(f"{what} led to {_told(trial, a)} and {_told(trial, b)} as proposal {number}")


def _told(trial: Trial, proposal: Proposal) -> str:
    """A proposal in words, with its level if there are several."""
    text = trial.benchmark.space.to_json(proposal.configuration)
    if proposal.level == trial.benchmark.highest and proposal.continues is None:
        return text
    return f"{text} at level {proposal.level}" + (
        "" if proposal.continues is None else f" of trial {proposal.continues}"
    )


_ALL = {
    "proposes members of the space": _proposes_members,
    "same seed, same proposals, whatever else draws": _same_seed_same_proposals,
    "another process, or processor, proposes the same": _same_elsewhere,
    "workers may finish in any order": _workers_in_any_order,
    "resumes exactly": _resumes_exactly,
    "levels are legal, and only trainings that were told go on": _trains_as_it_may,
    **{promise: _bears(pose) for promise, pose in PROBLEMS.items()},
    "refuses spaces it cannot search": _refuses_other_spaces,
    "refuses options it does not have": _refuses_wrong_options,
}
METHOD_CHECKS = tuple(Check(promise, function, Trial.of) for promise, function in _ALL.items())
