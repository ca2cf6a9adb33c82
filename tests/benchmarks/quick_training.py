"""A training of a small network of cells on made-up images."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from nasbench.benchmarks.images.datasets import Split
from nasbench.benchmarks.spaces.cells import Stage
from nasbench.benchmarks.spaces.cells.network import CellNetwork
from nasbench.benchmarks.training import training
from nasbench.benchmarks.training.augmentation import Resident
from nasbench.benchmarks.training.recipes import RECIPES, Recipe
from tests.benchmarks.made_up import made_up

STAGES = (Stage(("nor_conv_3x3", "skip_connect", "none", "nor_conv_5x5", "avg_pool_3x3", "none"), 1),) * 3


QUICK = replace(RECIPES["smoke"], filters=4)


def resident(flip: bool = True, **changes: Split) -> Resident:
    splits = {"train": made_up(60), "val": made_up(30, seed=1), "test": made_up(30, seed=2)} | changes
    return Resident(splits, flip, torch.device("cpu"))


def trained(data: Resident, seed: int = 3, epochs: int = 3, recipe: Recipe = QUICK, **options: Any) -> training.Trained:
    return training.train(lambda: CellNetwork(STAGES, 4, 1, 3), data, recipe, epochs, 16, seed, **options)


def bits(found: training.Trained) -> list[bytes]:
    return [value.numpy().tobytes() for value in found.network.state_dict().values()]
