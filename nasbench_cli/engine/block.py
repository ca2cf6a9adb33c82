"""Computes a whole run with arrays, where the method learns nothing and a table answers: the same rows, much faster."""

from __future__ import annotations

import heapq
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasbench.base.foreign import pass_on
from nasbench.benchmarks import Bound, abilities
from nasbench.benchmarks.constraints import satisfied
from nasbench.benchmarks.tabular import TabularBenchmark
from nasbench.cli.engine.evaluations import usable
from nasbench.cli.engine.held_back import draw_block, worth_block
from nasbench.cli.engine.shares import with_shares
from nasbench.cli.engine.watch import asking, evaluating
from nasbench.cli.engine.workers import EvaluationSeeds
from nasbench.methods import MethodSpec, Problem
from nasbench.results import Setup


def run_block(
    setup: Setup,
    spec: MethodSpec,
    benchmark: TabularBenchmark,
    bounds: tuple[Bound, ...],
    rng: np.random.Generator,
    seeds: EvaluationSeeds,
) -> dict[str, NDArray[Any]] | None:
    """The columns of the trajectory that the event loop would give; only `thinking` differs.

    Returns None where the event loop must compute the run: method, benchmark or space does not declare `blockwise`, the
    method learns, the budget is in seconds, thinking is charged, a metric has a price (`Metric.seconds`), or the method
    or an evaluation fails. The random streams are used up then: the caller begins again with fresh ones.
    """
    n = setup.evals
    if n is None or setup.seconds is not None or setup.charge_thinking:
        return None
    if any(metric.seconds for metric in benchmark.metrics):  # what the method asks for goes on the clock
        return None
    if not (spec.method.blockwise and benchmark.blockwise and benchmark.space.blockwise):
        return None
    objectives = abilities.objectives(benchmark, setup.objectives)
    begin = perf_counter()
    try:
        with asking(0):
            block = spec.build(Problem.of(benchmark, bounds, objectives=objectives), rng).ask_block(n)
    except BaseException as error:
        pass_on(error)
        return None  # the loop will meet it too, and record it
    thinking = perf_counter() - begin
    if block is None or not benchmark.space.has_block(block, n):
        return None
    drawn = seeds.first(n)
    held = np.full(n, -1)
    if setup.held_back:
        drawn, held = draw_block(benchmark, block, drawn, seeds.held_back)
    with evaluating(0, 0):
        metrics = benchmark.evaluate_block(block, drawn)
    if metrics is None:
        return None
    needed = [benchmark.places[objective.name] for objective in objectives]
    if not (usable(benchmark, metrics).all() and np.isfinite(metrics[:, needed]).all()):
        return None
    logs = [place for objective, place in zip(objectives, needed, strict=True) if objective.log]
    if len(objectives) > 1 and (metrics[:, logs] <= 0).any():
        return None
    costs = benchmark.costs(metrics)
    asks, workers, started, finished = schedule(costs, setup.workers)
    metrics, held, block = metrics[asks], held[asks], block[asks]
    means = benchmark.mean_metrics_block(block)
    feasible, score_feasible = (satisfied(bounds, values, benchmark.places) for values in (metrics, means))
    objective = np.where(feasible, metrics[:, 0], np.inf)
    best = np.minimum.accumulate(objective)
    is_new = objective < np.append(np.inf, best[:-1])
    several = len(objectives) > 1
    nothing = np.full(n, np.nan), np.empty(n, object)
    worth = worth_block(benchmark, bounds, block, held, is_new) if setup.held_back else nothing
    columns = {
        "evaluation": np.arange(1, n + 1),
        "worker": workers,
        "configuration": benchmark.space.block_to_json(block),
        "objective": metrics[:, 0],
        "feasible": feasible,
        "incumbent": np.where(np.isinf(best), np.nan, best),
        "started": started,
        "finished": finished,
        "thinking": np.full(n, thinking / n),
        "status": np.full(n, "ok", object),
        "reason": np.full(n, "", object),
        "metrics": metrics,
        "score": nothing[0] if several else means[:, 0],
        "score_feasible": score_feasible.astype(object),
        "trial": asks,
        "level": np.full(n, benchmark.highest.work),
        "cost": costs[asks],
        "spent": np.arange(1.0, n + 1),
        "unseen": worth[0],
        "unseen_feasible": worth[1],
    }
    return with_shares(columns, means, benchmark, objectives, bounds) if several else columns


def schedule(costs: NDArray[np.float64], workers: int) -> tuple[NDArray[Any], ...]:
    """Assigns evaluations to asynchronous workers: each takes the next ask when it is free.

    Args:
        costs: seconds of each evaluation in the order of asking, shape (evaluations,).
        workers: number of workers.

    Returns, in the order in which evaluations finish (ties: in the order of asking): the asks, the workers, and the
    times at which they start and finish.
    """
    if workers == 1:
        finished = np.cumsum(costs)
        return np.arange(len(costs)), np.zeros(len(costs), int), np.append(0.0, finished[:-1]), finished
    durations = costs.tolist()
    events = [(duration, ask, ask, 0.0) for ask, duration in enumerate(durations[:workers])]
    heapq.heapify(events)
    order = []
    for ask, duration in enumerate(durations[workers:], start=len(events)):
        now, _, worker, _ = event = events[0]
        order.append(event)
        heapq.heapreplace(events, (now + duration, ask, worker, now))
    order += sorted(events)
    ends, asks, by, starts = zip(*order, strict=True)
    return np.array(asks), np.array(by), np.array(starts), np.array(ends)
