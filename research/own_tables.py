"""Makes the tables `sk-…` of what `nasbench tabulate` has evaluated, and checks that they rank configurations.

    make tables                          # evaluates what the folder lacks, then calls this
    python -m research.own_tables FOLDER [--into benchmarks/tabular/packed]

FOLDER has, per table, NAME.csv of all configurations with five repetitions, and NAME-splits.csv of 60 configurations
with fifteen, of which the first five are the same. The rule, fixed before its figures were computed for any table: a
table is kept if the reliability of the mean over five repetitions is 0.9 or more, and if the ranks of the 60
configurations agree with those by the ten other repetitions at 0.8 or more (Spearman). The figures of a table that
fails are printed, and it is not written.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd

from nasbench.benchmarks.learners.data import DATA
from nasbench.benchmarks.learners.estimators import LEARNERS
from nasbench.benchmarks.tabular.imported import TableData
from nasbench.benchmarks.tabular.learners import FOLDER, PackedTable, pack
from nasbench.benchmarks.tabular.table import Array
from nasbench.benchmarks.tabular.user_table import read_table
from research.pilot import agreement, reliability

LEAST_RELIABILITY, LEAST_AGREEMENT = 0.9, 0.8
"""What the reliability of the mean, and the rank correlation with ten other splits, must reach."""
REPETITIONS = 5
SECONDS = "train_time", "predict_time"


def scores(path: Path) -> Array:
    """The objective of a CSV, one row per class of configurations that are equal, shape (classes, repetitions)."""
    frame = pd.read_csv(path)
    objective = frame.columns[frame.columns.get_loc("repetition") + 1]
    return frame.pivot_table(values=objective, index="class", columns="repetition").to_numpy()


def passes(of_mean: float, rank_correlation: float) -> bool:
    """Whether a table is kept."""
    return of_mean >= LEAST_RELIABILITY and rank_correlation >= LEAST_AGREEMENT


def steadied(table: TableData) -> TableData:
    """A table whose seconds are the medians of a configuration's repetitions, to three significant digits."""
    values = np.array(table.values)
    for column, metric in enumerate(table.metrics):
        if metric.name in SECONDS:
            medians = [float(f"{median:.3g}") for median in np.median(values[:, :, column], axis=1)]
            values[:, :, column] = np.array(medians)[:, None]
    metrics = tuple(
        replace(m, description=f"{m.description}; median of the repetitions") if m.name in SECONDS else m
        for m in table.metrics
    )
    return replace(table, values=values, metrics=metrics)


def signed_by(journal: Path) -> str:
    """The version of scikit-learn and the processor that made the evaluations of a journal."""
    with journal.open(encoding="utf-8") as lines:
        by = next(facts["by"] for facts in map(json.loads, lines) if "by" in facts)
    return f"scikit-learn {by['versions']['scikit-learn']} on {by['machine']['cpu']}"


def built(folder: Path, name: str) -> TableData:
    """The table of what lies in a folder."""
    learner = LEARNERS[name.split("-")[1]]
    table = steadied(read_table(folder / f"{name}.csv", folder / f"{name}.toml"))
    source = f"{table.source}; {signed_by(folder / f'{name}.jsonl')}"
    return replace(table, name=name, source=source, **({"counted": learner.counted} if learner.levels else {}))


def main() -> int:
    """Writes the tables that pass, and prints a row of figures for each; returns 1 if evaluations are missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where `make tables` has put its evaluations")
    parser.add_argument("--into", type=Path, default=FOLDER, help="where the tables are written")
    asked = parser.parse_args()
    print(
        "| table | configurations | of which differ | reliability | ranks | best to worst | kept | bytes | checksum |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    lacking, failed, means = [], [], {}
    for name in (f"sk-{learner}-{data}" for learner, data in product(LEARNERS, DATA)):
        if not (asked.folder / f"{name}-splits.csv").exists():
            lacking.append(name)
            continue
        whole, sample = scores(asked.folder / f"{name}.csv"), scores(asked.folder / f"{name}-splits.csv")
        of_mean = float(reliability(whole))
        rho = float(agreement(sample[:, :REPETITIONS], sample[:, REPETITIONS:]))
        table = built(asked.folder, name)
        mean, size, digest = table.values[:, :, 0].mean(axis=1), 0, ""
        if passes(of_mean, rho):
            pack(table, asked.into / name)
            size = sum(path.stat().st_size for path in (asked.into / name).iterdir())
            digest = PackedTable(asked.into / name).checksum.removeprefix("sha256:")[:12]
            means[name] = mean
        else:
            failed.append(name)
            shutil.rmtree(asked.into / name, ignore_errors=True)  # of a table that passed before
        kept = "yes" if digest else "no"
        print(
            f"| `{name}` | {table.space.size} | {len(whole)} | {of_mean:.3f} | {rho:.2f} | "
            f"{mean.min():.2f} to {mean.max():.2f} % | {kept} | {size:,} | `{digest}` |"
        )
    print()
    for learner in LEARNERS:
        pairs = combinations([name for name in means if name.startswith(f"sk-{learner}-")], 2)
        found = [float(agreement(means[one][:, None], means[other][:, None])) for one, other in pairs]
        if found:
            print(f"{learner}: the ranks of its tables agree at {min(found):.2f} to {max(found):.2f}")
    for word, names in (("missing", lacking), ("failed the rule", failed)):
        if names:
            print(f"{word}: {', '.join(names)}")
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
