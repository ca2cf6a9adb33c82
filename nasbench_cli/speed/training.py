"""How fast networks are trained, beside the plainest way to train them: ratios measured in this process."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TypeAlias

import numpy as np

from nasbench.base.layout import table
from nasbench.base.streams import say
from nasbench.benchmarks import UsageError
from nasbench.benchmarks.images import DATASETS, ImageBenchmark
from nasbench.benchmarks.spaces import AsSupernet, Configuration
from nasbench.benchmarks.spaces.trainable.trainable import ProgramSpace
from nasbench.cli.engine.provenance import provenance
from nasbench.cli.speed.sizes import Sizes


def main(sizes: Sizes) -> None:
    """Prints seconds an epoch of our training and of a bare loop, and of our layout of cells and of the plain one.

    Raises UsageError if there are no images to train on.
    """
    try:
        benchmark, rest = opened("medmnist-breast", sizes.epochs), ""
    except UsageError:
        benchmark, rest = opened("digits", sizes.epochs), " (medmnist-breast is not here)"
    from nasbench.benchmarks.training import training

    training.use_one_thread()
    where = training.device_name() or f"one core of {provenance()['machine']['cpu'] or 'this machine'}"
    rng = np.random.default_rng(0)
    chosen = [trainable(benchmark, rng) for _ in range(sizes.architectures)]
    rows: list[tuple[str, ...]] = [
        ("training", "ours", "plain", "plain / ours"),
        ("s per epoch: training, beside a bare loop over ready tensors", *_pair(_epochs, benchmark, chosen, sizes)),
        (
            "s per epoch: whole evaluations, beside that loop and passes over the same images",
            *_pair(_evaluations, benchmark, chosen, sizes),
        ),
        ("ms per step: fused cells, beside an operation per edge", *_pair(_steps, benchmark, chosen, sizes)),
    ]
    measured = f"{sizes.architectures} random architectures, {where}, median of {sizes.trainings}"
    say(f"{benchmark.name}{rest}, {measured}")
    say(table(rows) + "\n")
    _searches(benchmark, where, sizes)


def _searches(benchmark: ImageBenchmark, where: str, sizes: Sizes) -> None:
    from nasbench.cli.speed import _search as search_speed

    assert isinstance(benchmark.space, AsSupernet)  # it is opened with the space of cells
    space = benchmark.space.as_supernet()
    data, halves = benchmark.resident(), np.random.default_rng(0)
    batch = sizes.batch or space.batch
    train, val = (next(data.batches(batch, None, halves)) for _ in range(2))
    say(f"one-shot search on {benchmark.name}, {space.filters} channels, batches of {batch}, {where}")
    search_speed.main(space, (train, val), sizes)


Pair: TypeAlias = tuple[float, float]


def _pair(
    measure: Callable[[ImageBenchmark, Configuration, Sizes], Pair],
    benchmark: ImageBenchmark,
    chosen: list[Configuration],
    sizes: Sizes,
) -> tuple[str, ...]:
    """Ours, the plain one, and their ratio: medians of repeated measurements, averaged over architectures."""
    found = np.array([[measure(benchmark, one, sizes) for _ in range(sizes.trainings)] for one in chosen])
    ours, plain = np.median(found, axis=1).mean(axis=0).tolist()
    return f"{ours:.3g}", f"{plain:.3g}", f"{plain / ours:.2f}x"


def _epochs(benchmark: ImageBenchmark, configuration: Configuration, sizes: Sizes) -> Pair:
    """Seconds of an epoch of our training (augmentation, clipping), and of the barest loop over ready tensors."""
    evaluation = benchmark.evaluate(configuration, 0)
    assert evaluation.status == "ok", evaluation.reason
    return evaluation.metrics["train_time"] / sizes.epochs, _bare(benchmark, configuration, 1, passes=False)


def _evaluations(benchmark: ImageBenchmark, configuration: Configuration, sizes: Sizes) -> Pair:
    """Seconds per epoch of a whole evaluation, and of the barest loop that looks at the same images as often.

    Both look at the validation images after each epoch, and at the end at these and the test images.
    """
    begin = perf_counter()
    evaluation = benchmark.evaluate(configuration, 0)
    ours = (perf_counter() - begin) / sizes.epochs
    assert evaluation.status == "ok", evaluation.reason
    return ours, _bare(benchmark, configuration, sizes.epochs, passes=True)


def _bare(benchmark: ImageBenchmark, configuration: Configuration, epochs: int, passes: bool) -> float:
    """Seconds per epoch of the barest training loop: no augmentation, no clipping, no choice.

    Args:
        passes: looks at the validation images after each epoch, and at these and the test images at the end.
    """
    from nasbench.benchmarks.training import training
    from nasbench.cli.speed._bare import Bare

    data, size = benchmark.resident(), benchmark.batch
    network = training.channels_last(benchmark.networks.network(configuration)).to(data.device)
    loop = Bare(network, data.batches(size, None, np.random.default_rng(0)))
    images = {split: list(data.plain(split)) for split in ("val", "test")}
    begin = perf_counter()
    for epoch in range(epochs):
        loop.epoch()
        for split in ["val", *(["val", "test"] if epoch + 1 == epochs else [])] if passes else []:
            training.outputs_of(network, images[split])
    training.wait(data.device)
    return (perf_counter() - begin) / epochs


def _steps(benchmark: ImageBenchmark, configuration: Configuration, sizes: Sizes) -> Pair:
    """Milliseconds of a step, forth and back, of our network and of the one that the language builds."""
    import torch
    from torch.nn.functional import cross_entropy

    from nasbench.benchmarks.spaces.language.network import Network
    from nasbench.benchmarks.training import training

    data = benchmark.resident()
    batch = next(data.batches(benchmark.batch, None, np.random.default_rng(0)))
    ours = benchmark.networks.network(configuration)
    assert isinstance(benchmark.networks, ProgramSpace)
    plain = Network(benchmark.networks.program, configuration, benchmark.networks.frame.shape)
    times = []
    for layout in (ours, plain):
        network = training.channels_last(layout).to(data.device)

        def step(network: torch.nn.Module = network) -> None:
            torch.autograd.backward(cross_entropy(network(batch.images), batch.labels))

        step()
        training.wait(data.device)
        begin = perf_counter()
        for _ in range(sizes.steps):
            step()
        training.wait(data.device)
        times.append(1000 * (perf_counter() - begin) / sizes.steps)
    return times[0], times[1]


def trainable(benchmark: ImageBenchmark, rng: np.random.Generator) -> Configuration:
    """A random network that can be trained."""
    while benchmark.networks.infeasible(configuration := benchmark.space.sample(rng)):
        pass
    return configuration


def opened(name: str, epochs: int) -> ImageBenchmark:
    """A data set's cells, trained for some epochs: its own number of them, too, which a name could not say."""
    benchmark = ImageBenchmark(DATASETS.get(name), epochs=epochs)
    benchmark.make_ready()
    return benchmark
