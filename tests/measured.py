"""The command line in a process of its own whose memory is measured."""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

_CALL = """
import pathlib, resource, sys
from nasbench.cli.main import run_command
code = run_command(sys.argv[1:])
status = pathlib.Path("/proc/self/status")
if status.exists():  # the other measure begins, on Linux, with the memory of the process that began this one
    print(int(status.read_text().partition("VmHWM:")[2].split()[0]) >> 10)
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 20)
sys.exit(code)
"""


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
    return Measured(done.returncode, done.stderr, int(done.stdout.split()[-1]))
