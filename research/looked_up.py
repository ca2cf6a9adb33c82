"""What the searches of suites/learns.toml have learnt, by all three tables of NAS-Bench-201.

    python -m research.looked_up runs/learns          # prints CSV
    python -m research.looked_up runs/learns --pairs  # of each search beside what it must beat, on the first table
    python -m research.looked_up runs/learns runs/learns-on-xeon          # of searches made on two processors
    python -m research.looked_up runs/learns runs/learns-on-xeon --apart  # and each processor by itself
    python -m research.looked_up runs/learns --own FILE.csv  # by trainings on the same images (`nasbench tabulate`)

Of several stores, whose searches were made on several processors, a seed scores the mean of its searches.

For each method with five runs and for each table: the mean over seeds of the expected percentile of a cell (0 is best),
with a 95 % t interval over seeds. Of a search by probabilities the expectation is exact: over all cells with a path,
under the search's final probabilities. Of other methods it is the mean over the draws of the run. The last column is
the p of a t test of the first table's means against the uniform distribution, after Holm's correction over methods.

ρ is Spearman's correlation between the probability of a cell and its rank in the first table (1: the better, the more
probable), and `most probable` the percentile there of the most probable cell; both are of searches by probabilities,
with the same intervals.

With --pairs: the mean difference of percentiles (negative: the search is better) between each search and the uniform
distribution, its random-sign ablation, the draws of `one-shot-random`, the zero-cost scores and each other search, with
a 95 % t interval over the seeds that both have, p after Holm's correction over all rows, and the shift that this number
of seeds finds with probability 0.8 at 5 %, before that correction.

With --own: ρ between the probability of a network and its mean validation error in a sample that was trained, negated.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.power import TTestPower

from nasbench.base.numbers import p_value
from nasbench.benchmarks import open_benchmark
from nasbench.benchmarks.images.look_up import LookUp
from nasbench.benchmarks.spaces.cells import Stage, dead_stages
from nasbench.benchmarks.spaces.cells.operations import sized
from nasbench.results import Store
from nasbench.results.statistics.estimates import FEWEST, holm
from research.pilot import read

TABLES = ("nb201-cifar10", "nb201-cifar100", "nb201-imagenet16")
FOILS = ("one-shot-random", "proxy")
"""Methods that search nothing, and that a search must beat."""

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
        self.logged = look_up.space.as_supernet().operations
        """The same operations as searches log them, in which the size of a kernel is a choice of its own."""
        assert self.operations == tuple(sized(name, 3) for name in self.logged)
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

    def correlation(self, probabilities: Array) -> float:
        """Spearman's ρ between the probability of a cell with a path and its percentile, negated: 1 is the best."""
        return agreement(probabilities, self._choices[self._alive], self._percentiles[self._alive])

    def most_likely(self, probabilities: Array) -> float:
        """The percentile of the most probable cell with a path."""
        each = np.where(self._alive, np.prod(probabilities[np.arange(6), self._choices], axis=1), -1.0)
        return float(self._percentiles[each.argmax()])

    def of(self, configuration: str) -> float:
        """The percentile of a cell, given as stored in a trajectory."""
        return float(self._percentiles[self._number[self._space.from_values(json.loads(configuration))]])


def agreement(probabilities: Array, networks: Array, errors: Array) -> float:
    """Minus Spearman's ρ between the probabilities of networks and their errors.

    It is 0 where all networks are equally probable: sparsemax may rule all of a sample out.

    Args:
        probabilities: shape (edges, operations).
        networks: the operation of each edge, shape (networks, edges).
        errors: shape (networks,).
    """
    each = np.prod(probabilities[np.arange(len(EDGES)), networks], axis=1).round(15)  # equal products tie
    return -float(stats.spearmanr(each, errors).statistic) if np.ptp(each) else 0.0


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


def scored(stores: Sequence[Path], tables: Sequence[str]) -> dict[str, pd.Series]:
    """The score of each seed in each table, indexed by method and seed; methods with five seeds or more.

    A seed that several stores have, for its search was made on several processors, scores the mean of its searches.
    """
    read = [(pd.read_parquet(store, columns=["method", "seed", "configuration"]), _log(store)) for store in stores]
    scores = {}
    for table in tables:
        truth = Truth(_images(stores[0]), table)
        of_seeds = mean_of([_of_runs(runs, log, truth) for runs, log in read])
        scores[table] = of_seeds[of_seeds.groupby(level=0).transform("size") >= FEWEST]
    return scores


