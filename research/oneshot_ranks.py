"""What a one-shot search knows of architectures: the rank correlation of its probabilities with stand-alone accuracy.

    python -m research.oneshot_ranks toy          # a regression whose best architecture is known: minutes
    python -m research.oneshot_ranks digits       # 64 networks trained twice, then searched: longer

Spearman's rho over architectures, for each method and the foils: the mean, the least and the most of all seeds.
docs/notebook/oneshot.md has the tables and says what they mean. Needs the extra `live`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from nasbench.benchmarks.images import DATASETS, ImageBenchmark
from nasbench.benchmarks.spaces.cells import Stage, pruned, size
from nasbench.benchmarks.spaces.cells.network import CellNetwork
from nasbench.benchmarks.spaces.cells.operations import sized
from nasbench.benchmarks.training import training
from nasbench.benchmarks.training.recipes import RECIPES
from nasbench.methods.oneshot.bilevel import Darts, Milenas, Rule
from nasbench.methods.oneshot.darts import estimate_of
from nasbench.methods.oneshot.distributions import Logits, softmax, sparsemax, temperature
from nasbench.methods.oneshot.search import Search
from nasbench.methods.oneshot.settings import Settings
from nasbench.methods.oneshot.single_path import SinglePath
from nasbench.methods.oneshot.weights import Weights
from nasbench.methods.oneshot.zeroth_order import ZerothOrder

EPOCHS, BATCHES, WINDOW = 40, 17, 8  # of BreastMNIST: two updates of the zeroth-order methods per epoch
ZO = Settings("zeroth-order", epochs=50, stop=EPOCHS, window=WINDOW, alpha_rate=1.5e-2)
METHODS = {
    "darts": Settings("darts", epochs=50, stop=EPOCHS),
    "darts:alpha_lr=0.015": Settings("darts", epochs=50, stop=EPOCHS, alpha_rate=1.5e-2),
    "milenas:alpha_lr=0.015": Settings("milenas", epochs=50, stop=EPOCHS, alpha_rate=1.5e-2),
    "zo-darts": ZO,
    "zo-darts+": replace(ZO, sparse=True),
    "zo-darts+:estimate=noise": replace(ZO, sparse=True, estimate=estimate_of("noise", 1)),
    "zo-darts+:estimate=floor": replace(ZO, sparse=True, estimate=estimate_of("floor", 1)),
    "zo-darts+:estimate=normal": replace(ZO, sparse=True, estimate=estimate_of("normal", 1)),
    "zo-darts+:estimate=robust": replace(ZO, sparse=True, estimate=estimate_of("robust", 1)),
    "zo-darts+:estimate=robust,directions=4": replace(ZO, sparse=True, estimate=estimate_of("robust", 4)),
    "spos": Settings("single-path", epochs=50, stop=50, theta=0),
}


def main(what: str, seeds: int) -> None:
    """Prints a line per method as it is done."""
    training.use_one_thread()
    correlations = {"toy": of_toy, "digits": of_digits}[what](seeds)
    print(f"{'method':42} {'rho':>6} {'least':>6} {'most':>6}")
    for name, measure in correlations:
        found = np.array([measure(seed) for seed in range(seeds)])
        print(f"{name:42} {found.mean():6.2f} {found.min():6.2f} {found.max():6.2f}", flush=True)


Measured = list[tuple[str, Callable[[int], float]]]


# A regression whose best architecture is known


class Points(NamedTuple):
    """Inputs of shape (points, 6 edges, 5 operations) with what they are to predict, shape (points,)."""

    images: Tensor
    labels: Tensor


class Sum(nn.Module):
    """A supernet in small: each operation of each edge has one weight, and all of them are added up."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(6, 5))

    def forward(self, images: Tensor, probabilities: Tensor) -> Tensor:
        return (images * (probabilities * self.weight)).sum((1, 2))


def of_toy(seeds: int) -> Measured:
    """The target is a sum of six numbers; operation o of edge e sees number e with a known share q of its variance.

    So the stand-alone loss of an architecture, trained to the end, is the sum of 1 - q over its edges.
    """
    quality = torch.from_numpy(np.random.default_rng(0).permuted(np.tile(np.linspace(0.1, 0.9, 5), (6, 1)), axis=1))
    architectures = np.array(list(product(range(5), repeat=6)))
    alone = 6 - quality.numpy()[np.arange(6), architectures].sum(1)

    def measure(settings: Settings, seed: int) -> float:
        shares = toy_search(settings, quality, seed)
        scores = np.log(np.maximum(shares, 1e-12))[np.arange(6), architectures].sum(1)
        return float(spearmanr(scores, -alone).statistic)

    return [
        (name, lambda seed, settings=settings: measure(settings, seed))  # type: ignore[misc]
        for name, settings in METHODS.items()
        if name != "spos"
    ]


