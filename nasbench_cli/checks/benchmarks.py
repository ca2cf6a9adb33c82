"""The promises of a benchmark (the contract is in `nasbench.benchmarks.Benchmark`)."""

from __future__ import annotations

import math
import tempfile
from bisect import bisect_right
from pathlib import Path

import numpy as np
from numpy.random import Generator

from nasbench.benchmarks import Benchmark, Evaluation, Fidelity, UsageError, open_benchmark
from nasbench.benchmarks.spaces import Configuration
from nasbench.benchmarks.spaces.base import ForeignConfiguration
from nasbench.cli.checks.base import (
    Check,
    changes,
    check_member,
    global_state,
    require,
    require_untouched,
    same,
    scrambled,
)

_SAMPLES, _LIVE_EVALUATIONS = 50, 2
_FOREIGN = (None, object(), "x", -1, (), ("no", "such", "choice"))


def _rng() -> Generator:
    return np.random.default_rng(0)


def _evaluated(benchmark: Benchmark) -> list[tuple[Configuration, int]]:
    """Random configurations with seeds: 50, or 2 on a live benchmark, where each evaluation trains a network."""
    rng = _rng()
    count = _LIVE_EVALUATIONS if benchmark.live else _SAMPLES
    return [(benchmark.space.sample(rng), int(rng.integers(2**63))) for _ in range(count)]


def _measured(benchmark: Benchmark) -> list[int]:
    """The columns that a seed decides, also on a live benchmark, whose seconds are measured anew."""
    return [i for i, metric in enumerate(benchmark.metrics) if metric.split is not None or metric.cheap]


def _is_described(benchmark: Benchmark) -> None:
    for name in ("name", "family", "source", "licence", "checksum"):
        require(getattr(benchmark, name, ""), f"{name} is empty: it is part of a run's identity or provenance")
    require(benchmark.metrics, "it has no metric")
    names = [metric.name for metric in benchmark.metrics]
    require(len(set(names)) == len(names), f"two metrics have one name: {names}")
    require(benchmark.objective.minimize, f"the first metric, {names[0]}, is maximised: the objective is minimised")
    require(not benchmark.objective.held_out, f"the objective {names[0]} is measured on a test split")


def _space_holds_together(benchmark: Benchmark) -> None:
    rng, space = _rng(), benchmark.space
    for _ in range(_SAMPLES):
        configuration = space.sample(rng)
        check_member(space, configuration, "sample")
        neighbour = space.mutate(configuration, rng)
        check_member(space, neighbour, "mutate")
        require(neighbour != configuration, f"mutate leaves {configuration!r} as it is")
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(5):
        require(space.sample(one) == space.sample(other), "sample draws from something else than the generator it gets")


def _refuses_what_is_foreign(benchmark: Benchmark) -> None:
    for foreign in _FOREIGN:
        try:
            benchmark.space.check(foreign)
        except ForeignConfiguration:
            continue
        except Exception as error:
            require(False, f"check({foreign!r}) raises {type(error).__name__} instead of ForeignConfiguration")
        require(False, f"check accepts {foreign!r}")


def _same_seed_same_scores(benchmark: Benchmark) -> None:
    benchmark.make_ready()
    measured = _measured(benchmark)
    for configuration, seed in _evaluated(benchmark):
        first = benchmark.evaluate(configuration, seed)
        scrambled()
        second = benchmark.evaluate(configuration, seed)
        columns = measured if benchmark.live else range(len(benchmark.metrics))  # seconds are measured anew
        one, other = ([evaluation.metrics[i] for i in columns] for evaluation in (first, second))
        require(
            same(one, other) and first.status == second.status,
            f"{benchmark.space.to_json(configuration)} with seed {seed} scores {one}, then {other}",
        )


def _evaluations_are_whole(benchmark: Benchmark) -> None:
    benchmark.make_ready()
    for configuration, seed in _evaluated(benchmark):
        metrics, cost, status, reason, _ = benchmark.evaluate(configuration, seed)
        where = f"the evaluation of {benchmark.space.to_json(configuration)}"
        require(len(metrics) == len(benchmark.metrics), f"{where} has {len(metrics)} metrics, not all that it lists")
        require(math.isfinite(cost) and cost >= 0, f"{where} costs {cost} seconds")
        require(status in ("ok", "failed", "infeasible"), f"{where} has status {status!r}")
        if status == "ok":
            require(not math.isnan(metrics[0]), f"{where} is ok and has no objective")
        else:
            require(reason, f"{where} is {status} without a reason")
            require(all(map(math.isnan, metrics)), f"{where} is {status} and has metrics: they are NaN then")


