"""Embeds the table `cells-organa` that `nasbench tabulate` has written (`make cells-organa`).

    nasbench tabulate medmnist-organa/cells-mini/rank/val-curve --repetitions 3 --out TABLE
    python -m research.cells_table TABLE [--into benchmarks/tabular/packed]

Every network of `cells-mini` was trained three times on OrganAMNIST by the recipe `rank`.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from nasbench.benchmarks.tabular.imported import TableData
from nasbench.benchmarks.tabular.learners import FOLDER, PackedTable, pack
from nasbench.benchmarks.tabular.user_table import read_table

NAME = "cells-organa"
METRICS = ("val-error@8", "test-error@8", "parameters", "parameters_paper", "flops", "train_time")
"""What is embedded; the first is the objective, whose value after each epoch is kept, too."""
_NOTEBOOK = "docs/notebook/tabulate.md"
_CAUTION = f"its best networks are not told apart: which of the first tenth a search finds is chance ({_NOTEBOOK})"


def selected(table: TableData) -> TableData:
    """The table with its own name, the metrics that are kept, and what a reader must know."""
    names = [metric.name for metric in table.metrics]
    places = [names.index(name) for name in METRICS]
    curves = None if table.curves is None else table.curves[..., [table.recorded.index(METRICS[0])]]
    return replace(
        table,
        name=NAME,
        family=NAME,
        search_space="cells-mini",
        metrics=tuple(table.metrics[place] for place in places),
        values=np.ascontiguousarray(table.values[:, :, places]),
        curves=None if curves is None else curves.astype(np.float32),
        recorded=METRICS[:1],
        cost="train_time",
        source="every network of cells-mini, trained for 8 epochs by the recipe rank; "
        + table.source.split("; ", 1)[1],
        caution=_CAUTION,
    )


def main() -> None:
    """Writes the table, and prints its size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, help="the --out of `nasbench tabulate`")
    parser.add_argument("--into", type=Path, default=FOLDER, help="where the table is written")
    asked = parser.parse_args()
    table = selected(read_table(Path(f"{asked.table}.csv"), Path(f"{asked.table}.toml")))
    folder = asked.into / NAME
    pack(table, folder)
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{NAME}: {table.values.shape[1]} repetitions, {size:,} bytes, {PackedTable(folder).checksum}")


if __name__ == "__main__":
    main()
