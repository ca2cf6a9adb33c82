"""Measures c-TPE, its foils and random search against the scripts of the c-TPE authors, on the same tables.

    python -m research.ctpe_reference [--methods c-tpe c-tpe-naive] [--settings 21] [--first-seed 1000] [--seeds 50]

The reference: medians over seeds of the best feasible observed objective after 50, 100, 150 and 200 evaluations, for 7
tables × 9 constraints, in `tests/methods/ctpe_reference_medians.csv`. Prints per method and checkpoint how many medians
are better, worse and tied, how often a run beats the reference's median, and p(worse): the one-sided test that it does
so in less than half of the cases, clustered by seed. 63 settings × 50 seeds of one method take some minutes.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from nasbench.benchmarks import open_benchmark, parse_constraints
from nasbench.cli.engine.loop import run
from nasbench.cli.engine.plan import Grid, Protocol, expand
from nasbench.methods import MethodSpec

CHECKPOINTS = (50, 100, 150, 200)
REFERENCE = Path(__file__).parent.parent / "tests" / "methods" / "ctpe_reference_medians.csv"

Setting: TypeAlias = tuple[str, str]
"""Benchmark and constraint label."""


class Reference(NamedTuple):
    """Medians of one method of the authors' scripts in one setting."""

    seeds: int
    medians: tuple[float, ...]
    """One per checkpoint."""


class Verdict(NamedTuple):
    """One method at one checkpoint against the reference, over some settings."""

    better: int
    """Settings whose median over our seeds is below the reference's."""
    worse: int
    tied: int
    share: float
    """How often a run beats the reference's median, ties counted half, mean over settings."""
    p_worse: float
    """p of the one-sided test that this share is below one half, with seeds as units."""
    half_width: float
    """Half of the 95 % confidence interval of the share, with seeds as units."""


def reference() -> dict[str, dict[Setting, Reference]]:
    """Reads the reference: method → setting → medians."""
    found: dict[str, dict[Setting, Reference]] = {}
    with REFERENCE.open() as file:
        for row in csv.DictReader(file):
            medians = tuple(float(row[f"median@{t}"]) for t in CHECKPOINTS)
            setting = row["benchmark"], row["constraint"]
            found.setdefault(row["method"], {})[setting] = Reference(int(row["seeds"]), medians)
    return found


def incumbents(method: str, settings: Iterable[Setting], seeds: Sequence[int]) -> NDArray[np.float64]:
    """Best feasible observed objectives of our runs, shape (settings, seeds, checkpoints).

    Before the first feasible observation it is the worst feasible value of the setting, as in the reference.
    """
    found = []
    for benchmark, constraint in settings:
        limits = (parse_constraints(constraint.split("+")),)
        grid = Grid((MethodSpec.parse(method),), (benchmark,), limits, tuple(seeds), Protocol(max(CHECKPOINTS)))
        (planned,) = expand([grid])
        worst = planned.setup.setting.worst
        table = open_benchmark(benchmark)
        runs = [run(planned.setup, seed, planned.spec, table, planned.bounds) for seed in seeds]
        curves = np.array([r.columns["incumbent"] for r in runs])
        found.append(np.where(np.isnan(curves), worst, curves)[:, np.array(CHECKPOINTS) - 1])
    return np.array(found)


def compare(ours: NDArray[np.float64], theirs: Sequence[Reference]) -> list[Verdict]:
    """Compares our incumbents, shape (settings, seeds, checkpoints), with the reference's medians, per checkpoint."""
    medians = np.array([r.medians for r in theirs])
    verdicts = []
    for t in range(len(CHECKPOINTS)):
        sides = _sides(np.median(ours[:, :, t], axis=1), medians[:, t])
        seeds = ours.shape[1]
        shares = (0.5 - 0.5 * _sides(ours[:, :, t], medians[:, t, None])).mean(axis=0)
        # The medians of the reference have an error of their own, as if it were of one more sample of its seeds.
        error = shares.std(ddof=1) / math.sqrt(seeds) * math.sqrt(1 + seeds / min(r.seeds for r in theirs))
        p = float(stats.t.cdf((shares.mean() - 0.5) / error, seeds - 1))
        counts = [int((sides == side).sum()) for side in (-1, 1, 0)]
        half = float(stats.t.ppf(0.975, seeds - 1) * error)
        verdicts.append(Verdict(*counts, float(shares.mean()), p, half))
    return verdicts


def _sides(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """-1 where a is smaller, 1 where it is larger, 0 where they are equal up to 1e-9."""
    sides: NDArray[np.float64] = np.where(np.isclose(a, b, rtol=1e-9, atol=0.0), 0.0, np.sign(a - b))
    return sides


def main() -> None:
    """Runs the methods, and prints how often each is better, worse and tied against the scripts' medians."""
    parser = argparse.ArgumentParser(description="c-TPE against its authors' scripts")
    parser.add_argument("--methods", nargs="+", default=["c-tpe", "c-tpe-naive", "tpe:variant=paper", "random"])
    parser.add_argument("--settings", type=int, choices=(21, 63), default=63, help="21: two constraints; 63: all")
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=50)
    asked = parser.parse_args()
    seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
    print(f"{'method':24} {'evals':>5} {'better/worse/tie':>17} {'share':>14} {'p(worse)':>8}")
    for method in asked.methods:
        theirs = reference()[method.partition(":")[0]]
        settings = [s for s in theirs if asked.settings == 63 or "+" in s[1]]
        verdicts = compare(incumbents(method, settings, seeds), [theirs[s] for s in settings])
        for t, v in zip(CHECKPOINTS, verdicts, strict=True):
            medians = f"{v.better}/{v.worse}/{v.tied}"
            share = f"{v.share:.3f} ± {v.half_width:.3f}"
            print(f"{method:24} {t:5} {medians:>17} {share:>14} {v.p_worse:8.3f}", flush=True)


if __name__ == "__main__":
    main()
