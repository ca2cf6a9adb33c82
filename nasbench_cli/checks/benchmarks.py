"""The promises of a benchmark (the contract is in `nasbench.benchmarks.Benchmark`)."""

from __future__ import annotations

import math
import tempfile
from itertools import product
from pathlib import Path

import numpy as np

from nasbench.base.metrics import as_number, sounds_like_test
from nasbench.benchmarks import Benchmark, Evaluation, Fidelity, Level, UsageError, abilities, open_benchmark
from nasbench.benchmarks.constraints import NO_BOUNDS
from nasbench.benchmarks.spaces import FiniteSpace
from nasbench.benchmarks.spaces.base import ForeignConfiguration
from nasbench.benchmarks.spaces.features import tokenizer
from nasbench.benchmarks.tabular.direction import sense_of
from nasbench.cli.checks.check import (
    Check,
    answer,
    changes,
    check_member,
    global_state,
    require,
    require_untouched,
    same,
)
from nasbench.cli.checks.scores import (
    SAMPLES,
    decided,
    evaluated,
    generator,
    has_one,
    same_elsewhere,
    same_seed_same_scores,
    same_side_by_side,
)
from nasbench.cli.engine.events import collected

_FOREIGN = (None, object(), "x", -1, (), ("no", "such", "choice"))


def _is_described(benchmark: Benchmark) -> None:
    for name in ("name", "family", "source", "licence", "checksum"):
        require(getattr(benchmark, name, ""), f"{name} is empty: it is part of a run's identity or provenance")
    for metric in benchmark.metrics:
        require(
            metric.is_test or not sounds_like_test(metric.name),
            f"{metric.name} has the name of what is measured on test data, and methods would be told of it: state "
            'split="test"',
        )
        by_name = sense_of(metric.name)
        require(
            by_name in (None, metric.direction),
            f"{metric.name} is to be {metric.direction}d, and its name says the other direction: is minimize wrong?",
        )
    try:
        abilities.device(benchmark)
    except UsageError as error:
        require(False, str(error))


def _space_holds_together(benchmark: Benchmark) -> None:
    rng, space = generator(), benchmark.space
    for _ in range(SAMPLES):
        configuration = space.sample(rng)
        check_member(space, configuration, "sample")
        if has_one(space):
            continue
        neighbour = space.mutate(configuration, rng)
        check_member(space, neighbour, "mutate")
        require(neighbour != configuration, f"mutate leaves {configuration!r} as it is")
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(5):
        require(
            space.sample(one) == space.sample(other),
            "sample draws random numbers from another source than its generator",
        )


def _features_tell_neighbours(benchmark: Benchmark) -> str | None:
    """A configuration must have more words (what linear models see) in common with a neighbour than with a stranger."""
    rng, space = generator(), benchmark.space
    if has_one(space):
        return "there is one configuration"
    words_of = tokenizer(space)
    near, far, most = [], [], 0
    for _ in range(SAMPLES):
        one = space.sample(rng)
        words, neighbour, stranger = (
            set(words_of(configuration)) for configuration in (one, space.mutate(one, rng), space.sample(rng))
        )
        near.append(len(words & neighbour) / len(words | neighbour))
        far.append(len(words & stranger) / len(words | stranger))
        most = max(most, len(words))
    if most == 1:
        return "a configuration is one word"
    told = f"{np.mean(near):.2f} of the words in common with a neighbour, {np.mean(far):.2f} with a stranger"
    require(
        np.mean(near) > np.mean(far), f"{told}: give the space `as_tokens`, words for the parts that a change touches"
    )
    return told


def _refuses_what_is_foreign(benchmark: Benchmark) -> None:
    for foreign in _FOREIGN:
        try:
            benchmark.space.check(foreign)
        except ForeignConfiguration:
            continue
        except Exception as error:
            require(False, f"check({foreign!r}) raises {type(error).__name__} instead of ForeignConfiguration")
        require(False, f"check accepts {foreign!r}")


