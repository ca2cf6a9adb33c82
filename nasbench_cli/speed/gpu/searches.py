"""What one-shot searches cost on the device: steps in passes and kernels, and a whole search beside the paper's."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from time import monotonic

import numpy as np
from torch.nn.functional import cross_entropy

from nasbench.benchmarks.images import DATASETS, ImageBenchmark, Split
from nasbench.benchmarks.spaces.cells.searchable import Searchable
from nasbench.benchmarks.training import training
from nasbench.benchmarks.training.augmentation import Resident
from nasbench.cli.speed.gpu.kernels import Counted, profiler
from nasbench.cli.speed.gpu.sizes import Sizes
from nasbench.cli.speed.search import seconds_of
from nasbench.methods import MethodSpec, Problem
from nasbench.methods.oneshot.distributions import softmax
from nasbench.methods.oneshot.search import Epoch, Search, exact
from nasbench.methods.oneshot.settings import Settings
from nasbench.methods.oneshot.weights import gradients

_NEVER = 10**6  # an epoch that does not come
SEARCHES = {
    "darts": Settings("darts"),
    "milenas": Settings("milenas"),
    "zo-darts": Settings("zeroth-order"),
    "zo-darts+": Settings("zeroth-order", sparse=True),
    "zo-darts++ before theta": Settings("zeroth-order", sparse=True, flexible=True, theta=_NEVER),
    "zo-darts++ after theta": Settings("zeroth-order", sparse=True, flexible=True, theta=0),
}
"""Searches at their beginning, where every operation is alive."""
PAPER_SECONDS = 212.3
"""Seconds of ZO-DARTS++ on BreastMNIST, on an RTX 4090 (its table III)."""
_KERNEL_WINDOW = 2  # batches: a profiler's events are many
_MARGIN = 1.25  # a search that is longer than expected by no more than this is still over in time


def step(name: str, sizes: Sizes, until: float) -> tuple[str, ...]:
    """Milliseconds of a step, of a pass forth and back through the same supernet, their ratio, and the expected one.

    A step is its share of an epoch, images included; the epoch is as long as a window.
    """
    settings = replace(SEARCHES[name], window=sizes.window, stop=1 + sizes.repeats)
    search = Search(_space(sizes, sizes.window), settings, seed=0)
    search.run()
    seconds = median(epoch.seconds for epoch in search.log[1:]) / sizes.window
    batch = next(search.data.batches(search.space.batch, None, np.random.default_rng(0)))
    parts = [*search.logits.present(), *search.network.parameters()]

    def one_pass() -> None:
        probabilities = search.logits.probabilities(softmax)
        probabilities = probabilities._replace(alive=probabilities.everything())
        gradients(cross_entropy(search.network(batch.images, probabilities), batch.labels), parts)

    with exact():
        passes = [seconds_of(one_pass, sizes.window) for _ in range(sizes.repeats + 1)]
    one = median(passes[1:])
    expected = {"darts": 5.0, "milenas": 3.0}.get(name, 2 + 1 / sizes.window)
    return f"{1000 * seconds:,.2f}", f"{1000 * one:,.2f}", f"{seconds / one:.2f}", f"{expected:.3g}"


def kernels(name: str, sizes: Sizes, until: float) -> tuple[str, ...]:
    """Kernels and launches per step, where a window has two batches: those of a second epoch."""
    settings = replace(SEARCHES[name], window=_KERNEL_WINDOW, stop=2)
    seen = profiler()

    def watch(epoch: Epoch) -> None:
        if epoch.epoch == 0:
            seen.start()
        else:
            seen.stop()

    Search(_space(sizes, _KERNEL_WINDOW), settings, seed=0).run(say=watch)
    return Counted.by(seen).each(_KERNEL_WINDOW)


def whole(sizes: Sizes, until: float) -> tuple[str, ...]:
    """Seconds of a whole search, the paper's, their ratio, and whether they were measured or estimated.

    Estimated from a search's second epochs before and after theta, if the whole would not be over in time.
    """
    benchmark = ImageBenchmark(DATASETS.get(sizes.images), recipe="search")
    benchmark.make_ready()
    spec = MethodSpec.parse(sizes.search)
    options = dict(spec.parameters())
    theta, stop = int(options["theta"]), int(options["stop"])
    short = MethodSpec(spec.name, tuple((dict(spec.options) | {"epochs": 4, "stop": 4, "theta": 2}).items()))
    _, before, _, after = _searched(benchmark, short)
    seconds, how = theta * before + (stop - theta) * after, "estimated from one epoch before and one after theta"
    if monotonic() + _MARGIN * seconds < until:
        seconds, how = sum(_searched(benchmark, spec)), "measured"
    return f"{seconds:.1f}", f"{PAPER_SECONDS:.1f}", f"{PAPER_SECONDS / seconds:.2f}x", how


def _searched(benchmark: ImageBenchmark, spec: MethodSpec) -> list[float]:
    """Seconds of each epoch of a search."""
    method = spec.build(Problem.of(benchmark), np.random.default_rng(0))
    method.ask()
    return [row.value for row in method.log if row.quantity == "seconds"]


def _space(sizes: Sizes, batches: int) -> Searchable:
    """What a search trains on, with as many images as make so many whole batches of each half."""
    dataset = DATASETS.get(sizes.images)
    benchmark = ImageBenchmark(dataset, recipe="search")
    space: Searchable = benchmark.space.as_supernet()  # type: ignore[attr-defined]
    count = 2 * batches * space.batch
    parts = {name: Split(split.images[:count], split.labels[:count]) for name, split in dataset.load().items()}
    data = Resident(parts, dataset.flip, training.device())
    return replace(space, filters=sizes.filters or space.filters, training_images=count, images=lambda: data)
