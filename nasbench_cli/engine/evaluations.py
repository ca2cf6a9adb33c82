"""Single evaluations as a run sees them: whatever a benchmark answers or raises becomes an evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

from nasbench.base.errors import StoppedAt
from nasbench.base.faults import DeviceLost
from nasbench.base.foreign import at_work, described, end_copies, pass_on, plain, trace, where
from nasbench.base.layout import one_line
from nasbench.base.metrics import LARGEST, Metric, Values, as_number
from nasbench.benchmarks import Benchmark, Bound, Evaluation, Level, abilities
from nasbench.benchmarks.constraints import NO_BOUNDS, Bounds
from nasbench.benchmarks.contract import Status
from nasbench.benchmarks.spaces import AsSupernet, Configuration
from nasbench.methods.refusals import Refusals

_LONG = 1.0  # seconds of a call after which Ctrl-C names the line that it stops


def is_feasible(evaluation: Evaluation, bounds: Bounds) -> bool:
    """Whether an evaluation is done, and satisfies the constraints."""
    return evaluation.status == "ok" and bounds.hold(evaluation.metrics)


def refusing(benchmark: Benchmark, bounds: Bounds) -> Bounds:
    """The constraints by which a run refuses to train: those known beforehand, where networks are trained.

    On a table that has images to search on, an evaluation stands for a training, too: one-shot methods draw among what
    is allowed, and so must the others.
    """
    return bounds.known if benchmark.live or isinstance(benchmark.space, AsSupernet) else NO_BOUNDS


def refusals(benchmark: Benchmark, bounds: Bounds) -> Refusals | None:
    """What a run refuses by some constraints (`refusing`), for its method; None if it refuses nothing."""
    return Refusals(lambda configuration: refused(benchmark, configuration, bounds) is not None) if bounds else None


def refused(benchmark: Benchmark, configuration: Configuration, bounds: Bounds) -> Evaluation | None:
    """The evaluation of a configuration that violates a constraint which is known before training; None if none is.

    It costs the stated seconds of what was looked up (`Metric.seconds`).

    Args:
        bounds: on cheap metrics (`Metric.cheap`).
    """
    names = [bound.metric.name for bound in bounds]
    values = {name: value for name in names if (value := _known(benchmark, name, configuration)) is not None}
    broken = [b for b in bounds if b.metric.name in values and not b.holds(values[b.metric.name])]
    if not broken:
        return None
    metrics = Values(benchmark.places, tuple(values.get(name, math.nan) for name in benchmark.places))
    limits = "; ".join(_broken(bound, values[bound.metric.name]) for bound in broken)
    cost = math.fsum(bound.metric.seconds for bound in bounds)
    return Evaluation(metrics, cost, "infeasible", f"known before training: {limits}")


def _known(benchmark: Benchmark, metric: str, configuration: Configuration) -> float | None:
    """A cheap metric; None where asking for it fails: then the evaluation itself will tell why."""
    try:
        return float(abilities.known(benchmark, metric, configuration))
    except BaseException as error:
        pass_on(error)
        return None


def _broken(bound: Bound, value: float) -> str:
    """How a value, NaN of what cannot be trained (`KnowsBefore`), does not satisfy a bound."""
    name = bound.metric.name
    return f"it has no {name}" if math.isnan(value) else f"{name} is {value:g}, not {bound.interval}"


def attempt(
    benchmark: Benchmark, configuration: Configuration, seed: int, level: Level | None = None, state: Path | None = None
) -> Evaluation:
    """Evaluates; an exception, a NaN or another answer that cannot be used becomes a failed evaluation.

    Args:
        level: the level of the fidelity at which it ends; None for the highest.
        state: where the evaluation may keep what it has done so far; None where it is not to.

    The evaluation has all metrics of the benchmark, in their order; NaN unless it is ok.
    """
    cost, began = 0.0, perf_counter()
    status: Status = "failed"
    try:
        answer = benchmark.evaluate(configuration, seed, level, state)
        end_copies()
        cost = as_number("its cost", answer.cost)
        if not 0 <= cost < math.inf:
            reason = f"a cost of {cost} s, which is no number of seconds"
            cost = 0.0
        elif answer.status != "ok":
            status = "infeasible" if answer.status == "infeasible" else "failed"
            reason = one_line(plain(str(answer.reason))) or f"its status is {answer.status!r}, without a reason"
        elif not math.isfinite((metrics := _measured(benchmark, answer.metrics)).row[0]):
            reason = f"{benchmark.objective.name} is {metrics.row[0]}"
        elif large := [value for value in (cost, *metrics.row) if LARGEST < abs(value) < math.inf]:
            reason = f"a metric or the cost is {large[0]:g}: a value is at most {LARGEST:g} in size"
            cost = 0.0 if cost > LARGEST else cost
        else:
            remark = answer.reason and one_line(plain(str(answer.reason)))
            return Evaluation(metrics, cost, reason=remark, curve=_curve(benchmark, answer.curve, level))
    except DeviceLost:
        raise  # it says nothing of the configuration
    except BaseException as error:
        reason = explained(error, type(benchmark), began=began)
    return Evaluation(_nothing(benchmark), cost, status, reason)


def with_objectives(benchmark: Benchmark, evaluation: Evaluation, objectives: Sequence[Metric]) -> Evaluation:
    """A full evaluation; failed if one of several objectives has no value, or no logarithm if it counts by it."""
    if evaluation.status != "ok" or len(objectives) < 2:
        return evaluation
    for objective in objectives:
        value = evaluation.metrics[objective.name]
        if not math.isfinite(value):
            reason = f"{objective.name} is {value}, and it is an objective"
        elif objective.log and value <= 0:
            reason = f"{objective.name} is {value:g}, and it is an objective that counts by its logarithm"
        else:
            continue
        return Evaluation(_nothing(benchmark), evaluation.cost, "failed", reason)
    return evaluation


def row_of(evaluation: Evaluation) -> tuple[float, ...]:
    """The values of an evaluation that `attempt` has made, in the order of the benchmark's metrics."""
    metrics = evaluation.metrics
    return metrics.row if type(metrics) is Values else tuple(metrics.values())


