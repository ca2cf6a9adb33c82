"""Sealed search spaces: those on which no default of a method may be chosen (suites/sealed/spaces.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from nasbench.benchmarks import Benchmark, UsageError

_LIST = Path(__file__).parents[2] / "suites" / "sealed" / "spaces.toml"


@cache
def spaces() -> Mapping[str, Mapping[str, str]]:
    """The sealed spaces by name, each with the checksums of its known benchmarks by their names."""
    return {name: facts["digests"] for name, facts in tomllib.loads(_LIST.read_text("utf-8")).items()}


def is_sealed(benchmark: Benchmark) -> bool:
    """Whether the search space of a benchmark is sealed.

    Raises UsageError if it is, but the benchmark has other data than the list knows.
    """
    known = spaces().get(benchmark.search_space or benchmark.family)
    if known is None:
        return False
    digest = known.get(benchmark.name, benchmark.checksum)
    if digest != benchmark.checksum:
        raise UsageError(
            f"{benchmark.name} is sealed with the checksum {digest}, and the data here have {benchmark.checksum}: "
            "fetch or import the sealed data again"
        )
    return True
