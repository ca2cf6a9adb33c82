"""Plans of a store: which runs were asked for, and of which whole they may be a shard."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nasbench.results.store import disk
from nasbench.results.store.fragment import Torn
from nasbench.results.store.trajectory import Setup

_NAME = re.compile(r"([0-9a-f]{16})\.([0-9a-f]{32})\.json")
_DIGITS = re.compile("[0-9a-f]{16}")


class PlanShard(NamedTuple):
    """A shard of a plan: every `of`-th of its runs."""

    number: int
    """From 1."""
    of: int
    """Number of shards."""
    whole: str
    """Digest of the whole plan (`digest_of`)."""
    runs: int
    """Number of runs of the whole plan."""

    @property
    def size(self) -> int:
        """Number of its runs."""
        return len(range(self.number - 1, self.runs, self.of))


def digest_of(grid: Iterable[tuple[Setup, Sequence[int]]]) -> str:
    """A digest of a plan's runs, whatever their order."""
    runs = sorted((setup.id, sorted(seeds)) for setup, seeds in grid if seeds)
    return hashlib.sha256(json.dumps(runs).encode()).hexdigest()[:16]


def read(path: Path) -> dict[str, Any]:
    """A plan: command, saved, display, setups (each with its seeds), and shard (None of a whole plan).

    Raises Torn if it is damaged or not a plan.
    """
    content = disk.read(path)
    named = _NAME.fullmatch(path.name)
    if named is None or named[2] != disk.digest(content):
        raise Torn("its bytes do not match the digest in its name")
    try:
        plan = json.loads(content)
        setups = [(Setup.from_json(c["setup"]), [int(seed) for seed in c["seeds"]]) for c in plan["setups"]]
        shard = None if plan.get("shard") is None else checked(plan["shard"])
        return {name: plan[name] for name in ("command", "saved", "display")} | {"setups": setups, "shard": shard}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise Torn(f"not a readable plan ({type(error).__name__})") from None


def checked(fields: Sequence[Any]) -> PlanShard:
    """A shard, from JSON. Raises ValueError or TypeError for anything else."""
    shard = PlanShard(*fields)
    if any(type(number) is not int for number in (shard.number, shard.of, shard.runs)):
        raise TypeError("no whole number")
    if not 1 <= shard.number <= shard.of <= 10**9 or not 0 <= shard.runs <= 10**9 or not _DIGITS.fullmatch(shard.whole):
        raise ValueError("no shard")
    return shard