def _of_runs(runs: pd.DataFrame, log: pd.DataFrame, truth: Truth) -> pd.Series:
    """The score of each run of a store, indexed by method and seed.

    Args:
        runs: all evaluations of the store.
        log: its search log.
    """
    exact = {run: truth.expected(found) for run, found in final_probabilities(log, truth.logged).items()}
    percentiles = runs.assign(value=[truth.of(text) for text in runs["configuration"]])
    drawn = percentiles.groupby(["method", "seed"])["value"].mean()
    return pd.Series({run: exact.get(run, float(value)) for run, value in drawn.items()})


def mean_of(found: Sequence[pd.Series]) -> pd.Series:
    """The mean over stores, by method and seed, of what all of them have."""
    together: pd.Series = pd.concat(found, axis=1, join="inner").mean(axis=1)
    return together


def uniform(images: str, table: str) -> float:
    """The expected percentile under the uniform distribution."""
    truth = Truth(images, table)
    return truth.expected(np.full((len(EDGES), len(truth.operations)), 1 / len(truth.operations)))


def summary(stores: Sequence[Path]) -> pd.DataFrame:
    """One row per method, and one for the uniform distribution: for each table `mean (low to high)`."""
    columns, tests = {}, {}
    for table, scores in scored(stores, TABLES).items():
        chance = uniform(_images(stores[0]), table)
        told = scores.groupby(level=0).apply(_told)
        columns[table] = pd.concat([pd.Series({"uniform": f"{chance:.2f}"}), told])
        tests[table] = {m: stats.ttest_1samp(own, chance).pvalue for m, own in scores.groupby(level=0)}
    first = tests[TABLES[0]]
    columns |= _directions(stores)
    columns["p"] = pd.Series(dict(zip(first, map(p_value, holm(np.array(list(first.values())))), strict=True)))
    table = pd.DataFrame(columns).fillna("-").loc[list(columns[TABLES[0]].index)]
    return table.rename(index=_labels(stores))


def _directions(stores: Sequence[Path]) -> dict[str, pd.Series]:
    """How the probabilities of a search rank cells, and where its most probable cell stands, by method."""
    truth = Truth(_images(stores[0]), TABLES[0])
    ends = [_ends(store, truth) for store in stores]
    found = {"ρ": truth.correlation, "most probable": truth.most_likely}
    return {
        name: mean_of([pd.Series({run: of(p) for run, p in own.items()}) for own in ends]).groupby(level=0).apply(_told)
        for name, of in found.items()
    }


def apart(stores: Sequence[Path]) -> pd.DataFrame:
    """One row per method: of each store alone `mean (low to high)` in the first table, and p after its correction."""
    columns: dict[str, pd.Series] = {}
    for store in stores:
        scores, chance = scored([store], TABLES[:1])[TABLES[0]], uniform(_images(store), TABLES[0])
        tests = {method: stats.ttest_1samp(own, chance).pvalue for method, own in scores.groupby(level=0)}
        corrected = map(p_value, holm(np.array(list(tests.values()))))
        columns[store.name] = scores.groupby(level=0).apply(_told)
        columns[f"p of {store.name}"] = pd.Series(dict(zip(tests, corrected, strict=True)))
    return pd.DataFrame(columns).rename(index=_labels(stores))


def own(stores: Sequence[Path], trained: Path) -> pd.DataFrame:
    """How probabilities rank a sample of trained networks: `mean (low to high)` over seeds, and Spearman's ρ alone."""
    truth = Truth(_images(stores[0]), TABLES[0])
    _, errors = read(trained, "val-error")
    choices = np.array([[truth.operations.index(name) for name in network] for network in errors.index])
    trained_errors = errors.mean(axis=1).to_numpy()
    found = mean_of(
        [
            pd.Series({run: agreement(p, choices, trained_errors) for run, p in _ends(store, truth).items()})
            for store in stores
        ]
    )
    table = pd.DataFrame({"ρ": found.groupby(level=0).apply(_told)}).assign(networks=len(errors))
    return table.rename(index=_labels(stores))


