"""What the searches of suites/learns.toml have learnt, by all three tables of NAS-Bench-201.

    python -m examples.looked_up runs/learns   # prints CSV

For each method with five runs and for each table: the mean over seeds of the expected percentile of a cell (0 is best),
with a 95 % t interval over seeds. Of a search by probabilities the expectation is exact: over all cells with a path,
under the search's final probabilities. Of other methods it is the mean over the draws of the run. The last column is
the p of a t test of the first table's means against the uniform distribution, after Holm's correction over methods.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from nasbench.benchmarks import open_benchmark
from nasbench.benchmarks.images.look_up import LookUp
from nasbench.benchmarks.spaces.cells import Stage, dead_stages
from nasbench.results import Store
from nasbench.results.display.numbers import p_value
from nasbench.results.statistics.estimates import FEWEST, holm

TABLES = ("nb201-cifar10", "nb201-cifar100", "nb201-imagenet16")
EDGES = ("0-1", "0-2", "1-2", "0-3", "1-3", "2-3")

Array = NDArray[Any]


class Truth:
    """The percentiles of all cells in a table, and the expectation of a distribution over cells."""

    def __init__(self, images: str, table: str) -> None:
        look_up = open_benchmark(f"supernet:{images}:{table}")
        assert isinstance(look_up, LookUp)
        self._space = look_up.space
        names = look_up.space.hyperparameters[0].values
        self.operations = tuple(map(str, names))
        cells = [look_up.space.configuration(number) for number in range(look_up.space.size)]
        stages = [(Stage(tuple(look_up.space.values(cell).values()), 1),) * 3 for cell in cells]
        self._alive = np.array([not dead_stages(network) for network in stages])
        self._choices = np.array(
            [[names.index(operation) for operation in network[0].operations] for network in stages]
        )
        self._percentiles = look_up.all_means()[:, 0]
        self._number = {cell: number for number, cell in enumerate(cells)}

    def expected(self, probabilities: Array) -> float:
        """The expected percentile of a cell with a path, under probabilities of shape (edges, operations)."""
        each = np.where(self._alive, np.prod(probabilities[np.arange(6), self._choices], axis=1), 0.0)
        return float(each @ self._percentiles / each.sum())

    def of(self, configuration: str) -> float:
        """The percentile of a cell, given as stored in a trajectory."""
        return float(self._percentiles[self._number[self._space.from_values(json.loads(configuration))]])


def final_probabilities(log: pd.DataFrame, operations: tuple[str, ...]) -> dict[tuple[str, int], Array]:
    """The probabilities at the end of each search, shape (edges, operations), by method and seed."""
    rows = log[(log["quantity"] == "operation") & (log["stage"] == 1)]
    ends = rows[rows["epoch"] == rows.groupby(["method", "seed"])["epoch"].transform("max")]
    return {
        (str(method), int(seed)): own.pivot_table("value", "edge", "choice")
        .loc[list(EDGES), list(operations)]
        .to_numpy()
        for (method, seed), own in ends.groupby(["method", "seed"])
    }


def summary(store: Path) -> pd.DataFrame:
    """One row per method, and one for the uniform distribution: for each table `mean (low to high)`."""
    runs = pd.read_parquet(store, columns=["method", "seed", "bench", "configuration"])
    images = str(runs["bench"].iloc[0]).split(":")[1]
    log = pd.read_parquet(
        store / "_searches", columns=["method", "seed", "epoch", "quantity", "stage", "edge", "choice", "value"]
    )
    columns, tests = {}, {}
    for table in TABLES:
        truth = Truth(images, table)
        exact = {run: truth.expected(found) for run, found in final_probabilities(log, truth.operations).items()}
        percentiles = runs.assign(value=[truth.of(text) for text in runs["configuration"]])
        drawn = percentiles.groupby(["method", "seed"])["value"].mean()
        scores = pd.Series({run: exact.get(run, float(value)) for run, value in drawn.items()})
        scores = scores[scores.groupby(level=0).transform("size") >= FEWEST]
        told = scores.groupby(level=0).apply(_told)
        uniform = truth.expected(np.full((6, len(truth.operations)), 1 / len(truth.operations)))
        columns[table] = pd.concat([pd.Series({"uniform": f"{uniform:.2f}"}), told])
        tests[table] = {m: stats.ttest_1samp(own, uniform).pvalue for m, own in scores.groupby(level=0)}
    first = tests[TABLES[0]]
    columns["p"] = pd.Series(dict(zip(first, map(p_value, holm(np.array(list(first.values())))), strict=True)))
    table = pd.DataFrame(columns).fillna("-").loc[list(columns[TABLES[0]].index)]
    return table.rename(index=Store.open(store).wishes().get("labels", {}))


def _told(runs: pd.Series) -> str:
    half = stats.sem(runs) * stats.t.ppf(0.975, len(runs) - 1)
    return f"{runs.mean():.2f} ({runs.mean() - half:.2f} to {runs.mean() + half:.2f})"


if __name__ == "__main__":
    print(summary(Path(sys.argv[1])).to_csv(index_label="method"), end="")
