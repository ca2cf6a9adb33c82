"""Table 5 of NAS-Bench-201 made again: does the harness give what the paper prints (docs/published-numbers.md)?

    python -m research.published_numbers EXTRAS.csv.gz [--seeds 500]

EXTRAS has a row for each of the 15,625 cells: `arch_str`, `cifar10_val_12ep`, `cifar10_val_200ep_genius`, and
`DATASET_test_200ep_nats` of three data sets. A search observes the validation accuracy on CIFAR-10 after 12 epochs,
pays 12/200 of the recorded training time, and ends after 12,000 simulated seconds. Its incumbent counts with the
accuracies after 200 epochs, on all three data sets. The paper: X. Dong and Y. Yang, NAS-Bench-201, ICLR 2020, table 5.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from functools import partial
from pathlib import Path

import pandas as pd

import nasbench
from nasbench.base.streams import say
from nasbench.benchmarks.tabular import imported, user_table

COLUMNS = {
    "CIFAR-10 validation": "cifar10_val_200ep_genius",
    "CIFAR-10 test": "cifar10_test_200ep_nats",
    "CIFAR-100 test": "cifar100_test_200ep_nats",
    "ImageNet16-120 test": "imagenet16_120_test_200ep_nats",
}
"""What an incumbent counts with → its column."""
METHODS = (
    "random",
    "evolution:population=10,tournament=3",
    "reinforce:rate=0.001",
    "reinforce",
    "local",
    "c-tpe",
)
NAME, SECONDS = "nb201-12", 12_000
OPS = [f"Op{i}" for i in range(6)]


def table(extras: pd.DataFrame, folder: Path) -> tuple[Path, Path]:
    """The files of the table: a row for each cell, with the seconds of twelve epochs."""
    space = nasbench.open_benchmark("nb201-cifar10").space
    times = nasbench.open_benchmark("nb201-cifar10").mean_metrics  # type: ignore[attr-defined]
    cells = extras["arch_str"].str.extract(r"\|(\w+)~0\|\+\|(\w+)~0\|(\w+)~1\|\+\|(\w+)~0\|(\w+)~1\|(\w+)~2\|")
    frame = cells.set_axis(OPS, axis=1)
    rows = [space.from_values(dict(zip(OPS, row, strict=True))) for row in frame.to_numpy().tolist()]
    frame = frame.assign(
        valid=extras["cifar10_val_12ep"], seconds=[times(row)["train_time"] * 12 / 200 for row in rows]
    )
    frame = frame.assign(**{f"m{i}": extras[column] for i, column in enumerate(COLUMNS.values())})
    sections = [f'[[hyperparameter]]\nname = "{op}"\nkind = "categorical"' for op in OPS]
    sections.append('[[metric]]\nname = "valid-error@12"\ncolumn = "valid"\ncomplement_of = 100\nsplit = "valid"')
    sections.append('[[metric]]\nname = "seconds"\nunit = "s"')
    sections += [
        f'[[metric]]\nname = "test-{i}"\ncolumn = "m{i}"\nsplit = "test"\ncomplement_of = 100'
        for i in range(len(COLUMNS))
    ]
    data, spec = folder / "cells.csv", folder / "cells.toml"
    frame.to_csv(data, index=False)
    spec.write_text(f'name = "{NAME}"\nspace = "nasbench201"\ncost = "seconds"\n' + "\n".join(sections) + "\n")
    return data, spec


def main() -> None:
    """Prints the accuracies of the incumbents of every method: mean ± standard deviation over seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extras", type=Path)
    parser.add_argument("--seeds", type=int, default=500)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["NASBENCH_DATA"] = scratch
        imported.save(user_table.read_table(*table(pd.read_csv(asked.extras), Path(scratch))))
        nasbench.BENCHMARKS.add(NAME, partial(imported.open_imported, NAME))
        frame = nasbench.run(list(METHODS), NAME, seeds=asked.seeds, seconds=SECONDS)
    best = frame.loc[frame.groupby(["method", "seed"])["objective"].idxmin()]
    say(f"| method | evaluations | {' | '.join(COLUMNS)} |")
    for method in METHODS:
        own, every = best[best["method"] == method], frame[frame["method"] == method]
        values = [100 - own[f"metric.test-{i}"] for i in range(len(COLUMNS))]
        said = " | ".join(f"{value.mean():.2f} ± {value.std():.2f}" for value in values)
        say(f"| `{method}` | {every.groupby('seed').size().mean():.0f} | {said} |")


if __name__ == "__main__":
    main()