def toy_search(settings: Settings, quality: Tensor, seed: int) -> NDArray[np.float64]:
    """The probabilities at the end of a search, shape (6, 5), with the steps, batches and schedules of a real one."""
    generator = torch.Generator().manual_seed(seed)
    epoch = 0

    def points() -> Points:
        numbers = torch.randn(16, 6, 1, generator=generator)
        noise = torch.randn(16, 6, 5, generator=generator)
        seen = quality.sqrt() * numbers + (1 - quality).sqrt() * noise
        return Points(seen.float(), numbers.sum((1, 2)))

    def normalise(logits: Tensor) -> Tensor:
        return sparsemax(logits, temperature(epoch)) if settings.sparse else softmax(logits)

    def loss(network: nn.Module, logits: Logits, batch: Points) -> Tensor:
        return mse_loss(network(batch.images, normalise(logits.operations)), batch.labels)

    logits = Logits((1e-3 * torch.randn(6, 5, generator=generator)).requires_grad_())

    def fresh_adam() -> torch.optim.Adam:
        return torch.optim.Adam(logits.present(), settings.alpha_rate, betas=(0.5, 0.999), weight_decay=1e-3)

    weights, adam = Weights(Sum(), RECIPES["search"]), fresh_adam()
    rule: Rule
    if settings.rule == "zeroth-order":
        rule = ZerothOrder(weights, loss, loss, generator, settings.window, settings.mu, settings.estimate)  # type: ignore[arg-type]
    else:
        rule = (Darts if settings.rule == "darts" else Milenas)(weights, loss, loss)  # type: ignore[arg-type]
    for epoch in range(EPOCHS):
        weights.rate = 0.1 * RECIPES["search"].rate(epoch, settings.epochs)
        if settings.estimate.rewarmed and epoch == 1:
            adam = fresh_adam()
        for _ in range(BATCHES):
            rule.step(logits, points(), points(), adam)  # type: ignore[arg-type]
        rule.end_epoch()
    found: NDArray[np.float64] = normalise(logits.operations).detach().double().numpy()
    return found


# Digits: networks of one cell with three operations to choose from, trained alone


SHOWN = {
    "darts:alpha_lr=0.015",
    "zo-darts+",
    "zo-darts+:estimate=noise",
    "zo-darts+:estimate=robust",
    "zo-darts+:estimate=robust,directions=4",
    "spos",
}
OPERATIONS = ("none", "skip_connect", "nor_conv")
NETWORKS, TRAININGS, FILTERS = 64, 2, 4
ON_DIGITS = 20  # epochs of a search, of 17 batches: 40 updates of the zeroth-order methods


def of_digits(seeds: int) -> Measured:
    """Trains the networks, and prints how well two trainings agree, and what the number of parameters knows."""
    benchmark = ImageBenchmark(DATASETS.get("digits"))
    benchmark.make_ready()
    every: dict[tuple[str, ...], list[tuple[int, ...]]] = {}
    for genes in product(range(3), repeat=6):
        cell = pruned([sized(OPERATIONS[gene], 3) for gene in genes])
        if set(cell) != {"none"}:
            every.setdefault(cell, []).append(genes)
    rng = np.random.default_rng(0)
    chosen = [list(every)[k] for k in rng.choice(len(every), NETWORKS, replace=False)]
    errors = np.array([[trained(benchmark, cell, seed) for seed in range(TRAININGS)] for cell in chosen])
    parameters = [size([Stage(cell, 3)] * 3, FILTERS, benchmark.networks.frame.shape, 10).parameters for cell in chosen]
    accuracy = -errors.mean(1)
    print(f"{NETWORKS} of {len(every)} distinct networks; validation error {errors.min():.1f} to {errors.max():.1f} %")
    print(f"{'one training and another':42} {spearmanr(errors[:, 0], errors[:, 1]).statistic:6.2f}")
    print(f"{'number of parameters':42} {spearmanr(parameters, accuracy).statistic:6.2f}", flush=True)

    space = replace(benchmark.space.as_supernet(), filters=FILTERS, operations=OPERATIONS)  # type: ignore[attr-defined]

    def measure(settings: Settings, seed: int) -> float:
        if settings.rule == "single-path":
            path = SinglePath(space, settings, seed)
            path.run()
            numbers = [tuple(OPERATIONS.index(name.replace("_3x3", "")) for name in cell) for cell in chosen]
            scores = [-path.score(genes).loss for genes in numbers]
        else:
            search = Search(space, settings, seed)
            search.run()
            shares = np.array(search.log[-1].probabilities[0])[:6]
            scores = [float(sum(shares[range(6), genes].prod() for genes in every[cell])) for cell in chosen]
        return float(spearmanr(scores, accuracy).statistic)

    shorter = {name: replace(s, epochs=25, stop=min(ON_DIGITS, s.stop)) for name, s in METHODS.items() if name in SHOWN}
    return [(name, lambda seed, s=settings: measure(s, seed)) for name, settings in shorter.items()]  # type: ignore[misc]


def trained(benchmark: ImageBenchmark, cell: Sequence[str], seed: int) -> float:
    """The validation error of a network of equal cells, in percent, after three epochs."""
    make = lambda: CellNetwork([Stage(tuple(cell), 3)] * 3, FILTERS, 1, 10)  # noqa: E731
    return training.train(make, benchmark.resident(), RECIPES["smoke"], 3, 64, seed).val.error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("toy", "digits"))
    parser.add_argument("seeds", type=int, nargs="?", default=3)
    main(**vars(parser.parse_args()))
