"""Size classes as in ZO-DARTS++'s section IV-C: what unconstrained searches draw, between percentiles of its sizes.

    python -m research.size_classes medmnist-organa                       # by the paper's settings: hours on a CPU
    python -m research.size_classes digits@1 --method zo-darts++:epochs=4,stop=3,theta=2,every=2,T=2

Three searches without a constraint, 300 networks from each; S lies between percentiles 0 and 20 of their sizes, M
between 40 and 60, L between 80 and 95. Each class is printed as a constraint, beside that of random networks, which
`--constrain METRIC@S` gives. With --keep a search that was interrupted goes on. Needs the extra `live`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from nasbench.base.layout import table
from nasbench.benchmarks import Benchmark, abilities, open_benchmark
from nasbench.benchmarks.constraints import SIZE_CLASSES
from nasbench.methods import MethodSpec, Problem

SEARCHES, DRAWS = 3, 300
METRIC = "parameters_paper"


def sizes_drawn(
    benchmark: Benchmark, label: str, metric: str, searches: int, draws: int, keep: Path | None = None
) -> list[float]:
    """Sizes of the networks that searches draw; a search is the method with one seed, from 0 on.

    Args:
        keep: the folder where searches keep their state.
    """
    sizes = []
    for seed in range(searches):
        problem = Problem.of(benchmark, (), None if keep is None else keep / str(seed))
        method = MethodSpec.parse(label).build(problem, np.random.default_rng(seed))
        sizes += [abilities.known(benchmark, metric, method.ask()) for _ in range(draws)]
    return sizes


def classes(quantile: Callable[[float], float], metric: str) -> dict[str, str]:
    """Each size class as a constraint, by the quantiles of sizes."""
    return {
        name: f"{metric}>={quantile(low):.0f}+{metric}<={quantile(high):.0f}"
        if low
        else f"{metric}<={quantile(high):.0f}"
        for name, (low, high) in SIZE_CLASSES.items()
    }


def main() -> None:
    """Prints the classes of a benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--method", default="zo-darts++", help="The search, with its options (default: %(default)s).")
    parser.add_argument("--metric", default=METRIC, help="The size (default: %(default)s, without pruning).")
    parser.add_argument("--searches", type=int, default=SEARCHES, help="Searches (default: %(default)s).")
    parser.add_argument("--draws", type=int, default=DRAWS, help="Networks of each (default: %(default)s).")
    parser.add_argument("--keep", type=Path, help="Folder from which an interrupted search goes on.")
    given = parser.parse_args()
    benchmark = open_benchmark(given.bench)
    drawn = sizes_drawn(benchmark, given.method, given.metric, given.searches, given.draws, given.keep)
    of_random = classes(partial(abilities.quantile, benchmark, given.metric), given.metric)
    rows = [(*row, of_random[row[0]]) for row in classes(partial(np.quantile, drawn), given.metric).items()]  # type: ignore[arg-type]
    print(table([("class", "drawn by searches", "random networks"), *rows]))


if __name__ == "__main__":
    main()
