"""How many networks are evaluated per minute, and how far evaluations of one network with one seed lie apart."""

from __future__ import annotations

from statistics import median
from time import monotonic, perf_counter

import numpy as np

from nasbench.benchmarks import Benchmark, Evaluation, open_benchmark
from nasbench.benchmarks.images import ImageBenchmark
from nasbench.benchmarks.spaces import Configuration
from nasbench.cli.speed.gpu.sizes import Sizes
from nasbench.cli.speed.training import trainable


def a_minute(name: str, sizes: Sizes, until: float) -> tuple[str, ...]:
    """Evaluations per minute, seconds of one, and how many were counted, one after the other and on random networks.

    The first is not counted. Fewer than `sizes.evaluations` are where the time would not suffice.
    """
    benchmark, rng = _opened(name), np.random.default_rng(0)
    times: list[float] = []
    for seed in range(sizes.evaluations + 1):
        begin = perf_counter()
        _evaluated(benchmark, trainable(benchmark, rng), seed)
        times.append(perf_counter() - begin)
        if len(times) > 1 and monotonic() + 2 * max(times[1:]) > until:
            break
    counted = times[1:]
    return f"{60 * len(counted) / sum(counted):.1f}", f"{median(counted):.2f}", f"{len(counted)}"


def spread(name: str, sizes: Sizes, until: float) -> tuple[str, ...]:
    """Validation and test errors of one network, trained several times with the same seed, and how far they differ."""
    benchmark = _opened(name)
    configuration = trainable(benchmark, np.random.default_rng(0))
    found = [_evaluated(benchmark, configuration, 0) for _ in range(sizes.repetitions)]
    places = [next(i for i, m in enumerate(benchmark.metrics) if m.name.startswith(f"{s}-error")) for s in _SPLITS]
    errors = [[evaluation.metrics[place] for evaluation in found] for place in places]
    shown = [" ".join(f"{value:.2f}" for value in values) for values in errors]
    return *shown, f"{max(max(values) - min(values) for values in errors):.2f}"


_SPLITS = ("val", "test")


def _opened(name: str) -> ImageBenchmark:
    benchmark = open_benchmark(name)
    assert isinstance(benchmark, ImageBenchmark)  # all that this measures are
    benchmark.make_ready()
    return benchmark


def _evaluated(benchmark: Benchmark, configuration: Configuration, seed: int) -> Evaluation:
    """Raises RuntimeError where the evaluation fails."""
    evaluation = benchmark.evaluate(configuration, seed)
    if evaluation.status != "ok":
        raise RuntimeError(evaluation.reason)
    return evaluation
