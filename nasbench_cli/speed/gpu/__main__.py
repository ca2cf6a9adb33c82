"""The measurements from a bare checkout, where nothing is installed but PyTorch and NumPy."""

import argparse
import sys
from pathlib import Path

from nasbench.benchmarks import UsageError
from nasbench.cli.speed.gpu.measure import SECONDS, main

if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m nasbench.cli.speed.gpu", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="longest time of all rows [default: %(default)g]"
    )
    parser.add_argument("--only", action="append", default=[], metavar="ROW", help="measure this row alone; repeatable")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write the table to DIR/gpu.csv, too")
    parser.add_argument("--cpu", action="store_true", help="try the rows on the CPU, at small sizes")
    try:
        sys.exit(not main(**vars(parser.parse_args())))
    except UsageError as error:
        parser.error(str(error))
