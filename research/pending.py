"""Prints what knowing the pending evaluations is worth to each method, and what parallel workers cost it.

    python -m research.pending STORE [--optuna]

Reads a store of the suite `pending`. A row per method and number of workers, as CSV:

* better, low, high: the probability that a run that knows the pending evaluations is better than one that ignores
  them, at equal evaluations, and its 95 % confidence interval over search spaces (t);
* seconds_better, seconds_low, seconds_high: the same at equal seconds, when the run of median length has ended;
* parallel_better, parallel_low, parallel_high: the probability that a run with several workers that ignores pending
  evaluations is better than a run with one worker, after the same number of evaluations.

With `--optuna`, a row per form of c-TPE and number of workers: the probability that its run is better than one of
Optuna's TPE with as many workers, under the constraints that both were run with.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from nasbench.results import Store
from nasbench.results.curves import Curves
from nasbench.results.reading import load, select
from nasbench.results.selection import check_versions

OPTUNA = "optuna"

PAIRS = {
    "c-tpe": ("c-tpe:pending=bad", "c-tpe"),
    "optuna's tpe": (OPTUNA, f"{OPTUNA}:liar=false"),
    "smbo": ("smbo:pending=bad", "smbo"),
    "scbo": ("scbo:pending=mean", "scbo"),
    "nasbot": ("nasbot", "nasbot:pending=ignored"),
    "bohb": ("bohb:pending=bad", "bohb"),
}
"""Name for display → the method that knows the pending evaluations, and the one that ignores them."""
WORKERS = (4, 16, 64)

Runs = dict[tuple[str, str], NDArray[np.float64]]
"""The scores of the runs of a method, by benchmark and constraint; infinite if nothing feasible was found."""


def runs(curves: Curves, method: str, at_seconds: bool = False) -> Runs:
    """The scores of a method's incumbents at the end of the budget, or at the horizon of each setting in seconds."""
    if method not in curves.methods:
        return {}
    values = curves.at_shares(np.ones(1)) if at_seconds else curves.at((curves.end,))
    number, found = curves.methods.index(method), {}
    for setting, row in enumerate(curves.settings.itertuples()):
        own = curves.groups.get((setting, number), np.zeros(0, np.intp))
        if len(own):
            found[row.bench, row.constraint] = np.nan_to_num(values[own, 0], nan=np.inf)
    return found


def better(ours: Runs, theirs: Runs, space: Mapping[str, str]) -> tuple[float, float, float]:
    """P that a run of ours is better, ties counted half: the mean over search spaces, and its confidence interval."""
    by_space: dict[str, list[float]] = {}
    for setting in ours.keys() & theirs.keys():
        a, b = ours[setting][:, None], theirs[setting][None]
        by_space.setdefault(space[setting[0]], []).append(float(((a < b) + 0.5 * (a == b)).mean()))
    means = np.array([np.mean(shares) for shares in by_space.values()])
    half = stats.t.ppf(0.975, len(means) - 1) * means.std(ddof=1) / np.sqrt(len(means)) if len(means) > 1 else np.nan
    low, high = np.clip([means.mean() - half, means.mean() + half], 0.0, 1.0)
    return float(means.mean()), float(low), float(high)


def main() -> None:
    """Prints the table that the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--optuna", action="store_true", help="c-tpe beside Optuna's TPE")
    asked = parser.parse_args()
    store = Store(asked.store)
    protocols = sorted({fragment.setup.protocol for fragment in store.fragments()})
    check_versions(fragment.setup for fragment in store.fragments())
    curves = {protocol: load(select([store], protocol)) for protocol in protocols}
    space = {row.bench: row.space for c in curves.values() for row in c.settings.itertuples()}

    def of(method: str, workers: int, at_seconds: bool = False) -> Runs:
        ending = f"on {workers} worker{'s' * (workers > 1)}"
        found: Runs = {}
        for protocol, c in curves.items():
            found |= runs(c, method, at_seconds) if protocol.endswith(ending) else {}
        return found

    writer = csv.writer(sys.stdout, lineterminator="\n")
    if asked.optuna:
        writer.writerow(["method", "workers", "spaces", "better", "low", "high"])
        for method, workers in product(PAIRS["c-tpe"][::-1], (1, *WORKERS)):
            if ours := of(method, workers):
                theirs = of(OPTUNA, workers)
                spaces = len({space[bench] for bench, _ in ours.keys() & theirs.keys()})
                writer.writerow([method, workers, spaces, *(f"{value:.2f}" for value in better(ours, theirs, space))])
        return
    heads = [f"{kind}{end}" for kind, end in product(("", "seconds_", "parallel_"), ("better", "low", "high"))]
    writer.writerow(["method", "workers", "spaces", *heads])
    for (name, (knowing, ignoring)), workers in product(PAIRS.items(), WORKERS):
        if not of(knowing, workers):
            continue
        estimates = [
            better(of(knowing, workers), of(ignoring, workers), space),
            better(of(knowing, workers, True), of(ignoring, workers, True), space),
            better(of(ignoring, workers), of(ignoring, 1), space)
            if of(ignoring, 1)
            else better(of(ignoring, workers), of(knowing, 1), space),
        ]
        spaces = len({space[bench] for bench, _ in of(knowing, workers)})
        writer.writerow([name, workers, spaces, *(f"{value:.2f}" for estimate in estimates for value in estimate)])


if __name__ == "__main__":
    main()
