"""How fast networks are trained on the device, plainly and compiled, and whether both compute the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import TypeVar

import numpy as np
import torch
from torch import nn

from nasbench.benchmarks.images import DATASETS, ImageBenchmark
from nasbench.benchmarks.training import lockstep, training
from nasbench.benchmarks.training.augmentation import Batch
from nasbench.benchmarks.training.initialisation import initialised
from nasbench.benchmarks.training.recipes import RECIPES
from nasbench.benchmarks.training.steps import Step, descend, descent_of
from nasbench.cli.speed.bare import Bare
from nasbench.cli.speed.gpu.kernels import Counted, profiler
from nasbench.cli.speed.gpu.sizes import Sizes
from nasbench.cli.speed.search import seconds_of
from nasbench.cli.speed.training import trainable
from nasbench.methods.oneshot.search import exact
from nasbench.methods.oneshot.weights import flat, gradients

T = TypeVar("T")

STACKED = 3
"""Networks in a stack."""

AGREE = 1e-5
"""The largest relative difference between the losses of a plain and of a compiled first step in float32."""


def images_a_second(recipe: str, backend: str | None, sizes: Sizes, until: float) -> tuple[str, ...]:
    """Images per second of our training, of a bare loop in the same process, their ratio; how far first losses differ.

    Args:
        backend: what compiles the network; None for one that is not compiled, whose first loss is not compared.
    """
    trained, bare = Training(sizes.images, recipe), Training(sizes.images, recipe)
    network, apart = trained.network, ""
    if backend is not None:
        network, batch = training.compiled(trained.network, backend), next(trained.batches())
        losses = [float(trained.loss(one, batch).detach()) for one in (trained.network, network)]
        apart = f"{_relative(*losses):.2g}"
    loop = Bare(bare.network, bare.unmixed())
    times: list[tuple[float, float]] = []
    for _ in range(sizes.repeats + 1):
        ours = seconds_of(lambda: trained.epoch(network), sizes.epochs)
        times.append((ours, seconds_of(loop.epoch, sizes.epochs)))
    ours, plain = (trained.images / median(values) for values in zip(*times[1:], strict=True))
    return f"{ours:,.0f}", f"{plain:,.0f}", f"{ours / plain:.2f}x", apart


def stacked_images_a_second(recipe: str, sizes: Sizes, until: float) -> tuple[str, ...]:
    """Images per second of networks trained as one, of the same one by one, their ratio; how far first losses differ.

    The networks are of one shape; the one loss is compared with the sum of the others.
    """
    alone = [Training(sizes.images, recipe) for _ in range(STACKED)]
    first = [partial(t.loss, t.network, next(t.batches())) for t in alone]
    apart = _relative(*(float(torch.stack(losses).sum().detach()) for losses in ([f() for f in first], _as_one(first))))
    epochs = [partial(t.epoch, t.network) for t in alone]
    times: list[tuple[float, float]] = []
    for _ in range(sizes.repeats + 1):
        stack = seconds_of(lambda: _as_one(epochs), sizes.epochs)
        times.append((stack, sum(seconds_of(epoch, sizes.epochs) for epoch in epochs)))
    stack, single = (STACKED * alone[0].images / median(values) for values in zip(*times[1:], strict=True))
    return f"{stack:,.0f}", f"{single:,.0f}", f"{stack / single:.2f}x", f"{apart:.2g}"


def agreement(recipe: str, backend: str, sizes: Sizes, until: float) -> tuple[str, ...]:
    """First losses in float32, plain and compiled, how far they and their gradients differ, and whether they agree.

    Compiled it is computed three times, and the last one counts: the first warms up, the second captures the graphs,
    the third replays them. No parameter moves.
    """
    trained = Training(sizes.images, recipe)
    network = training.compiled(trained.network, backend)
    with exact():
        batch = next(trained.batches())
        one, ahead = first_step(trained.network, batch, trained)
        two, behind = [first_step(network, batch, trained) for _ in range(3)][-1]
    apart, gradient = _relative(one, two), float((ahead - behind).norm() / ahead.norm())
    return f"{one:.7g}", f"{two:.7g}", f"{apart:.2g}", f"{gradient:.2g}", "yes" if apart <= AGREE else "no"


def kernels(recipe: str, backend: str | None, sizes: Sizes, until: float) -> tuple[str, ...]:
    """Kernels and launches of a training step, augmentation included."""
    trained = Training(sizes.images, recipe)
    network = trained.network if backend is None else training.compiled(trained.network, backend)
    trained.epoch(network)
    with profiler() as seen:
        trained.epoch(network)
        training.wait(trained.data.device)
    return Counted.by(seen).each(trained.images // trained.size)


class Training:
    """A random network of the cells that is trained by a recipe, on whole batches alone: one shape, one graph."""

    def __init__(self, images: str, recipe: str) -> None:
        benchmark = ImageBenchmark(DATASETS.get(images), recipe=recipe)
        benchmark.make_ready()
        self.recipe, self.size, self.data = RECIPES[recipe], benchmark.batch, benchmark.resident()
        rng = np.random.default_rng(0)
        configuration = trainable(benchmark, rng)
        made = initialised(lambda: benchmark.networks.network(configuration), self.data.device, 0)
        self.network = training.channels_last(made)
        self.descent = descent_of(self.network, self.recipe)
        number = len(self.data.labels["train"])
        self._rng, self._rows = rng, rng.permutation(number)[: number // self.size * self.size]
        self.images = len(self._rows)

    def batches(self) -> Iterator[Batch]:
        """An epoch's batches, as the recipe has them."""
        return self.data.batches(self.size, self.recipe.mix, self._rng, self._rows)

    def unmixed(self) -> list[Batch]:
        """The batches of an epoch without MixUp and CutMix, ready in memory."""
        return list(self.data.batches(self.size, None, self._rng, self._rows))

    def loss(self, network: nn.Module, batch: Batch) -> torch.Tensor:
        """The loss of a batch, computed as a training on this device does."""
        on_gpu = self.data.device.type == "cuda"
        return lockstep.loss(Step(network, batch, self.recipe, low_precision=on_gpu))

    def epoch(self, network: nn.Module) -> None:
        """Trains for an epoch; the network is this one's, or it compiled."""
        network.train()
        for batch in self.batches():
            descend(self.loss(network, batch), network, self.descent, self.recipe)


def _as_one(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """What trainings return whose passes are made as one. Raises what one of them raises."""
    found: list[T] = []
    for one in lockstep.Lockstep(tasks).run():
        if isinstance(one, BaseException):
            raise one
        found.append(one)
    return found


def first_step(network: nn.Module, batch: Batch, trained: Training) -> tuple[float, torch.Tensor]:
    """The loss of a batch and its gradient, a vector in double precision; computed in the network's own precision."""
    network.train()
    loss = Step(network, batch, trained.recipe, low_precision=False).loss()
    return float(loss.detach()), flat(gradients(loss, list(network.parameters()))).double()


def _relative(one: float, two: float) -> float:
    return abs(one - two) / abs(one)
