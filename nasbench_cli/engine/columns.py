"""The columns of a trajectory, computed once over arrays when a run is over, from what its loop kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nasbench.benchmarks import Benchmark, Evaluation, Metric
from nasbench.benchmarks.abilities import KnowsMeans
from nasbench.benchmarks.constraints import Bounds
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.engine.evaluations import row_of
from nasbench.cli.engine.hidden_repetition import UNKNOWN, HiddenRepetition
from nasbench.cli.engine.shares import with_shares
from nasbench.cli.engine.workers import PendingEvaluation

Array: TypeAlias = NDArray[Any]


class Done(NamedTuple):
    """An evaluation of which the method has been told: what cannot be derived when the run is over."""

    pending: PendingEvaluation
    evaluation: Evaluation
    started: float
    finished: float
    thinking: float
    """Measured seconds of the method for its ask and its tell."""


def columns_of(
    done: Sequence[Done],
    benchmark: Benchmark,
    bounds: Bounds,
    objectives: tuple[Metric, ...],
    hidden: HiddenRepetition | None,
) -> dict[str, Array]:
    """The columns of a trajectory (`results.Row`) in the order in which the method was told.

    Args:
        objectives: the metrics to optimise.
        hidden: scores incumbents; None if no repetition is hidden from the run.
    """
    pending = [each.pending for each in done]
    evaluations = [each.evaluation for each in done]
    configurations = [each.configuration for each in pending]
    is_ok = np.array([e.status == "ok" for e in evaluations], bool)
    metrics = np.array([row_of(e) for e in evaluations], float).reshape(len(done), len(benchmark.metrics))
    feasible = is_ok & bounds.satisfied(metrics, benchmark.places)
    level = np.array([each.level.work for each in pending], np.int64)
    incumbent, is_new = incumbents(metrics[:, 0], feasible, level)
    means, by_means = _means(benchmark, configurations, bounds)
    worth, worth_feasible = _hidden_worth(configurations, is_new, hidden)
    several = len(objectives) > 1
    columns: dict[str, Array] = {
        "evaluation": np.arange(1, len(done) + 1),
        "worker": np.array([each.worker for each in pending], np.int64),
        "configuration": _texts(benchmark, configurations),
        "objective": metrics[:, 0],
        "feasible": feasible,
        "incumbent": incumbent,
        "started": np.array([each.started for each in done], float),
        "finished": np.array([each.finished for each in done], float),
        "thinking": np.array([each.thinking for each in done], float),
        "status": np.array([e.status for e in evaluations], object),
        "reason": np.array([e.reason for e in evaluations], object),
        "metrics": metrics,
        "score": np.full(len(done), math.nan) if several else means[:, 0],
        "score_feasible": by_means,
        "trial": np.array([each.trial for each in pending], np.int64),
        "level": level,
        "cost": np.array([e.cost for e in evaluations], float),
        "spent": np.cumsum([each.added for each in pending]) / benchmark.highest.work,
        "hidden": worth,
        "hidden_feasible": worth_feasible,
    }
    return with_shares(columns, means, benchmark, objectives, bounds) if several else columns


def with_end(columns: dict[str, Array], clock: float, failure: str) -> dict[str, Array]:
    """The columns of a failed run with the row that ends it: the incumbent stays, and nothing else is known.

    Args:
        clock: seconds on the run's clock.
        failure: the reason.
    """
    last = {name: columns[name][-1:] for name in ("incumbent", "hidden", "hidden_feasible")}
    known = {name: values[0] for name, values in last.items() if len(values)}
    known |= {"evaluation": len(columns["evaluation"]) + 1, "started": clock, "finished": clock, "thinking": 0.0}
    known |= {"worker": 0, "trial": 0, "level": 1, "feasible": False, "status": "failed", "reason": failure}
    ended = {}
    for name, values in columns.items():
        row = np.full(
            (1, *values.shape[1:]), known.get(name, None if values.dtype == object else math.nan), values.dtype
        )
        ended[name] = np.concatenate([values, row])
    return ended


def incumbents(objective: Array, feasible: Array, level: Array) -> tuple[Array, Array]:
    """The incumbent's objective after each row (NaN before the first), and whether the row becomes the incumbent.

    The incumbent is the best feasible row among those at the highest level that a feasible one has reached.
    """
    after, is_new = np.full(len(objective), math.nan), np.zeros(len(objective), np.bool_)
    top, best = 0, math.nan
    for i in np.flatnonzero(feasible).tolist():
        if level[i] > top or (level[i] == top and not objective[i] >= best):  # the first best is NaN
            top, best, is_new[i] = level[i], objective[i], True
            after[i:] = best
    return after, is_new


def _texts(benchmark: Benchmark, configurations: Sequence[Configuration]) -> Array:
    """The JSON of each configuration, made once for equal ones."""
    texts = {configuration: benchmark.space.to_json(configuration) for configuration in dict.fromkeys(configurations)}
    return np.array([texts[configuration] for configuration in configurations], object)


def _means(benchmark: Benchmark, configurations: Sequence[Configuration], bounds: Bounds) -> tuple[Array, Array]:
    """The means over the table's repetitions, shape (rows, metrics), and whether they are feasible; NaN and None where
    no table has them."""
    shape = len(configurations), len(benchmark.metrics)
    if not isinstance(benchmark, KnowsMeans):
        return np.full(shape, math.nan), np.full(len(configurations), None)
    known = {}
    for configuration in dict.fromkeys(configurations):
        metrics = benchmark.mean_metrics(configuration)
        known[configuration] = [metrics[name] for name in benchmark.places]
    means = np.array([known[configuration] for configuration in configurations], float).reshape(shape)
    return means, (np.isfinite(means[:, 0]) & bounds.satisfied(means, benchmark.places)).astype(object)


def _hidden_worth(
    configurations: Sequence[Configuration], is_new: Array, hidden: HiddenRepetition | None
) -> tuple[Array, Array]:
    """What the incumbent after each row is worth by the hidden repetition: objectives and feasibilities."""
    worth = [UNKNOWN]
    if hidden is not None:
        worth += [hidden.score_of(configurations[i]) for i in np.flatnonzero(is_new).tolist()]
    number = np.cumsum(is_new) if hidden is not None else np.zeros(len(is_new), np.int64)
    return np.array([value for value, _ in worth])[number], np.array([is_fine for _, is_fine in worth], object)[number]
