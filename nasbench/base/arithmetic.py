"""Fixes the kernels of NumPy and SciPy before they are loaded: other kernels give sums with other last bits.

BLAS chooses its kernels, and NumPy its loops, by the processor. Here every x86-64 processor with AVX2 uses those for
AVX2; on other machines the processor decides, and provenance records it (`nasbench.cli.engine.provenance`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import MutableMapping

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""Small matrices gain nothing from threads, and parallel runs would compete for the cores."""
_AVX2 = {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"}
_NEEDED = {"avx2", "fma", "bmi2"}


def fix(environment: MutableMapping[str, str], flags: set[str]) -> None:
    """Sets the variables that NumPy and OpenBLAS read when they are loaded; those that the user has set stay.

    Args:
        environment: the variables of this process, which its child processes inherit.
        flags: the processor's features; without AVX2, its kernels would crash and are not chosen.
    """
    for name, value in {**_ONE_THREAD, **(_AVX2 if flags >= _NEEDED else {})}.items():
        environment.setdefault(name, value)


def processor() -> set[str]:
    """The features of an x86-64 processor, as Linux names them; empty where that is not known."""
    if os.uname().machine != "x86_64" or not sys.platform.startswith("linux"):
        return set()
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
            return next((set(line.split()) for line in lines if line.startswith("flags")), set())
    except OSError:  # /proc is not mounted
        return set()
