"""Prints the digest of a method's usual search, one line per METHOD and BENCH: what another process is asked for."""

import sys

from nasbench.benchmarks import UsageError
from nasbench.cli.checks.elsewhere import UNKNOWN, digest
from nasbench.cli.checks.methods import Trial

for method, bench in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
    try:
        print(digest(Trial.of(method, bench).usual.asked))
    except UsageError:
        print(UNKNOWN)
