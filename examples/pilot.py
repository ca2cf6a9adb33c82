"""Whether a table of a live benchmark is worth its hours: does a sample of it rank networks, or noise?

    nasbench tabulate digits/nasbench201/table    --sample 46 --repetitions 3 --out pilot/short
    nasbench tabulate digits/nasbench201/table@24 --sample 46 --repetitions 2 --out pilot/long
    python examples/pilot.py pilot/short.csv pilot/long.csv [--metric val-error]

In place of a longer training, the name of a table of the same networks may be given (nb201-cifar10 for the cells of
NAS-Bench-201). The rule, fixed before the first pilot: build the table only if the lower end of the interval of the
reliability is 0.7 or more, and the rank correlation with the longer training is 0.6 or more. The exit code is 1
otherwise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from nasbench.benchmarks import open_benchmark
from nasbench.benchmarks.spaces.errors import UsageError
from nasbench.benchmarks.tabular import TabularBenchmark

Array = NDArray[np.float64]

LEAST_RELIABILITY, LEAST_AGREEMENT = 0.7, 0.6
"""What the lower end of the reliability's interval, and the rank correlation, must reach."""
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


def interval(
    statistic: Callable[..., Array], *scores: Array, rng: np.random.Generator, draws: int = _DRAWS
) -> tuple[float, float]:
    """The 5 % and 95 % quantiles of a statistic over bootstrap samples of the networks, which keep all their seeds."""
    count = len(scores[0])
    rows = rng.integers(count, size=(draws, count))
    low, high = np.quantile(statistic(*(own[rows] for own in scores)), _ENDS)
    return float(low), float(high)


def passes(lower_reliability: float, rank_correlation: float) -> bool:
    """Whether the table may be built."""
    return lower_reliability >= LEAST_RELIABILITY and rank_correlation >= LEAST_AGREEMENT


def read(path: Path, metric: str) -> tuple[str, pd.DataFrame]:
    """A metric at its last epoch: its name, and a frame with a row per class of networks and a column per seed."""
    frame = pd.read_csv(path)
    found = [c for c in frame if c.startswith(f"{metric}@")]
    if not found or "class" not in frame or "repetition" not in frame:
        columns = ", ".join(frame.columns[:20])
        raise UsageError(
            f"{path} has no columns {metric}@EPOCH, class and repetition, as tables of networks by `nasbench tabulate` "
            f"have; it has {columns}: --metric names another metric"
        )
    if frame["repetition"].nunique() < 2:
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
    asked = parser.parse_args()
    for path in (asked.short, Path(asked.long)):
        if path.suffix == ".csv" and not path.is_file():
            parser.error(f"there is no file {path}")
    try:
        name, short = read(asked.short, asked.metric)
        if asked.long.endswith(".csv"):
            longer, long = read(Path(asked.long), asked.metric)
        else:
            longer, long = asked.long, outside(asked.long, short.index)
    except UsageError as error:
        parser.error(str(error))
    both = short.index.intersection(long.index)
    ours, theirs = short.loc[both].to_numpy(), long.loc[both].to_numpy()
    rng, seeds = np.random.default_rng(0), ours.shape[1]
    found, ends = float(reliability(ours)), interval(reliability, ours, rng=rng)
    rho, rho_ends = float(agreement(ours, theirs)), interval(agreement, ours, theirs, rng=rng)
    noise, spread = np.sqrt(ours.var(1, ddof=1).mean()), ours.mean(1).std(ddof=1)
    print(f"{len(both)} networks x {seeds} seeds of {name}: mean {ours.mean():.2f}")
    print(f"standard deviation between seeds {noise:.2f}, between networks' means {spread:.2f}")
    print(f"reliability of one run {of_one_seed(found, seeds):.2f}")
    print(f"reliability of the mean {found:.2f} (bootstrap {ends[0]:.2f} to {ends[1]:.2f}, 5 % to 95 %)")
    runs = f", {theirs.shape[1]} seeds" if theirs.shape[1] > 1 else ""
    print(f"rank correlation with {longer}{runs}: {rho:.2f} ({rho_ends[0]:.2f} to {rho_ends[1]:.2f})")
    if theirs.shape[1] > 1:  # two noisy rankings of the same truth agree by no more than this (Spearman, 1904)
        own = float(reliability(theirs))
        print(
            f"reliability of {longer} itself {own:.2f}: for noise alone the correlation is at most "
            f"{np.sqrt(found * own):.2f}"
        )
    good = passes(ends[0], rho)
    rule = f"{LEAST_RELIABILITY} or more at the lower end, {LEAST_AGREEMENT} or more in rank correlation"
    print(f"rule: {rule}: {'passed, the table may be built' if good else 'failed, do not build the table'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
