"""The command line in a process of its own whose memory is measured."""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

_CALL = """
import resource, sys
from nasbench.cli.main import run_command
code = run_command(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
sys.exit(code)
"""
_PER_MEGABYTE = 1 << 20 if sys.platform == "darwin" else 1 << 10


class Measured(NamedTuple):
    """A command that has ended."""

    code: int
    err: str
    megabytes: int
    """The largest memory of its process."""


def nasbench(*arguments: object) -> Measured:
    """`nasbench` with these arguments."""
    words = [sys.executable, "-c", _CALL, *map(str, arguments)]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    return Measured(done.returncode, done.stderr, int(done.stdout.split()[-1]) // _PER_MEGABYTE)