def _measured(benchmark: Benchmark, values: Mapping[str, float]) -> Values:
    """The values of a benchmark's metrics, in their order. Raises ValueError if one lacks, is none, or is foreign."""
    if type(values) is Values and values.shares(benchmark.places):
        return values
    if strange := sorted(benchmark.places.keys() ^ values.keys()):
        raise ValueError(f"it gives other metrics than the benchmark has: {', '.join(strange)}")
    return Values(benchmark.places, tuple(as_number(f"its {name}", values[name]) for name in benchmark.places))


def _curve(benchmark: Benchmark, curve: Sequence[float] | None, level: Level | None) -> tuple[float, ...] | None:
    """The curve of an evaluation up to a level. Raises ValueError if its length is another than the level's."""
    if curve is None:
        return None
    values, fidelity = tuple(map(float, curve)), benchmark.fidelity
    if fidelity is None:
        raise ValueError("it gives a curve, and has no fidelity")
    axis = fidelity.axes[0]
    length = axis.values.index((level or fidelity.highest)[axis.name]) + 1
    if len(values) != length:
        raise ValueError(
            f"its curve has {len(values)} values up to {axis.name} {axis.values[length - 1]}, not {length}"
        )
    return values


def _nothing(benchmark: Benchmark) -> Values:
    return Values(benchmark.places, (math.nan,) * len(benchmark.metrics))


def explained(error: BaseException, item: type | None = None, longest: int = 500, began: float | None = None) -> str:
    """An error of foreign code as a reason to record: its type, its text and its place, in one line.

    Whatever a plug-in raises is recorded, sys.exit, GeneratorExit and KeyboardInterrupt too; only the user's Ctrl-C is
    raised again, as StoppedAt where the call has gone on for long.

    Args:
        item: the class that was called; if it is a third party's, the place is in its own files.
        longest: largest number of letters of type and text.
        began: when the call began, by `perf_counter`.
    """
    try:
        pass_on(error)
    except KeyboardInterrupt as stop:
        is_long = began is not None and perf_counter() - began > _LONG
        place = at_work(error, item) if is_long and item is not None else ""
        if place:
            raise StoppedAt(place) from stop
        raise
    trace(error)
    place = where(error, item)
    return one_line(described(error), longest) + (f" ({place})" if place else "")
