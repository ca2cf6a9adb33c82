"""A small NAS-Bench-201 file in the exact structure of the official one, made through the package's own classes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
SEEDS = {"cifar10-valid": (777, 888, 999), "cifar10": (777,), "cifar100": (777, 888), "ImageNet16-120": (777, 999)}
_EVERY_EPOCH = {
    "cifar10-valid": ("x-valid", "ori-test"),
    "cifar10": ("ori-test",),
    "cifar100": (),
    "ImageNet16-120": (),
}
_LAST_EPOCH = {"cifar100": ("ori-test", "x-valid", "x-test"), "ImageNet16-120": ("ori-test", "x-valid", "x-test")}


def architecture(digits: tuple[int, ...]) -> str:
    """The official string of a cell."""
    a, b, c, d, e, f = (OPERATIONS[digit] for digit in digits)
    return f"|{a}~0|+|{b}~0|{c}~1|+|{d}~0|{e}~1|{f}~2|"


def miniature(api: Any, cells: list[tuple[int, ...]], epochs: int = 200, nats: bool = False) -> dict[str, Any]:
    """The raw records of some cells.

    Args:
        api: `nas_201_api` or `nats_bench`: whose `ArchResults` and `ResultsCount` make the records.
        nats: key the schedules as NATS-Bench does.
    """
    rng = np.random.default_rng(0)
    infos = OrderedDict()
    for index, digits in enumerate(cells):
        full, less = (_results(api, index, digits, length, rng) for length in (epochs, 12))
        names = ("200", "12") if nats else ("full", "less")
        infos[index] = dict(zip(names, (full.state_dict(), less.state_dict()), strict=True))
    return {
        "meta_archs": [architecture(digits) for digits in cells],
        "arch2infos": infos,
        "evaluated_indexes": set(range(len(cells))),
    }


def _results(api: Any, index: int, digits: tuple[int, ...], epochs: int, rng: np.random.Generator) -> Any:
    results = api.ArchResults(index, architecture(digits))
    for data, seeds in SEEDS.items():
        for seed in seeds:
            config = {"channel": 16, "num_cells": 5, "arch_str": architecture(digits), "class_num": 10}
            none: dict[int, float] = {}
            trial = api.ResultsCount(
                data, None, none, none, 0.1 + index, 10.0 + index, config, seed, epochs, [0.01, 0.02]
            )
            accuracies = dict(enumerate(np.sort(rng.uniform(10, 95, epochs)).tolist()))
            times = dict.fromkeys(range(epochs), 7.5 + index)
            trial.update_train_info(accuracies, accuracies, accuracies, times)
            for split in _EVERY_EPOCH[data]:
                values = {
                    f"{split}@{e}": value for e, value in enumerate(np.sort(rng.uniform(10, 95, epochs)).tolist())
                }
                trial.update_eval(values, values, dict.fromkeys(values, 0.5))
            for split in _LAST_EPOCH.get(data, ()):
                value = {epochs - 1: float(rng.uniform(10, 70))}
                trial.update_OLD_eval(split, value, value)
            results.update(data, seed, trial)
    return results
