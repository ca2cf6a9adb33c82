"""Small one-shot searches on digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from nasbench.benchmarks.images import DATASETS, ImageBenchmark
from nasbench.benchmarks.images.digits import read
from nasbench.benchmarks.spaces.cells import Stage
from nasbench.benchmarks.spaces.cells.operations import named
from nasbench.benchmarks.spaces.cells.searchable import Searchable
from nasbench.benchmarks.spaces.published.cells import OPERATIONS
from nasbench.benchmarks.training.augmentation import (
    Resident,
)
from nasbench.methods import Problem
from nasbench.methods.oneshot.distributions import Probabilities
from nasbench.methods.oneshot.settings import (
    Settings,
)


def one_hot(chosen: Sequence[Stage]) -> Probabilities:
    """The distributions on one architecture."""
    operations, kernels, depths = torch.zeros(18, 5), torch.zeros(18, 3), torch.zeros(3, 3)
    kernels[:, 0] = 1
    for number, stage in enumerate(chosen):
        depths[number, stage.depth - 1] = 1
        for edge, operation in enumerate(stage.operations):
            row, kernel = 6 * number + edge, named(operation).kernel
            operations[row, OPERATIONS.index("nor_conv" if kernel > 1 else operation)] = 1
            if kernel > 1:
                kernels[row] = torch.tensor([float(kernel == k) for k in (7, 5, 3)])
    return Probabilities(operations.double(), kernels.double(), depths.double())


DIGITS = ImageBenchmark(DATASETS.get("digits"))


SHORT = {
    "darts": Settings("darts", epochs=4, stop=4),
    "milenas": Settings("milenas", epochs=4, stop=4),
    "zo-darts": Settings("zeroth-order", epochs=4, stop=4, window=2, alpha_rate=0.05),
    "zo-darts+": Settings("zeroth-order", True, epochs=4, stop=4, window=2, every=1, alpha_rate=0.05),
    "zo-darts++": Settings("zeroth-order", True, True, epochs=4, stop=4, window=2, every=1, alpha_rate=0.05, theta=2),
}


def digits() -> Searchable:
    """64 digits and four channels: a step takes a few milliseconds."""
    splits = {
        name: split._replace(images=split.images[:64], labels=split.labels[:64]) for name, split in read().items()
    }
    resident = Resident(splits, False, torch.device("cpu"))
    searchable: Searchable = DIGITS.space.as_supernet()
    return replace(searchable, filters=4, training_images=64, batch=8, images=lambda: resident)


def problem(space: Searchable, **facts: Any) -> Problem:
    """What a method sees of a benchmark whose supernet is `space`."""

    class Space:
        def as_supernet(self) -> Searchable:
            return space

    return Problem(Space(), (DIGITS.objective,), **facts)  # type: ignore[arg-type]
