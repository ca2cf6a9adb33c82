"""Whether a table of a live benchmark is worth its hours: does a sample of it rank networks, or noise?

    nasbench tabulate digits/nasbench201/table    --sample 46 --repetitions 3 --out pilot/short
    nasbench tabulate digits/nasbench201/table@24 --sample 46 --repetitions 2 --out pilot/long
    python -m research.pilot pilot/short.csv pilot/long.csv [--metric val-error]

In place of a longer training, the name of a table of the same networks may be given (nb201-cifar10 for the cells of
NAS-Bench-201). The longer training may be of a part of the networks, and of one seed. The rule, fixed before the first
pilot: build the table only if the lower end of the interval of the reliability is 0.7 or more, and the rank correlation
with the longer training is 0.6 or more. That of `cells-mini` (--rule mini), fixed before its pilot: the reliability
itself is 0.7 or more, the rank correlation 0.5 or more, and the best tenth of the networks spread over two standard
errors of one mean or more. The exit code is 1 otherwise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from nasbench.base.errors import UsageError
from nasbench.benchmarks import open_benchmark
from nasbench.benchmarks.tabular import TabularBenchmark

Array = NDArray[np.float64]


class Rule(NamedTuple):
    """What a pilot must reach, each at least, for its table to be built."""

    reliability: float
    """Reliability of a network's mean."""
    at_lower_end: bool
    """Whether the lower end of the reliability's interval must reach that, or the estimate."""
    agreement: float
    """Rank correlation with the longer training."""
    spread: float
    """Spread of the best tenth, in standard errors of one mean."""

    def __str__(self) -> str:
        end = " at the lower end" if self.at_lower_end else ""
        spread = f", {self.spread:g} or more in spread" if self.spread else ""
        return f"{self.reliability:g} or more{end}, {self.agreement:g} or more in rank correlation{spread}"


RULES = {"cells": Rule(0.7, True, 0.6, 0.0), "mini": Rule(0.7, False, 0.5, 2.0)}
"""The rules of pilots, each fixed before the pilot that it was made for."""
_ENDS = 0.05, 0.95
_DRAWS = 10_000


def reliability(scores: Array) -> Array:
    """The share of the variance of a network's mean score that is the network, and not its seeds; at least 0.

    (MSB - MSW) / MSB of a one-way analysis of variance: ICC(1, k) of Shrout and Fleiss (1979).

    Args:
        scores: shape (…, networks, seeds).

    Returns shape (…).
    """
    count, seeds = scores.shape[-2:]
    means = scores.mean(-1)
    between = seeds * ((means - means.mean(-1, keepdims=True)) ** 2).sum(-1) / (count - 1)
    within = ((scores - means[..., None]) ** 2).sum((-1, -2)) / (count * (seeds - 1))
    return np.where(between > within, 1 - within / np.maximum(between, np.finfo(float).tiny), 0.0)


def of_one_seed(of_mean: float, seeds: int) -> float:
    """The reliability of one run, from that of the mean of several (Spearman and Brown)."""
    return of_mean / (seeds - (seeds - 1) * of_mean)


def agreement(short: Array, long: Array) -> Array:
    """Spearman's correlation of mean scores, ties given mean ranks.

    Args:
        short: shape (…, networks, seeds).
        long: shape (…, networks, seeds), in the same order of networks; perhaps with another number of seeds.

    Returns shape (…).
    """
    first, second = (rankdata(scores.mean(-1), axis=-1) for scores in (short, long))
    first, second = (ranks - ranks.mean(-1, keepdims=True) for ranks in (first, second))
    norm = np.sqrt((first**2).sum(-1) * (second**2).sum(-1))
    return (first * second).sum(-1) / np.maximum(norm, np.finfo(float).tiny)


