"""Marks of a run in the name that another tool gives it: `METHOD/BENCHMARK/SEED`."""

from __future__ import annotations

from nasbench.base.errors import UsageError
from nasbench.benchmarks.tabular.direction import Sense
from nasbench.cli.outside.rows import Asked

PLAIN = "a name that is not METHOD/BENCHMARK/SEED (or METHOD__BENCHMARK__SEED) is taken for the method, with seed 0 on"
"""The beginning of a clause that ends with the benchmark."""


def named_so(name: str) -> bool:
    """Whether a name states method, benchmark and seed."""
    return _parts(name) is not None


def marks_of(name: str, inside: str) -> dict[str, str]:
    """Method, benchmark and seed by the name of a study, an experiment or a file.

    Args:
        inside: name of what holds it, which is the benchmark where the name states none.
    """
    method, bench, seed = _parts(name) or (name, inside, "0")
    return {"method": method, "benchmark": bench, "seed": seed}


def check_sense(asked: Asked, sense: Sense, why: str) -> None:
    """Raises UsageError if the other direction is asked for than the one that a file states."""
    if asked.sense not in (None, sense):
        raise UsageError(f"{why}: --direction {asked.sense} contradicts it")


def _parts(name: str) -> list[str] | None:
    for separator in ("/", "__"):
        parts = name.split(separator)
        if len(parts) == 3 and all(parts) and parts[2].isdecimal():
            return parts
    return None
