"""What an evaluation costs where the method chooses how long to train: ASHA on a table with learning curves."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from nasbench.base.layout import table
from nasbench.base.streams import say
from nasbench.benchmarks import Benchmark, Evaluation, Fidelity, Level, Metric
from nasbench.benchmarks.constraints import NO_BOUNDS
from nasbench.benchmarks.spaces import Configuration, GridSpace, Ordinal
from nasbench.cli.engine.loop import run
from nasbench.cli.speed.sizes import Sizes
from nasbench.methods import MethodSpec
from nasbench.results import Setting, Setup

_EPOCHS = 27
_WORKERS = (4, 100)


class MadeUpCurves(Benchmark):
    """A thousand made-up learning curves of 27 epochs, in memory."""

    name, family, source, licence, checksum = "curves", "curves", "made up", "MIT", "curves-1"
    space = GridSpace([Ordinal(name, tuple(range(10))) for name in "abc"])
    metrics = (Metric("error", "%", epoch=_EPOCHS), Metric("train_time", "s"))
    fidelity = Fidelity("epochs", "1 epoch", tuple(range(1, _EPOCHS + 1)))

    def __init__(self) -> None:
        rng, epochs = np.random.default_rng(0), np.arange(1, _EPOCHS + 1)
        errors = rng.uniform(5, 50, (1000, 1)) + 40 / epochs + rng.normal(0, 1, (1000, _EPOCHS))
        seconds = rng.uniform(1, 4, (1000, 1)) * epochs
        self._values = np.stack([errors, seconds], axis=2)

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        values = self._values[self.space.index(configuration), : upto.work]
        error, seconds = values[-1].tolist()
        metrics = {"error": error, "train_time": seconds}
        return Evaluation(metrics, seconds, curve=tuple(values[:, 0].tolist()))


def main(sizes: Sizes) -> None:
    """Prints microseconds per evaluation of runs of ASHA."""
    benchmark, spec = MadeUpCurves(), MethodSpec("asha")
    rows = [("asha, 27 epochs", "evaluations of a run, most of them in part", "µs each")]
    for workers in _WORKERS:
        setup = _setup(benchmark, spec, sizes.evaluations, workers)
        times, count = [], 0
        for seed in range(sizes.repeats + 1):
            begin = perf_counter()
            count = len(run(setup, seed, spec, benchmark, NO_BOUNDS))
            times.append((perf_counter() - begin) / count)
        rows.append((f"{workers} workers, runner alone", f"{count:,}", f"{1e6 * median(times[1:]):.1f}"))
    say("\n" + table(rows))


def _setup(benchmark: Benchmark, spec: MethodSpec, evals: int, workers: int) -> Setup:
    """The setup of a benchmark that is not registered: it is for this measurement alone."""
    unknown = (None, None, None)
    setting = Setting("curves", "error", "%", "", (), *unknown, highest=benchmark.highest.work)
    names = tuple(metric.name for metric in benchmark.metrics)
    facts = (spec.label, spec.parameters(), 1, benchmark.name, benchmark.checksum, "none")
    return Setup(*facts, evals, None, workers, False, names, setting)
