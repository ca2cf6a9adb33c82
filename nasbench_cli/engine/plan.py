"""Expands a request into runs: a grid of setups × seeds, checked before anything runs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from nasbench.base.errors import Misfit
from nasbench.base.numbers import listed
from nasbench.benchmarks import (
    BENCHMARKS,
    Benchmark,
    Constraint,
    Metric,
    UsageError,
    abilities,
    label,
    open_benchmark,
)
from nasbench.benchmarks.constraints import Bounds
from nasbench.benchmarks.spaces import AsFlat, AsSequence
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.cli.engine.evaluations import refusing
from nasbench.cli.engine.long_searches import beginning, too_long
from nasbench.cli.engine.loop import MAX_EVALUATIONS
from nasbench.cli.engine.sealed import is_sealed
from nasbench.cli.engine.shares import added, reference
from nasbench.methods import METHODS, MethodSpec, Problem
from nasbench.results import Setting, Setup
from nasbench.results.sources import SourceDigest

_MOST_SECONDS = 1e12
_MOST_RUNS = 10_000_000
"""Largest budget in seconds, some thirty thousand years: numbers derived from it stay finite."""


@dataclass(frozen=True)
class Protocol:
    """Budget, workers and clock of every run of a grid. Raises UsageError if a value is out of range."""

    evals: int | None = 200
    """Budget in evaluations per run; None if only seconds count."""
    seconds: float | None = None
    """Budget in seconds on the run's clock; None if only evaluations count."""
    workers: int = 1
    """Number of asynchronous workers of a run."""
    charge_thinking: bool = False
    """Whether the method's measured time is added to a simulated clock."""
    train_infeasible: bool = False
    """Whether live networks are trained although they violate a constraint that is known before training. On tables,
    everything is evaluated."""

    def __post_init__(self) -> None:
        if self.evals is None and self.seconds is None:
            raise UsageError("a run needs a budget: evals, budget-seconds, or both")
        if self.evals is not None and not 1 <= self.evals <= MAX_EVALUATIONS:
            raise UsageError(f"evals must lie in [1, {MAX_EVALUATIONS}], not {self.evals}")
        for name, kind in (("evals", int), ("workers", int), ("seconds", float)):  # 60 and 60.0 are one budget
            value = getattr(self, name)
            object.__setattr__(self, name, value if value is None else kind(value))  # NumPy's numbers become Python's
        if self.seconds is not None and not 0 < self.seconds <= _MOST_SECONDS:
            raise UsageError(f"budget-seconds must be above 0 and at most {_MOST_SECONDS:g}, not {self.seconds:g}")
        if not 1 <= self.workers <= 10_000:
            raise UsageError(f"workers must lie in [1, 10000], not {self.workers}")


def parse_seeds(value: str | int) -> tuple[int, ...]:
    """Reads seeds: `20` means 0 … 19, and `5:8` means 5, 6, 7. Raises UsageError for anything else."""
    match = re.fullmatch("(?:([0-9]{1,9}):)?([0-9]{1,9})", str(value).strip())
    seeds = range(int(match[1] or 0), int(match[2])) if match else range(0)
    if not 0 < len(seeds) <= 1_000_000:
        raise UsageError(
            f"seeds {value!r} must be a count (20) or first:end (5:8 for 5, 6, 7), of 1 to 1,000,000 seeds"
        )
    return tuple(seeds)


@dataclass(frozen=True)
class Grid:
    """Every method on every benchmark under every constraint setting, with the same seeds and protocol."""

    methods: tuple[MethodSpec, ...]
    """The methods with their options."""
    benchmarks: tuple[str, ...]
    """Names of the benchmarks."""
    constraints: tuple[tuple[Constraint, ...], ...]
    """The constraint settings; inequalities inside one setting hold together, and an empty one constrains nothing."""
    seeds: tuple[int, ...]
    """The seeds of every setup, one run each."""
    protocol: Protocol
    """Budget, workers and clock of every run."""
    objectives: tuple[str, ...] = ()
    """Names of the metrics to optimise; empty for each benchmark's own objective."""
    places: Mapping[str, str] = field(default_factory=dict, compare=False)
    """File and line of `methods`, `constraints` and `objectives` in a suite, for errors; empty for a grid that comes
    from options."""


@dataclass(frozen=True)
class PlannedSetup:
    """A setup with everything that its runs need; it is sent to other processes, so it has names, not objects."""

    setup: Setup
    """Everything that determines the runs except the seed."""
    spec: MethodSpec
    """The method with its options."""
    bounds: Bounds
    """The constraints as limits on the benchmark's metrics."""
    seeds: tuple[int, ...]
    """The seeds that were asked for, ascending."""
    beginning: float = 0.0
    """Seconds of the method's first ask if it is a long one (`LongSearch.beginning`), else 0."""
    sources: tuple[SourceDigest, ...] = ()
    """The source files of the method and the benchmark when the command began, to be stored with the runs."""

    @property
    def live(self) -> bool:
        """Whether evaluations are computed now, on the wall clock, rather than looked up in a table."""
        return open_benchmark(self.setup.bench).live