def spread_of_best(scores: Array) -> float:
    """How far the best tenth of networks spread, from the first to the last, in standard errors of one mean.

    Args:
        scores: shape (networks, seeds); the smallest are the best.
    """
    count, seeds = scores.shape
    best = np.sort(scores.mean(1))[: max(2, count // 10)]
    return float((best[-1] - best[0]) / np.sqrt(scores.var(1, ddof=1).mean() / seeds))


def interval(
    statistic: Callable[..., Array], *scores: Array, rng: np.random.Generator, draws: int = _DRAWS
) -> tuple[float, float]:
    """The 5 % and 95 % quantiles of a statistic over bootstrap samples of the networks, which keep all their seeds."""
    count = len(scores[0])
    rows = rng.integers(count, size=(draws, count))
    low, high = np.quantile(statistic(*(own[rows] for own in scores)), _ENDS)
    return float(low), float(high)


def passes(rule: Rule, of_mean: float, lower_end: float, rank_correlation: float, spread: float) -> bool:
    """Whether the table may be built, by the reliability of the mean and its lower end, and the other two measures."""
    reliable = (lower_end if rule.at_lower_end else of_mean) >= rule.reliability
    return reliable and rank_correlation >= rule.agreement and spread >= rule.spread


def read(path: Path, metric: str, seeds: int = 2) -> tuple[str, pd.DataFrame]:
    """A metric at its last epoch: its name, and a frame with a row per class of networks and a column per seed.

    Raises UsageError for another file, and if it has fewer than `seeds` repetitions.
    """
    frame = pd.read_csv(path)
    found = [c for c in frame if c.startswith(f"{metric}@")]
    if not found or "class" not in frame or "repetition" not in frame:
        columns = ", ".join(frame.columns[:20])
        raise UsageError(
            f"{path} has no columns {metric}@EPOCH, class and repetition, as tables of networks by `nasbench tabulate` "
            f"have; it has {columns}: --metric names another metric"
        )
    if frame["repetition"].nunique() < seeds:
        raise UsageError(f"{path} has one repetition per network; reliability needs two: tabulate … --repetitions 2")
    name = max(found, key=lambda c: int(c.rpartition("@")[2]))
    choices = list(frame.columns[: frame.columns.get_loc("class")])
    frame = frame.drop_duplicates(["class", "repetition"])  # copies within a class would look like certainty
    return name, frame.pivot_table(values=name, index=choices, columns="repetition").dropna()


def outside(table: str, networks: pd.MultiIndex) -> pd.DataFrame:
    """The mean objective of networks in a table whose hyper-parameters have the same order; one column."""
    benchmark = open_benchmark(table)
    if not isinstance(benchmark, TabularBenchmark):
        raise UsageError(f"{table} is no table")
    names = [h.name for h in benchmark.space.hyperparameters]
    cells = [benchmark.space.from_values(dict(zip(names, network, strict=True))) for network in networks]
    number = {cell: row for row, cell in enumerate(map(benchmark.space.configuration, range(benchmark.space.size)))}
    return pd.DataFrame(benchmark.means(0)[[number[cell] for cell in cells]], index=networks)


def main() -> int:
    """Prints what the pilot says; returns 0 if the table may be built."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("short", type=Path, help="CSV of the candidate setting")
    parser.add_argument("long", help="CSV of a longer training of the same networks, or the name of a table of them")
    parser.add_argument("--metric", default="val-error", help="the table's objective, without its epoch")
    parser.add_argument("--rule", choices=RULES, default="cells", help="what the pilot must reach")
    asked = parser.parse_args()
    for path in (asked.short, Path(asked.long)):
        if path.suffix == ".csv" and not path.is_file():
            parser.error(f"there is no file {path}")
    try:
        name, short = read(asked.short, asked.metric)
        if asked.long.endswith(".csv"):
            longer, long = read(Path(asked.long), asked.metric, seeds=1)
        else:
            longer, long = asked.long, outside(asked.long, short.index)
    except UsageError as error:
        parser.error(str(error))
    both = short.index.intersection(long.index)
    ours, shared, theirs = short.to_numpy(), short.loc[both].to_numpy(), long.loc[both].to_numpy()
    rng, seeds = np.random.default_rng(0), ours.shape[1]
    found, ends = float(reliability(ours)), interval(reliability, ours, rng=rng)
    rho, rho_ends = float(agreement(shared, theirs)), interval(agreement, shared, theirs, rng=rng)
    noise, spread = np.sqrt(ours.var(1, ddof=1).mean()), ours.mean(1).std(ddof=1)
    print(f"{len(ours)} networks x {seeds} seeds of {name}: mean {ours.mean():.2f}")
    print(f"standard deviation between seeds {noise:.2f}, between networks' means {spread:.2f}")
    print(f"reliability of one run {of_one_seed(found, seeds):.2f}")
    print(f"reliability of the mean {found:.2f} (bootstrap {ends[0]:.2f} to {ends[1]:.2f}, 5 % to 95 %)")
    best = spread_of_best(ours)
    print(f"spread of the best tenth {best:.1f} standard errors of one mean")
    few = f" of {len(both)} of them" if len(both) < len(ours) else ""
    runs = f", {theirs.shape[1]} seeds" if theirs.shape[1] > 1 else ""
    print(f"rank correlation with {longer}{few}{runs}: {rho:.2f} ({rho_ends[0]:.2f} to {rho_ends[1]:.2f})")
    if theirs.shape[1] > 1:  # two noisy rankings of the same truth agree by no more than this (Spearman, 1904)
        own = float(reliability(theirs))
        print(
            f"reliability of {longer} itself {own:.2f}: for noise alone the correlation is at most "
            f"{np.sqrt(found * own):.2f}"
        )
    rule = RULES[asked.rule]
    good = passes(rule, found, ends[0], rho, best)
    print(f"rule: {rule}: {'passed, the table may be built' if good else 'failed, do not build the table'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