def pairs(stores: Sequence[Path]) -> pd.DataFrame:
    """What `beside` says of the stores' runs, by the first table."""
    scores = scored(stores, TABLES[:1])[TABLES[0]].unstack()
    labels = _labels(stores)
    table = beside(scores, uniform(_images(stores[0]), TABLES[0]))
    return table.replace({"against": labels}).rename(index=labels)


def beside(scores: pd.DataFrame, chance: float) -> pd.DataFrame:
    """One row per search and opponent: `difference (low to high)`, p after Holm's correction, seeds, detectable shift.

    Args:
        scores: a row per method, a column per seed, NaN where there is no run.
        chance: the score of the uniform distribution.
    """
    ablations = {m: _without_noise(m) for m in scores.index if "estimate=noise" in m}
    searches = [m for m in scores.index if m not in ablations and m.partition(":")[0] not in FOILS]
    contrasts = {(search, "uniform"): scores.loc[search] - chance for search in searches}
    for search in searches:
        opponents = [m for m in scores.index if m not in ablations and (m not in searches or m > search)]
        opponents += [m for m, base in ablations.items() if base == search]
        contrasts |= {(search, other): scores.loc[search] - scores.loc[other] for other in opponents}
    contrasts = {pair: own.dropna() for pair, own in contrasts.items() if own.count() >= FEWEST}
    p = holm(np.array([stats.ttest_1samp(own, 0).pvalue for own in contrasts.values()]))
    power = {n: TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8) for n in {len(c) for c in contrasts.values()}}
    return pd.DataFrame(
        {
            "method": [search for search, _ in contrasts],
            "against": [other for _, other in contrasts],
            "difference": [_told(own) for own in contrasts.values()],
            "p": list(map(p_value, p)),
            "seeds": [len(own) for own in contrasts.values()],
            "detectable": [f"{power[len(own)] * own.std():.2f}" for own in contrasts.values()],
        }
    ).set_index("method")


def _without_noise(method: str) -> str:
    """The name of the method of which this is the random-sign ablation."""
    name, _, options = method.partition(":")
    kept = [option for option in options.split(",") if option != "estimate=noise"]
    return ":".join([name, *filter(None, [",".join(kept)])])


def _ends(store: Path, truth: Truth) -> dict[tuple[str, int], Array]:
    """The probabilities at the end of each search of a method with five or more."""
    ends = final_probabilities(_log(store), truth.logged)
    seeds = Counter(method for method, _ in ends)
    return {run: p for run, p in ends.items() if seeds[run[0]] >= FEWEST}


def _log(store: Path) -> pd.DataFrame:
    columns = ["method", "seed", "epoch", "quantity", "stage", "edge", "choice", "value"]
    return pd.read_parquet(store / "_searches", columns=columns)


def _labels(stores: Sequence[Path]) -> dict[str, str]:
    labels: dict[str, str] = Store.open(stores[0]).display().get("labels", {})
    return labels


def _images(store: Path) -> str:
    return str(pd.read_parquet(store, columns=["bench"])["bench"].iloc[0]).split(":")[1]


def _told(runs: pd.Series) -> str:
    half = stats.sem(runs) * stats.t.ppf(0.975, len(runs) - 1)
    return f"{runs.mean():.2f} ({runs.mean() - half:.2f} to {runs.mean() + half:.2f})"


def main() -> None:
    """Prints the table that the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stores", type=Path, nargs="+", metavar="STORE")
    parser.add_argument("--pairs", action="store_true", help="each search beside what it must beat")
    parser.add_argument("--apart", action="store_true", help="each store by itself")
    parser.add_argument("--own", type=Path, metavar="FILE.csv", help="by trained networks")
    asked = parser.parse_args()
    wanted = pairs if asked.pairs else apart if asked.apart else summary
    table = own(asked.stores, asked.own) if asked.own else wanted(asked.stores)
    print(table.to_csv(index_label="method"), end="")


if __name__ == "__main__":
    main()