def _evaluations_are_whole(benchmark: Benchmark) -> str | None:
    abilities.make_ready(benchmark)
    asked, failures = evaluated(benchmark), []
    for configuration, seed in asked:
        metrics, cost, status, reason, _ = answer(benchmark, configuration, seed)
        where = f"the evaluation of {benchmark.space.to_json(configuration)}"
        names = {metric.name for metric in benchmark.metrics}
        require(set(metrics) <= names, f"{where} has metrics that it does not list: {sorted(set(metrics) - names)}")
        for what, value in (("its cost", cost), *((f"its {name}", value) for name, value in metrics.items())):
            try:
                as_number(what, value)
            except ValueError as error:
                require(False, f"of {where} {error}")
        require(math.isfinite(cost) and cost >= 0, f"{where} costs {cost} seconds")
        require(status in ("ok", "failed", "infeasible"), f"{where} has status {status!r}")
        if status == "ok":
            require(set(metrics) == names, f"{where} lacks the metrics {sorted(names - set(metrics))}")
            require(not math.isnan(metrics[benchmark.objective.name]), f"{where} is ok and has no objective")
        else:
            require(reason, f"{where} is {status} without a reason")
            failures += [reason] if status == "failed" else []
            require(all(map(math.isnan, metrics.values())), f"{where} is {status} and has metrics")
        if isinstance(benchmark, abilities.KnowsMeans):
            lacking = names - set(benchmark.mean_metrics(configuration))
            require(not lacking, f"the means of {benchmark.space.to_json(configuration)} lack {sorted(lacking)}")
    told = f"{len(failures)} of {len(asked)} fail; the first: {failures[0]}" if failures else None
    require(len(failures) < len(asked), told or "")
    return told