def _levels_are_of_one_training(benchmark: Benchmark) -> str | None:
    """Looks at the first level, one in between, and the last; on a live benchmark at one training in parts."""
    fidelity = benchmark.fidelity
    _refuses_levels(benchmark)
    if fidelity is None:
        return "it has one fidelity only"
    levels = fidelity.levels
    require(
        levels and all(type(level) is int and level > 0 for level in levels) and sorted(set(levels)) == [*levels],
        f"its levels are no ascending integers above 0: {levels}",
    )
    if len(levels) == 1:
        return str(fidelity)
    benchmark.make_ready()
    looked_at = sorted({levels[0], levels[len(levels) // 2], levels[-1]})
    for configuration, seed in _evaluated(benchmark)[: 1 if benchmark.live else None]:
        with tempfile.TemporaryDirectory() as folder:
            state = Path(folder) / "state" if benchmark.live and fidelity.continuable else None
            parts = [benchmark.evaluate_at(configuration, seed, level, state) for level in looked_at]
        whole = benchmark.evaluate(configuration, seed)
        where = f"{benchmark.space.to_json(configuration)} with seed {seed}"
        for level, part in zip(looked_at, parts, strict=True):
            known = math.isfinite(part.cost) and part.cost >= 0
            require(known, f"{where} costs {part.cost} seconds at level {level}")
            require(len(part.metrics) == len(benchmark.metrics), f"{where} has {len(part.metrics)} metrics at {level}")
        columns = _measured(benchmark) if benchmark.live else range(len(benchmark.metrics))
        end, straight = ([found.metrics[i] for i in columns] for found in (parts[-1], whole))
        require(
            same(end, straight) and parts[-1].status == whole.status,
            f"{where} scores {end} at level {levels[-1]}, but {straight} in one go",
        )
        _curves_are_of_their_levels(fidelity, dict(zip(looked_at, parts, strict=True)), whole, where)
        if benchmark.live:  # whose seconds are measured anew, and count from where the last part ended
            continue
        again = [benchmark.evaluate_at(configuration, seed, level) for level in looked_at]
        require(
            all(same([*a.metrics, a.cost], [*b.metrics, b.cost]) for a, b in zip(parts, again, strict=True)),
            f"{where} scores {[part.metrics for part in parts]} at levels {looked_at}, then something else",
        )
        require(
            parts[-1].cost == whole.cost,
            f"{where} costs {parts[-1].cost} seconds at level {levels[-1]}, but {whole.cost} in one go",
        )
        if all(part.status == "ok" for part in parts):
            require(
                parts[0].cost <= whole.cost,
                f"{where} costs {parts[0].cost} seconds up to level {levels[0]}, and {whole.cost} up to the end",
            )
    return str(fidelity)


def _curves_are_of_their_levels(
    fidelity: Fidelity, parts: dict[int, Evaluation], whole: Evaluation, where: str
) -> None:
    """Requires that a curve, where there is one, has a value at each level, and that the levels agree on them.

    Args:
        parts: evaluations by the level at which they end.
        whole: the evaluation in one go.
    """
    for level, part in [*parts.items(), (fidelity.levels[-1], whole)]:
        if part.curve is None:
            continue
        require(fidelity.continuable, f"{where} has a curve, but its levels are trainings of their own")
        require(part.status == "ok", f"{where} is {part.status} at level {level}, and has a curve")
        count = bisect_right(fidelity.levels, level)
        curve = f"the curve of {where} up to level {level}"
        require(len(part.curve) == count, f"{curve} has {len(part.curve)} values, not {count}")
        require(part.curve[-1] == part.metrics[0], f"{curve} ends at {part.curve[-1]}, not at {part.metrics[0]}")
        straight = part.curve if whole.curve is None else whole.curve[:count]
        require(same(part.curve, straight), f"{curve} is {part.curve}, but {straight} in one go")


def _refuses_levels(benchmark: Benchmark) -> None:
    configuration, seed = _evaluated(benchmark)[0]
    for level in (0, benchmark.highest + 1):
        try:
            benchmark.evaluate_at(configuration, seed, level)
        except UsageError:
            continue
        require(False, f"an evaluation at level {level}, which it has not, is no UsageError")


def _cheap_metrics_are_known(benchmark: Benchmark) -> None:
    benchmark.make_ready()
    for configuration, seed in _evaluated(benchmark):
        evaluation = benchmark.evaluate(configuration, seed)
        for column, metric in enumerate(benchmark.metrics):
            if metric.cheap and evaluation.status == "ok":
                known = benchmark.known(column, configuration)
                require(
                    same([known], [evaluation.metrics[column]]),
                    f"{metric.name} is {known} before an evaluation and {evaluation.metrics[column]} after it",
                )
            elif not metric.cheap:
                try:
                    benchmark.known(column, configuration)
                except UsageError:
                    continue
                require(False, f"{metric.name} is known without an evaluation, but not declared cheap")


def _blocks_equal_single_evaluations(benchmark: Benchmark) -> str | None:
    block = benchmark.space.sample_block(_SAMPLES, _rng())
    if block is None:
        return "its space has no blocks"
    rng = _rng()
    configurations = [benchmark.space.sample(rng) for _ in range(_SAMPLES)]
    seeds = np.arange(_SAMPLES, dtype=np.uint64)
    found = None if benchmark.live else benchmark.evaluate_block(block, seeds)
    if found is None:
        return "it evaluates no blocks"
    single = [benchmark.evaluate(c, int(seed)).metrics for c, seed in zip(configurations, seeds, strict=True)]
    require(same(found, single), "evaluate_block and evaluate give different metrics for what the same seed samples")
    return None


def _quantiles_bound_shares(benchmark: Benchmark) -> str | None:
    """Looks at cheap metrics only: their values are known for many configurations."""
    rng, told = _rng(), []
    configurations = [benchmark.space.sample(rng) for _ in range(100)]
    for column, metric in enumerate(benchmark.metrics):
        if not metric.cheap:
            continue
        try:
            limit = benchmark.quantile(column, 0.25)
        except UsageError:
            told.append(f"no quantiles of {metric.name}")
            continue
        below = np.mean([benchmark.known(column, c) <= limit for c in configurations])
        require(below > 0.1, f"its 0.25-quantile of {metric.name}, {limit:g}, has {below:.0%} of 100 samples below it")
    return "; ".join(told) or None


def _no_score_beats_the_oracle(benchmark: Benchmark) -> str | None:
    oracle = benchmark.oracle(())
    if oracle is None:
        return "its oracle is not known"
    for configuration, seed in _evaluated(benchmark):
        score = benchmark.evaluate(configuration, seed).metrics[0]
        require(not score < oracle.best, f"{benchmark.space.to_json(configuration)} scores {score}, below the oracle")
        require(not score > oracle.worst, f"{benchmark.space.to_json(configuration)} scores {score}, above the worst")
    return None


def _refuses_what_there_is_not(benchmark: Benchmark) -> None:
    for what, call in (
        ("fidelity of 987654321 epochs", lambda: benchmark.at(987_654_321)),
        ("variant", lambda: benchmark.variant("no-such-variant")),
        ("metric", lambda: benchmark.column("no-such-metric")),
    ):
        try:
            call()
        except UsageError:
            continue
        require(False, f"a {what} that it has not is no UsageError")


def _leaves_global_state(benchmark: Benchmark) -> None:
    benchmark.make_ready()
    state = global_state()
    for configuration, seed in _evaluated(benchmark)[:5]:
        benchmark.evaluate(configuration, seed)
        benchmark.space.mutate(configuration, _rng())
    require_untouched(changes(state))


_ALL = {
    "says what it is": _is_described,
    "its space is consistent": _space_holds_together,
    "refuses foreign configurations": _refuses_what_is_foreign,
    "same seed, same scores": _same_seed_same_scores,
    "evaluations are whole": _evaluations_are_whole,
    "levels are parts of one training": _levels_are_of_one_training,
    "cheap metrics are known beforehand": _cheap_metrics_are_known,
    "blocks equal single evaluations": _blocks_equal_single_evaluations,
    "quantiles bound shares": _quantiles_bound_shares,
    "no score beats the oracle": _no_score_beats_the_oracle,
    "refuses what there is not": _refuses_what_there_is_not,
    "leaves global random state alone": _leaves_global_state,
}
BENCHMARK_CHECKS = tuple(Check(promise, function, open_benchmark) for promise, function in _ALL.items())
