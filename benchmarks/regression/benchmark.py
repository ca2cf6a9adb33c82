"""The benchmark `mlp:FILE.csv:TARGET`: perceptrons of any shape, trained on a CSV file of the user."""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from pathlib import Path
from time import perf_counter

import numpy as np

from nasbench.base.errors import UsageError, require_torch
from nasbench.base.metrics import Metric
from nasbench.base.repeatability import Repeatable
from nasbench.benchmarks.abilities import named
from nasbench.benchmarks.contract import Benchmark, Evaluation
from nasbench.benchmarks.fidelity import Level
from nasbench.benchmarks.regression.data import CsvData, read
from nasbench.benchmarks.spaces import Configuration
from nasbench.benchmarks.spaces.graphs.bounds import NetworkLimits
from nasbench.benchmarks.spaces.graphs.layers import LayerGraph
from nasbench.benchmarks.spaces.graphs.pool import perceptrons
from nasbench.benchmarks.spaces.graphs.space import NetworkSpace

_STEPS, _BATCH, _CHECKS = 20_000, 256, 200
_RATE = 1e-5  # as in the authors' code, whose loss is the mean absolute error of a batch
_WIDTH = 64
_MOST_STEPS = 1_000_000
_STEP_SECONDS = 3e-3  # for random networks on one core of a busy server (median of 8, 300 rows)


class RegressionBenchmark(Benchmark):
    """Trains a perceptron by plain gradient descent for 20,000 steps, or as many as `@STEPS` says.

    The scores are those of the best of 200 equally spaced validations. The loss is the sum of a batch's squared errors
    (in NASBOT's authors' code: the mean absolute error).
    """

    repeatable = Repeatable.SAME_MACHINE
    kind = "live"

    def __init__(self, path: str, target: str, steps: int | None = None) -> None:
        self._path, self._target, self._steps = path, target, steps or _STEPS
        self.name = f"mlp:{path}:{target}" + (f"@{steps}" if steps else "")
        self.family, self.search_space = f"mlp:{path}:{target}", "mlp"
        self.fidelities = () if steps else tuple(range(_CHECKS, _MOST_STEPS + 1, _CHECKS))
        self.source, self.licence = f"{path}, a file of one's own", "the file's own"
        self.checksum = self._table.checksum
        self.space = NetworkSpace("mlp-reg", NetworkLimits(), perceptrons("linear", _WIDTH))
        self.procedure = (
            f"stochastic gradient descent, step size {_RATE:g} on the sum of a batch's squared errors, batches of "
            f"{_BATCH}, {self._steps:,} steps; splits 0.6, 0.2, 0.2, standardised (NASBOT, section 5)"
        )
        self.metrics = (
            Metric("val-mse", "", True, "smallest mean squared error of 200 validations, in variances", "val"),
            Metric("test-mse", "", True, "mean squared error at the same step", "test"),
            Metric("parameters", "", description="number of parameters", cheap=True),
            Metric("train_time", "s", description="training alone"),
        )

    @cached_property
    def _table(self) -> CsvData:
        return read(Path(self._path), self._target)

    def seconds_each(self) -> float:
        return self._steps * _STEP_SECONDS

    def at(self, epochs: int) -> Benchmark:
        if epochs == _STEPS:
            raise UsageError(f"{self.name} is {self.name}@{epochs} already: write it without")
        return RegressionBenchmark(self._path, self._target, epochs)

    def make_ready(self) -> None:
        require_torch(f"{self.name} trains networks")

    def known(self, metric: str, configuration: Configuration) -> float:
        return float(_parameters(configuration, self._table.features))

    def measure(self, configuration: Configuration, seed: int, upto: Level, state: Path | None, /) -> Evaluation:
        import torch
        from torch.nn.functional import mse_loss

        from nasbench.benchmarks.spaces.graphs.module import GraphNetwork
        from nasbench.benchmarks.training import initialisation, training
        from nasbench.benchmarks.training.descent import Descent
        from nasbench.benchmarks.training.news import News

        begin = perf_counter()
        training.use_one_thread()
        generator = torch.Generator().manual_seed(seed)
        with torch.device("meta"):
            network = GraphNetwork(configuration, self._table.features, 1)
        network = network.to_empty(device="cpu")
        initialisation.draw_parameters(network, generator)
        splits = {
            name: (torch.from_numpy(split.features).float(), torch.from_numpy(split.target).float())
            for name, split in self._table.splits.items()
        }

        def error_on(split: str) -> float:
            with torch.no_grad():
                inputs, wanted = splits[split]
                return float(mse_loss(network(inputs)[:, 0], wanted))

        descent = Descent(network.parameters(), _RATE)
        features, target = splits["train"]
        best, tested, trained, news = math.inf, math.nan, 0.0, News()
        for check in range(1, _CHECKS + 1):
            started = perf_counter()
            for _ in range(self._steps // _CHECKS):
                rows = torch.randint(len(target), (min(_BATCH, len(target)),), generator=generator)
                error = mse_loss(network(features[rows])[:, 0], target[rows], reduction="sum")
                torch.autograd.backward(error)
                descent.step()
            trained += perf_counter() - started
            val = error_on("val")
            if not math.isfinite(val):
                return Evaluation({}, perf_counter() - begin, "failed", f"the validation error is {val}")
            done = check * (self._steps // _CHECKS)
            news.tell("step %s of %s: validation error %.3g", f"{done:,}", f"{self._steps:,}", val)
            if val < best:
                best, tested = val, error_on("test")
        parameters = float(_parameters(configuration, self._table.features))
        values = {"val-mse": best, "test-mse": tested, "parameters": parameters, "train_time": trained}
        return Evaluation(values, perf_counter() - begin)

    def quantile(self, metric: str, q: float) -> float:
        """The q-quantile of a cheap metric over 200 random networks."""
        if not named(self, metric).cheap:
            raise UsageError(f"{self.name} has no table of {metric}: give an absolute bound")
        rng = np.random.default_rng(0)
        return float(np.quantile([self.known(metric, self.space.sample(rng)) for _ in range(200)], q))


@lru_cache(maxsize=4096)
def _parameters(graph: LayerGraph, features: int) -> int:
    require_torch("sizes of perceptrons are measured")
    import torch

    from nasbench.benchmarks.spaces.graphs.module import GraphNetwork

    with torch.device("meta"):
        return sum(p.numel() for p in GraphNetwork(graph, features, 1).parameters())
