"""Scores of a benchmark, which a configuration and a seed decide, in whatever order and process they are asked for."""

from __future__ import annotations

import math
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.random import Generator

from nasbench.benchmarks import Benchmark, Evaluation, abilities
from nasbench.benchmarks.spaces import Configuration, FiniteSpace, Space
from nasbench.cli.checks.check import NotTested, answer, require, same, scrambled
from nasbench.cli.checks.elsewhere import OTHER_HASHES, UNKNOWN, digest, digests

SAMPLES, _LIVE_EVALUATIONS = 50, 2


def generator() -> Generator:
    """A generator in the state that all checks of benchmarks begin with."""
    return np.random.default_rng(0)


def evaluated(benchmark: Benchmark) -> list[tuple[Configuration, int]]:
    """50 random configurations with seeds; 2 for a live benchmark, whose evaluations train networks."""
    rng = generator()
    count = _LIVE_EVALUATIONS if benchmark.live else SAMPLES
    return [(benchmark.space.sample(rng), int(rng.integers(2**63))) for _ in range(count)]


def decided(benchmark: Benchmark, evaluation: Evaluation) -> list[float]:
    """Values that a seed determines: not the seconds of a live benchmark, which are measured each time."""
    return [
        evaluation.metrics.get(metric.name, math.nan)
        for metric in benchmark.metrics
        if not benchmark.live or metric.split is not None or metric.cheap
    ]


def scores(benchmark: Benchmark, *, after_others: bool = False) -> list[str]:
    """The checksum of a benchmark, and what 50 configurations score, one on a live benchmark, as text.

    Args:
        after_others: whether each is first asked for with another seed, and at the lowest level, and neighbours of it.
    """
    abilities.make_ready(benchmark)
    found = [benchmark.checksum]
    for configuration, seed in evaluated(benchmark)[: 1 if benchmark.live else None]:
        if after_others:
            answer(benchmark, configuration, seed // 2 + 1)
            if benchmark.fidelity is not None and not benchmark.live:
                answer(benchmark, configuration, seed, benchmark.fidelity.levels[0])
            for neighbour in _neighbours(benchmark, configuration):
                answer(benchmark, neighbour, seed)
        told = answer(benchmark, configuration, seed)
        found.append(f"{told.status} {decided(benchmark, told)}")
    return found


def has_one(space: Space) -> bool:
    """Whether there is one configuration only, and so no neighbour."""
    return isinstance(space, FiniteSpace) and space.size == 1


def _neighbours(benchmark: Benchmark, configuration: Configuration) -> list[Configuration]:
    """Three neighbours; none on a live benchmark, whose evaluations train networks."""
    if benchmark.live or has_one(benchmark.space):
        return []
    return [benchmark.space.mutate(configuration, np.random.default_rng(number)) for number in range(3)]


def same_seed_same_scores(benchmark: Benchmark) -> None:
    """Raises Failed if a configuration scores something else when it is asked for a second time with the same seed."""
    abilities.make_ready(benchmark)
    for configuration, seed in evaluated(benchmark):
        first = answer(benchmark, configuration, seed)
        scrambled()
        second = answer(benchmark, configuration, seed)
        one, other = decided(benchmark, first), decided(benchmark, second)
        require(
            same(one, other) and first.status == second.status,
            f"{benchmark.space.to_json(configuration)} with seed {seed} scores {one}, then {other}",
        )


def same_side_by_side(benchmark: Benchmark) -> str | None:
    """Raises Failed if two evaluations at the same time, in threads as with --workers, disturb each other."""
    if not benchmark.live:
        return "its evaluations are looked up one after the other"
    abilities.make_ready(benchmark)
    pairs, interval = evaluated(benchmark), sys.getswitchinterval()
    alone = [decided(benchmark, answer(benchmark, *pair)) for pair in pairs]
    sys.setswitchinterval(1e-5)  # threads take turns often
    try:
        with ThreadPoolExecutor(len(pairs)) as threads:
            together = list(threads.map(lambda pair: decided(benchmark, answer(benchmark, *pair)), pairs))
    finally:
        sys.setswitchinterval(interval)
    for (configuration, seed), one, other in zip(pairs, alone, together, strict=True):
        where = f"{benchmark.space.to_json(configuration)} with seed {seed}"
        require(same(one, other), f"{where} scores {one} alone, and {other} beside another: evaluations are threads")
    return None


def same_elsewhere(benchmark: Benchmark) -> None:
    """Raises Failed if scores follow what a benchmark, or its class, remembers of other seeds or configurations.

    Raises NotTested if another process does not know the benchmark.
    """
    (elsewhere,) = digests([("", benchmark.name)], OTHER_HASHES)
    if elsewhere == UNKNOWN:
        raise NotTested("it is registered only in this process")
    require(
        elsewhere == digest(scores(benchmark)),
        "a process with other hashes of strings, or that was asked for neighbours, another seed or a lower level of a "
        "configuration before, scores it otherwise, or has another checksum: what is kept between evaluations must go "
        "by the whole configuration, the seed and the level",
    )