@dataclass(frozen=True)
class Fitting:
    """The setups of some grids, without those whose method does not fit their benchmark."""

    planned: list[PlannedSetup]
    left_out: tuple[str, ...]
    """A sentence, without its full stop, about each method and its reason not to fit."""


def expand(grids: Sequence[Grid]) -> list[PlannedSetup]:
    """The setups of some grids that fit (`fitting`), however long their searches take."""
    return fitting(grids, force=True).planned


def fitting(grids: Sequence[Grid], force: bool = False) -> Fitting:
    """The setups of some grids; a setup in several grids is listed once, with the union of its seeds.

    A method that does not fit a benchmark is left out there.

    Args:
        force: whether to keep methods whose first ask is expected to take longer than the budget.

    Raises UsageError if no method fits any benchmark, an option is out of range, nothing is feasible, or runs are too
    many.
    """
    runs = sum(len(g.benchmarks) * len(g.constraints) * len(g.methods) * len(g.seeds) for g in grids)
    if runs > _MOST_RUNS:
        raise UsageError(f"{runs:,} runs are asked for, and one command plans {_MOST_RUNS:,} at most: ask for a part")
    planned: dict[str, PlannedSetup] = {}
    misfits: dict[tuple[str, str], dict[str, None]] = {}
    """Method and reason → the benchmarks that it does not fit for this reason."""
    for grid in grids:
        for name in grid.benchmarks:
            benchmark = open_benchmark(name)
            with _placed(grid, "objectives"):
                objectives = abilities.objectives(benchmark, grid.objectives)
            for constraints in grid.constraints:
                with _placed(grid, "constraints"):
                    bounds = abilities.bounds(benchmark, constraints)
                    setting = _setting(benchmark, bounds, objectives)
                for spec in grid.methods:
                    try:
                        with _placed(grid, "methods", f"; --without {spec.name} leaves it out"):
                            first_ask = _check_fit(spec, benchmark, bounds, objectives, grid.protocol, force)
                    except Misfit as misfit:
                        misfits.setdefault((spec.name, str(misfit)), {})[benchmark.name] = None
                        continue
                    setup = _setup(spec, benchmark, label(constraints), bounds, objectives, setting, grid.protocol)
                    known = planned[setup.id].seeds if setup.id in planned else ()
                    seeds = tuple(sorted({*known, *grid.seeds}))
                    planned[setup.id] = PlannedSetup(setup, spec, bounds, seeds, first_ask)
    left_out = tuple(f"{name} does not run on {listed([*benches])}: {why}" for (name, why), benches in misfits.items())
    if not planned:
        raise UsageError("; ".join(left_out))
    return Fitting(list(planned.values()), left_out)


@contextmanager
def _placed(grid: Grid, key: str, remedy: str = "") -> Iterator[None]:
    """Adds the place of a key in the suite file to a UsageError, and a remedy; nothing if the grid has no file."""
    try:
        yield
    except UsageError as error:
        if key not in grid.places or isinstance(error, Misfit):
            raise
        raise UsageError(f"{grid.places[key]}: {error}{remedy}") from None


def is_current(setup: Setup) -> bool | None:
    """Whether a stored setup is what would run here: its data, and the version and the options of its method.

    None if this installation lacks the benchmark or the method, or cannot read its table; True of runs that were made
    elsewhere.
    """
    if setup.is_elsewhere:
        return True
    try:
        data = open_benchmark(setup.bench).checksum
        name = setup.method.partition(":")[0]
        METHODS.get(str(dict(setup.parameters).get(METHODS.get(name).about.by, name)))  # by which it searches
    except UsageError:
        return None  # a plug-in or an imported table that is not installed
    try:
        spec = MethodSpec.parse(setup.method)
        today = (data, spec.version, spec.parameters())
    except UsageError:
        return False  # an option that it no longer has
    return (setup.data, setup.method_version, setup.parameters) == today


def _check_fit(
    spec: MethodSpec,
    benchmark: Benchmark,
    bounds: Bounds,
    objectives: tuple[Metric, ...],
    protocol: Protocol,
    force: bool,
) -> float:
    """Checks that a method can run on a benchmark, and returns the expected seconds of its first ask.

    Args:
        force: whether that may be more than the budget.

    Raises Misfit, with the reason, if it cannot; UsageError for an option or a protocol that is wrong.
    """
    problem = Problem.of(benchmark, bounds, objectives=objectives)
    if why := misfit(spec, problem):
        lacks_fidelity = spec.method.needs.fidelity and benchmark.fidelity is None and not problem.several
        elsewhere = _with_fidelity(spec) if lacks_fidelity else ""
        raise Misfit(f"{why}{elsewhere}")
    if benchmark.live and protocol.charge_thinking:
        raise UsageError(f"--charge-thinking is for simulated clocks; on {benchmark.name} the clock is real anyway")
    ends_by_clock = protocol.evals is None and protocol.seconds is not None and not protocol.charge_thinking
    if ends_by_clock and _is_free(benchmark):
        raise UsageError(
            f"evaluations of {benchmark.name} take no time, so seconds are no budget: give evaluations (--evals), or "
            "--charge-thinking too"
        )
    seconds = beginning(spec, problem)
    on_clock = benchmark.live or protocol.charge_thinking
    if on_clock and not force and protocol.seconds is not None and seconds > protocol.seconds:
        raise Misfit(too_long(spec, problem, seconds, protocol.seconds))
    return seconds


