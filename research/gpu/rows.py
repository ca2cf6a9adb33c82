"""The rows of `python -m research.gpu`: steps of a one-shot search, a whole search, and evaluations of networks."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from multiprocessing.synchronize import Barrier
from statistics import median
from time import perf_counter

import numpy as np
import torch

from nasbench.benchmarks import UsageError
from nasbench.benchmarks.images.benchmark import ImageBenchmark
from nasbench.benchmarks.images.datasets import DATASETS, Dataset, Split, reduced
from nasbench.benchmarks.spaces.cells.searchable import LabelledImages, Searchable
from nasbench.benchmarks.training import training
from nasbench.benchmarks.training.augmentation import ImageBatch, Resident
from nasbench.methods.oneshot.distributions import Logits
from nasbench.methods.oneshot.search import Search
from nasbench.methods.oneshot.settings import Settings
from nasbench.methods.oneshot.zeroth_order import Direction, ZerothOrder
from research.gpu.apart import CONTEXT, Result

_STEPS = 16  # of an epoch of a search: two windows
_PROCESSES = 4  # that evaluate at once
_EACH = 2  # networks that each of these evaluates
_USED = 0.5  # share of a row's seconds in which evaluations begin: its process takes time, and the last one


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    recipe: str
    """How networks are trained, and how wide they are."""
    repeats: int
    """Epochs of a search, or evaluations, of which the median is shown; one before them is not counted."""
    whole: Settings
    """The whole search."""


_PLUS_PLUS = Settings("zeroth-order", sparse=True, flexible=True, alpha_rate=1.5e-2, window=8)
DEVICE = Sizes("search", 5, replace(_PLUS_PLUS, epochs=50, stop=40, theta=20))
CPU = Sizes("smoke", 1, replace(_PLUS_PLUS, epochs=2, stop=2, theta=1))  # what suffices to try the rows


def device(sizes: Sizes, seconds: float) -> Result:
    """The device, and what computes on it."""
    computes = f"PyTorch {torch.__version__}, CUDA {torch.version.cuda or 'none'}, Python {sys.version.split()[0]}"
    return Result(training.device_name() or "cpu", f"{computes}; {_images().source}")


def step(sizes: Sizes, seconds: float, grown: bool, kind: type[Search] = Search) -> Result:
    """Milliseconds of a search step before θ or after it (`grown`): its share of an epoch of whole windows."""
    settings = replace(_PLUS_PLUS, theta=0 if grown else _STEPS, stop=1 + sizes.repeats)
    done = _searched(sizes, settings, _STEPS, kind)
    captured = f", {1000 * median(done.rule.captures):.0f} ms a capture" if isinstance(done.rule, _Replayed) else ""
    note = f"{sizes.repeats} epochs of {_STEPS} batches, {done.space.filters} channels, float32{captured}"
    return Result(f"{1000 * median(epoch.seconds for epoch in done.log[1:]) / _STEPS:.2f} ms", note)


def search(sizes: Sizes, seconds: float) -> Result:
    """Seconds of a whole search by ZO-DARTS++; estimated where the time is too short for it."""
    begin, whole = perf_counter(), sizes.whole
    _, before, _, after = (epoch.seconds for epoch in _searched(sizes, replace(whole, epochs=4, stop=4, theta=2)).log)
    total, how = whole.theta * before + (whole.stop - whole.theta) * after, "estimated from an epoch of each kind"
    if perf_counter() - begin + 1.25 * total < seconds:  # with a margin
        total, how = sum(epoch.seconds for epoch in _searched(sizes, whole).log), "measured"
    return Result(f"{total:.1f} s", f"{whole.stop} epochs, {whole.theta} of them before theta, {how}")


def _searched(sizes: Sizes, settings: Settings, steps: int | None = None, kind: type[Search] = Search) -> Search:
    """A finished search whose epochs have a given number of full batches of each half, or all of the images."""
    space: Searchable = _benchmark(sizes).space.as_supernet()  # type: ignore[attr-defined]
    count = space.training_images if steps is None else 2 * steps * space.batch
    data = Resident(reduced(_images().load(), count, space.shape[1]), True, training.device())
    search = kind(replace(space, training_images=count, images=lambda: data), settings, seed=0)
    search.run()
    return search


class _Graphed(Search):
    """A search whose windows are CUDA graphs."""

    def _rule(self) -> ZerothOrder:
        if not torch.cuda.is_available():
            raise UsageError("a CUDA graph needs a CUDA device")
        s, losses = self.settings, (self._loss, self._val_loss)
        return _Replayed(self.weights, *losses, self._generator, s.window, s.mu, s.estimate, self._marked)


class _Replayed(ZerothOrder):
    """The first batch of a window is computed eagerly; the training step of the others is a CUDA graph, replayed."""

    _graph: torch.cuda.CUDAGraph | None = None
    captures: tuple[float, ...] = ()
    """Seconds that each capture has taken."""

    def open(self, logits: Logits, directions: list[Direction] | None = None, mu: float | None = None) -> None:
        super().open(logits, directions, mu)
        self._graph = None  # in another window something else may be zero, and skipped

    def train(self, logits: Logits, batch: LabelledImages) -> None:
        if self._done == 0:
            super().train(logits, batch)  # momentum and indices are there before anything is captured
            return
        if self._graph is None:
            begin = perf_counter()
            self._batch, self._graph = ImageBatch(batch.images.clone(), batch.labels.clone()), torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):  # notes what is to be computed, and computes nothing
                super().train(logits, self._batch)
            self.captures += (perf_counter() - begin,)
        else:
            self._batch.images.copy_(batch.images)
            self._batch.labels.copy_(batch.labels)
            self._done += 1
        self._graph.replay()


def evaluation(sizes: Sizes, seconds: float, option: str = "") -> Result:
    """Seconds of an evaluation of a random network, one after the other; of fewer networks where time is short."""
    times = _evaluated(sizes, 1 + sizes.repeats, option, until=perf_counter() + _USED * seconds)[1:]
    return Result(f"{median(times):.2f} s", f"median of {len(times)} networks, recipe {sizes.recipe} {option}".strip())


def processes(sizes: Sizes, seconds: float) -> Result:
    """Evaluations per minute of several processes at once, beside those of one."""
    one, several = (_rate(replace(sizes, repeats=min(_EACH, sizes.repeats)), n) for n in (1, _PROCESSES))
    return Result(
        f"{several:.1f} per minute", f"{_PROCESSES} processes; one alone {one:.1f}, ratio {several / one:.2f}"
    )


def _rate(sizes: Sizes, number: int) -> float:
    """Evaluations per minute of a number of processes, from when all of them are ready."""
    barrier = CONTEXT.Barrier(number + 1)
    with ProcessPoolExecutor(number, CONTEXT, _begin, (sizes, barrier)) as pool:
        asked = [pool.submit(_evaluated, sizes, sizes.repeats) for _ in range(number)]
        barrier.wait()
        begin = perf_counter()
        return 60 * sum(len(one.result()) for one in asked) / (perf_counter() - begin)


def _begin(sizes: Sizes, barrier: Barrier) -> None:
    with suppress(Exception):  # it will be raised again where somebody hears it
        _evaluated(sizes, 1)
    barrier.wait()


def _evaluated(sizes: Sizes, number: int, option: str = "", until: float = math.inf) -> list[float]:
    """Seconds of each of some evaluations of random networks: two, and more as long as they begin before `until`.

    Raises RuntimeError where one fails.
    """
    benchmark, rng, times = _benchmark(sizes, option), np.random.default_rng(0), list[float]()
    while len(times) < number and (len(times) < 2 or perf_counter() < until):
        begin = perf_counter()
        result = benchmark.evaluate(benchmark.space.sample(rng), seed=len(times))
        if result.status == "failed":
            raise RuntimeError(result.reason)
        times += [perf_counter() - begin] if result.status == "ok" else []
    return times


@cache
def _benchmark(sizes: Sizes, option: str = "") -> ImageBenchmark:
    return ImageBenchmark(_images(), recipe=sizes.recipe, options=(option,) if option else ())


@cache
def _images() -> Dataset:
    """BreastMNIST, or random images of its shape where its file, or a package that finds it, is missing."""
    dataset, rng = DATASETS.get("medmnist-breast"), np.random.default_rng(0)
    try:
        dataset.load()
        return dataset
    except (UsageError, ImportError) as error:
        source, shape = f"random images: {error}", (dataset.side, dataset.side, dataset.channels)
    splits = {
        name: Split(rng.integers(256, size=(count, *shape), dtype=np.uint8), rng.integers(dataset.classes, size=count))
        for name, count in dataset.counts.items()
    }
    return replace(dataset, source=source, load=lambda: splits)


ROWS: Mapping[str, Callable[[Sizes, float], Result]] = {
    "device": device,
    "step": partial(step, grown=False),
    "step-graph": partial(step, grown=False, kind=_Graphed),
    "grown-step": partial(step, grown=True),
    "grown-step-graph": partial(step, grown=True, kind=_Graphed),
    "evaluation": evaluation,
    "evaluation-float32": partial(evaluation, option="float32"),
    "evaluation-contiguous": partial(evaluation, option="contiguous"),
    "processes": processes,
    "search": search,
}
"""(sizes, seconds that it may take) → result, of every row; the longest is the last, and has what others leave."""
