"""Training and one-shot search on a CUDA device, row by row, from a checkout with PyTorch and NumPy alone."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from nasbench.benchmarks import UsageError
from research.gpu.measure import SECONDS, main


def command(arguments: Sequence[str]) -> int:
    """Measures the rows that a command line asks for; the exit code is 0, or 1 if one fails or is too slow."""
    parser = argparse.ArgumentParser("python -m research.gpu", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="longest time of all rows [default: %(default)g]"
    )
    parser.add_argument("--only", action="append", default=[], metavar="ROW", help="measure this row alone; repeatable")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write the table to DIR/gpu.csv, too")
    parser.add_argument("--cpu", action="store_true", help="try the rows on the CPU, at small sizes")
    try:
        return int(not main(**vars(parser.parse_args(arguments))))
    except (UsageError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    sys.exit(command(sys.argv[1:]))