def _levels_are_of_one_training(benchmark: Benchmark) -> str | None:
    """Checks the lowest level, and the first, one in between, and the last level of the ladder.

    On a live benchmark the levels of the ladder are one training that is continued.
    """
    fidelity = benchmark.fidelity
    _refuses_levels(benchmark)
    if fidelity is None:
        return "it has one fidelity only"
    levels = fidelity.ladder
    if len(fidelity.levels) == 1:
        return str(fidelity)
    abilities.make_ready(benchmark)
    alike: list[bool] = []
    climbed = {levels[0], levels[len(levels) // 2], levels[-1]}
    looked_at = sorted({fidelity.levels[0], *climbed}, key=lambda level: level.work)
    for configuration, seed in evaluated(benchmark)[: 1 if benchmark.live else None]:
        with tempfile.TemporaryDirectory() as folder:
            state = Path(folder) / "state" if benchmark.live and fidelity.continuable else None
            parts = [
                answer(benchmark, configuration, seed, level, state if level in climbed else None)
                for level in looked_at
            ]
        whole = answer(benchmark, configuration, seed)
        where = f"{benchmark.space.to_json(configuration)} with seed {seed}"
        for level, part in zip(looked_at, parts, strict=True):
            known = math.isfinite(part.cost) and part.cost >= 0
            require(known, f"{where} costs {part.cost} seconds at level {level}")
            listed = {metric.name for metric in benchmark.metrics}
            require(
                set(part.metrics) == listed if part.status == "ok" else set(part.metrics) <= listed,
                f"{where} has the metrics {sorted(part.metrics)} at {level}, and lists {sorted(listed)}",
            )
        end, straight = decided(benchmark, parts[-1]), decided(benchmark, whole)
        require(
            same(end, straight) and parts[-1].status == whole.status,
            f"{where} scores {end} at level {levels[-1]}, but {straight} in one go",
        )
        _curves_are_of_their_levels(benchmark, fidelity, dict(zip(looked_at, parts, strict=True)), whole, where)
        if benchmark.live:  # its seconds are measured each time, and count from the end of the last part
            continue
        again = [answer(benchmark, configuration, seed, level) for level in looked_at]
        require(
            all(
                same([*a.metrics.values(), a.cost], [*b.metrics.values(), b.cost])
                for a, b in zip(parts, again, strict=True)
            ),
            f"{where} scores {[part.metrics for part in parts]} at levels {looked_at}, then something else",
        )
        require(
            parts[-1].cost == whole.cost,
            f"{where} costs {parts[-1].cost} seconds at level {levels[-1]}, but {whole.cost} in one go",
        )
        if parts[0].status == whole.status == "ok":
            alike.append(same(decided(benchmark, parts[0]), straight) and parts[0].cost == whole.cost)
        if all(part.status == "ok" for part in parts):
            require(
                parts[0].cost <= whole.cost,
                f"{where} costs {parts[0].cost} seconds up to level {looked_at[0]}, and {whole.cost} up to the end",
            )
    require(
        not alike or not all(alike),
        f"all configurations score and cost the same at level {looked_at[0]} as at {looked_at[-1]}: is `upto` used?",
    )
    return str(fidelity)


def _curves_are_of_their_levels(
    benchmark: Benchmark, fidelity: Fidelity, parts: dict[Level, Evaluation], whole: Evaluation, where: str
) -> None:
    """Requires that a curve has a value for each value of the first axis, and that the levels of the ladder agree.

    Args:
        parts: evaluations by the level at which they end.
        whole: the evaluation in one go.
    """
    for level, part in [*parts.items(), (fidelity.highest, whole)]:
        if part.curve is None:
            continue
        require(fidelity.continuable, f"{where} has a curve, but its levels are separate trainings")
        require(part.status == "ok", f"{where} is {part.status} at level {level}, and has a curve")
        first = fidelity.axes[0]
        count = first.values.index(level[first.name]) + 1
        curve = f"the curve of {where} up to level {level}"
        require(len(part.curve) == count, f"{curve} has {len(part.curve)} values, not {count}")
        objective = part.metrics[benchmark.objective.name]
        require(part.curve[-1] == objective, f"{curve} ends at {part.curve[-1]}, not at {objective}")
        straight = whole.curve[:count] if whole.curve is not None and level in fidelity.ladder else part.curve
        require(same(part.curve, straight), f"{curve} is {part.curve}, but {straight} in one go")


def _refuses_levels(benchmark: Benchmark) -> None:
    configuration, seed = evaluated(benchmark)[0]
    beyond = {axis.name: axis.values[-1] + 1 for axis in benchmark.fidelity.axes} if benchmark.fidelity else {}
    for level in (Level(no_such_axis=1), Level(**beyond, no_such_axis=1), Level(**(beyond or {"epochs": 1}))):
        try:
            benchmark.evaluate(configuration, seed, level)
        except UsageError:
            continue
        require(False, f"an evaluation at level {level}, which it does not have, raises no UsageError")


def _kept_trainings_survive_a_kill(benchmark: Benchmark) -> str | None:
    """Leaves what a kill can leave: a kept training whose record was lost, and a file of which a part is missing."""
    fidelity = benchmark.fidelity
    if not benchmark.live or fidelity is None or not fidelity.continuable or len(fidelity.ladder) < 2:
        return "it keeps no training"
    abilities.make_ready(benchmark)
    early, later = fidelity.ladder[:2]
    configuration, seed = evaluated(benchmark)[0]
    with tempfile.TemporaryDirectory() as folder, collected():  # damage is a notice, which does not matter here
        state = Path(folder) / "state"

        def require_same(level: Level, left: str) -> None:
            kept, whole = (answer(benchmark, configuration, seed, level, place) for place in (state, None))
            one, other = decided(benchmark, kept), decided(benchmark, whole)
            why = f" ({kept.reason})" if kept.status == "failed" else ""
            what = f"{benchmark.space.to_json(configuration)} scores {one}{why} at level {level} after {left}"
            require(
                same(one, other) and kept.status == whole.status,
                f"{what}, and {other} without one: `nasbench.benchmarks.state` keeps files safely",
            )

        answer(benchmark, configuration, seed, early, state)
        if not state.exists():
            return "it keeps no training"
        content = state.read_bytes()
        require_same(early, "a kill before its record was written")
        for size in (len(content) // 2, 0):
            state.write_bytes(content[:size])
            require_same(later, f"a kill that left {size} of {len(content)} bytes of its file")
    return None


def _cheap_metrics_are_known(benchmark: Benchmark) -> None:
    abilities.make_ready(benchmark)
    for configuration, seed in evaluated(benchmark):
        evaluation = answer(benchmark, configuration, seed)
        for metric in benchmark.metrics:
            if metric.cheap and evaluation.status == "ok":
                known, after = abilities.known(benchmark, metric.name, configuration), evaluation.metrics[metric.name]
                require(same([known], [after]), f"{metric.name} is {known} before an evaluation and {after} after it")


def _many_draws_equal_single_ones(benchmark: Benchmark) -> str | None:
    space = benchmark.space
    if not isinstance(space, FiniteSpace):
        return "its configurations are not numbered"
    rng = generator()
    single = [space.index(space.sample(rng)) for _ in range(SAMPLES)]
    require(
        space.sample_rows(SAMPLES, generator()).tolist() == single, "sample_rows and as many calls of sample differ"
    )
    return None


def _seeds_draw_repetitions(benchmark: Benchmark) -> str | None:
    """Otherwise a run could observe the repetition that is hidden from it."""
    if not isinstance(benchmark, abilities.KnowsRepetitions):
        return "it stores no repetitions"
    fidelity = benchmark.fidelity
    # Separate trainings have repetitions of their own at each level.
    levels = fidelity.ladder if fidelity is not None and fidelity.continuable else (None,)
    for level, (configuration, seed) in product(levels, evaluated(benchmark)):
        count = benchmark.repetition_count(configuration)
        one, other = (decided(benchmark, answer(benchmark, configuration, s, level)) for s in (seed, seed % count))
        where = f"{benchmark.space.to_json(configuration)}, of which it says that there are {count} repetitions,"
        require(same(one, other), f"{where} scores {one} with seed {seed}, but {other} with seed {seed % count}")
    return None


def _quantiles_bound_shares(benchmark: Benchmark) -> str | None:
    """Checks only cheap metrics, whose values are known for many configurations."""
    rng, told = generator(), []
    configurations = [benchmark.space.sample(rng) for _ in range(100)]
    for metric in benchmark.metrics:
        if not metric.cheap:
            continue
        try:
            limit = abilities.quantile(benchmark, metric.name, 0.25)
        except UsageError:
            told.append(f"no quantiles of {metric.name}")
            continue
        below = np.mean([abilities.known(benchmark, metric.name, c) <= limit for c in configurations])
        require(below > 0.1, f"its 0.25-quantile of {metric.name}, {limit:g}, has {below:.0%} of 100 samples below it")
    return "; ".join(told) or None


def _no_score_beats_the_oracle(benchmark: Benchmark) -> str | None:
    oracle = abilities.oracle(benchmark, NO_BOUNDS)
    if oracle is None:
        return "its oracle is not known"
    for configuration, seed in evaluated(benchmark):
        score = answer(benchmark, configuration, seed).metrics.get(benchmark.objective.name, math.nan)
        require(not score < oracle.best, f"{benchmark.space.to_json(configuration)} scores {score}, below the oracle")
        require(not score > oracle.worst, f"{benchmark.space.to_json(configuration)} scores {score}, above the worst")
    return None


def _refuses_what_there_is_not(benchmark: Benchmark) -> None:
    for what, call in (
        ("fidelity of 987654321 epochs", lambda: abilities.at(benchmark, 987_654_321)),
        ("variant", lambda: abilities.variant(benchmark, "no-such-variant")),
        ("metric", lambda: abilities.named(benchmark, "no-such-metric")),
    ):
        try:
            call()
        except UsageError:
            continue
        require(False, f"a {what} that it does not have raises no UsageError")


def _leaves_global_state(benchmark: Benchmark) -> None:
    abilities.make_ready(benchmark)
    state = global_state()
    for configuration, seed in evaluated(benchmark)[:5]:
        answer(benchmark, configuration, seed)
        if not has_one(benchmark.space):
            benchmark.space.mutate(configuration, generator())
    require_untouched(changes(state))


_ALL = {
    "says what it is": _is_described,
    "its space is consistent": _space_holds_together,
    "features tell neighbours from strangers": _features_tell_neighbours,
    "refuses foreign configurations": _refuses_what_is_foreign,
    "same seed, same scores": same_seed_same_scores,
    "another process scores the same": same_elsewhere,
    "evaluations at the same time score the same": same_side_by_side,
    "evaluations are whole": _evaluations_are_whole,
    "levels are parts of one training": _levels_are_of_one_training,
    "kept trainings survive a kill": _kept_trainings_survive_a_kill,
    "cheap metrics are known beforehand": _cheap_metrics_are_known,
    "many draws equal single ones": _many_draws_equal_single_ones,
    "seeds draw repetitions": _seeds_draw_repetitions,
    "quantiles bound shares": _quantiles_bound_shares,
    "no score beats the oracle": _no_score_beats_the_oracle,
    "refuses what there is not": _refuses_what_there_is_not,
    "leaves global random state alone": _leaves_global_state,
}
BENCHMARK_CHECKS = tuple(Check(promise, function, open_benchmark) for promise, function in _ALL.items())
