"""How often a run of each method ends better than one of a few others: a table by search space, of a store's runs.

    python -m research.against STORE REFERENCE…

Prints CSV: a row for each method that has runs on every task, with the mean over a space's tasks, and the lowest and
the highest task in brackets. Every pair of runs on a task counts once, a tie half.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nasbench.results import Store
from nasbench.results.store.fragment import Fragment

Array = NDArray[np.float64]


def ends(fragment: Fragment) -> Array:
    """The value of the last incumbent of each run, shape (runs,)."""
    last: Array = fragment.table(["seed", "incumbent"]).to_pandas().groupby("seed")["incumbent"].last().to_numpy()
    return last


def better(own: Array, other: Array) -> float:
    """The probability that a run of one is better than one of the other."""
    return float(((own[:, None] < other) + 0.5 * (own[:, None] == other)).mean())


def table(store: Store, references: tuple[str, ...]) -> list[list[str]]:
    """The rows with their head, best first."""
    found: dict[str, dict[str, dict[str, Array]]] = {}
    for f in store.fragments():  # a setup may have several
        task = found.setdefault(f.setup.setting.space, {}).setdefault(f.setup.bench, {})
        task[f.setup.method] = np.concatenate([task.get(f.setup.method, np.empty(0)), ends(f)])
    rows = []
    for method in set.intersection(*(set(own) for tasks in found.values() for own in tasks.values())):
        pairs = [(list(tasks.values()), name) for tasks in found.values() for name in references]
        shares = [[better(own[method], own[name]) for own in tasks] for tasks, name in pairs]
        cells = [f"{np.mean(share):.2f} ({min(share):.2f} to {max(share):.2f})" for share in shares]
        rows.append((-np.mean([np.mean(share) for share in shares]), method, cells))
    head = ["method", *(f"{space}: {name}" for space in found for name in references)]
    return [head, *([method, *cells] for _, method, cells in sorted(rows))]


if __name__ == "__main__":
    csv.writer(sys.stdout, lineterminator="\n").writerows(table(Store.open(Path(sys.argv[1])), tuple(sys.argv[2:])))
