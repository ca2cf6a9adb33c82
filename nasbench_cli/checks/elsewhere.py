"""Digests of what methods propose and benchmarks score in another process, with other string hashes and kernels."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

from nasbench.base.repeatability import Repeatable
from nasbench.cli.checks.check import Failed

UNKNOWN = "unknown"
"""Printed for a method or a benchmark that the process does not know."""
OTHER_HASHES = {"PYTHONHASHSEED": "7"}
OTHER_KERNELS = {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"}
"""The kernels of x86-64 processors without AVX, which all others can use, too."""


def digest(asked: Sequence[object]) -> str:
    """Hexadecimal digest of proposals in their order."""
    return hashlib.sha256("\n".join(map(repr, asked)).encode()).hexdigest()[:16]


def digests(pairs: Sequence[tuple[str, str]], environment: Mapping[str, str]) -> list[str]:
    """Digests of the usual search of each (method, benchmark), computed after another one by a process with these
    variables set; where the method is "", of the benchmark's scores.

    Raises Failed with the last line that the process printed, if it fails.
    """
    words = [word for pair in pairs for word in pair]
    process = subprocess.run(
        [sys.executable, "-m", "nasbench.cli.checks", *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        reason = (process.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Failed(f"another process fails: {reason.removeprefix(f'{Failed.__module__}.{Failed.__qualname__}: ')}")
    return process.stdout.split()


def environment_for(repeatable: Repeatable) -> dict[str, str]:
    """Environment variables under which a method must propose the same, by what it states."""
    has_others = os.uname().machine == "x86_64" and repeatable is Repeatable.ANY_PROCESSOR
    return {**OTHER_HASHES, **(OTHER_KERNELS if has_others else {})}