def _is_free(benchmark: Benchmark) -> bool:
    return isinstance(benchmark, TabularBenchmark) and benchmark.is_free


def _with_fidelity(spec: MethodSpec) -> str:
    """The end of a sentence: benchmarks with several fidelities that a method fits, one per group of names.

    Empty if there are none.
    """
    groups: dict[str, list[str]] = {}
    for name in BENCHMARKS.names():
        with suppress(UsageError):  # its data are missing
            benchmark = open_benchmark(name)
            if benchmark.fidelity and not spec.misfit(Problem.of(benchmark)):
                groups.setdefault(name.partition("-")[0], []).append(name)
    named = [
        f"{names[0]} (and {len(names) - 1} more {group}-…)" if names[1:] else names[0]
        for group, names in groups.items()
    ]
    return f"; these have several: {', '.join(named)}" if named else ""


def misfit(spec: MethodSpec, problem: Problem) -> str:
    """The reason why a method cannot run on a problem: what it says, or that the space cannot give a view it needs."""
    if why := spec.misfit(problem):
        return f"it {why}"
    space, needs = problem.space, spec.method.needs.views
    try:
        if AsSequence in needs and isinstance(space, AsSequence):
            space.as_sequence()
        if AsFlat in needs and isinstance(space, AsFlat) and not space.as_flat().hyperparameters:
            return "there is nothing to choose (try random)"
    except UsageError as error:  # it is infinite
        return str(error)
    return ""


def _setting(benchmark: Benchmark, bounds: Bounds, objectives: tuple[Metric, ...]) -> Setting:
    oracle, objective = abilities.oracle(benchmark, bounds), benchmark.objective
    setting = Setting(
        space=benchmark.search_space or benchmark.family,
        sealed=is_sealed(benchmark),
        caution=benchmark.caution,
        family=benchmark.family,
        objective=objective.name,
        unit=objective.unit,
        split=objective.split or "",
        bounds=tuple(map(str, bounds)),
        oracle=oracle.best if oracle else None,
        worst=oracle.worst if oracle else None,
        feasible_share=oracle.feasible_share if oracle else None,
        median=oracle.median if oracle else None,
        score_oracle=oracle.best_mean if oracle and math.isfinite(oracle.best_mean) else None,
        score_worst=oracle.worst_mean if oracle and math.isfinite(oracle.worst_mean) else None,
        noise=oracle.noise if oracle and math.isfinite(oracle.noise) else None,
        test_metrics=tuple(metric.name for metric in benchmark.metrics if metric.is_test),
        maximised=tuple(metric.name for metric in benchmark.metrics if not metric.minimize),
        reference=benchmark.reference,
        highest=benchmark.highest.work,
    )
    return setting if len(objectives) == 1 else _of_several(setting, benchmark, bounds, objectives)


def _of_several(setting: Setting, benchmark: Benchmark, bounds: Bounds, objectives: tuple[Metric, ...]) -> Setting:
    """The facts of a setting with several objectives: 1 - the share of the hypervolume takes the objective's place."""
    known = reference(benchmark, objectives, bounds)
    return replace(
        setting,
        objective=" and ".join(metric.name for metric in objectives),
        unit="",
        split=next((metric.split for metric in objectives if metric.split), ""),
        oracle=0.0 if known else None,
        worst=1.0,
        score_oracle=0.0 if known else None,
        score_worst=1.0,
        median=1.0 - known.median if known else None,
        noise=None,
        test_metrics=(),  # there is no single incumbent whose test metrics could be reported
        scales=tuple(metric.scale for metric in objectives),
        front=tuple(map(tuple, known.values.tolist())) if known else (),
    )


def _setup(
    spec: MethodSpec,
    benchmark: Benchmark,
    constraint: str,
    bounds: Bounds,
    objectives: tuple[Metric, ...],
    setting: Setting,
    protocol: Protocol,
) -> Setup:
    several = len(objectives) > 1
    return Setup(
        method=spec.label,
        parameters=spec.parameters(),
        method_version=spec.version,
        bench=benchmark.name,
        data=benchmark.checksum,
        constraint=constraint,
        evals=protocol.evals,
        seconds=protocol.seconds,
        workers=protocol.workers,
        charge_thinking=protocol.charge_thinking,
        train_infeasible=protocol.train_infeasible and bool(refusing(benchmark, bounds)),
        metrics=(*(metric.name for metric in benchmark.metrics), *(added(objectives) if several else ())),
        setting=setting,
        initial=spec.initial,
        tuned_on=spec.tuned_on,
        objectives=tuple(metric.name for metric in objectives) if several else (),
    )
