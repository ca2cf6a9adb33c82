"""The status of a store: stored, missing, failed and stale runs, compared with the plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from nasbench.base.numbers import count, listed
from nasbench.results.store.fragment import RunRecord
from nasbench.results.store.plans import PlanShard, digest_of
from nasbench.results.store.store import Store
from nasbench.results.store.trajectory import Setup

_MOST_SHARDS = 32  # of which the missing ones are named

State: TypeAlias = Literal["complete", "partial", "missing", "failed", "stale"]


@dataclass(frozen=True)
class SetupStatus:
    """The requested and stored runs of one setup."""

    setup: Setup
    asked: tuple[int, ...]
    """Seeds that a plan requests, or that are stored."""
    stored: dict[int, RunRecord]
    """Stored runs by seed."""
    begun: int
    """Number of missing runs with a journal from which they continue."""
    stale: bool
    """Whether the runs were made with other data or rules, or another version of the method, than are here."""
    is_known: bool
    """False if this installation lacks the benchmark or the method, so that `stale` is unknown."""
    commands: tuple[str, ...]
    """Commands that requested missing or stale seeds of this setup, oldest first."""

    @property
    def missing(self) -> list[int]:
        """Requested seeds that are not stored."""
        return [seed for seed in self.asked if seed not in self.stored]

    @property
    def failed(self) -> list[RunRecord]:
        """Stored runs with a failure."""
        return [run for run in self.stored.values() if run.failed]

    @property
    def state(self) -> State:
        """The worst state that applies to the setup."""
        if self.stale:
            return "stale"
        if not self.stored:
            return "missing"
        if self.missing:
            return "partial"
        return "failed" if self.failed else "complete"


def status(store: Store, is_current: Callable[[Setup], bool | None]) -> list[SetupStatus]:
    """The status of every setup that is stored or requested, sorted by benchmark, constraint and method.

    Args:
        is_current: whether a setup's data and method are those of this installation; None if it cannot tell.
    """
    asked: dict[tuple[Any, ...], list[tuple[Setup, list[int], str]]] = {}
    for plan in store.plans():
        for setup, seeds in plan["setups"]:
            asked.setdefault(setup.key, []).append((setup, seeds, str(plan["command"])))
    # If two plans have the same setup with different data or code, the later one counts.
    planned = {key: requests[-1][0] for key, requests in asked.items()}
    stored: dict[str, dict[int, RunRecord]] = {}
    setups = {setup.id: setup for setup in planned.values()}
    for f in store.fragments():
        setups[f.setup.id] = f.setup
        stored.setdefault(f.setup.id, {}).update({run.seed: run for run in f.runs})
    journals = {path.stem for path in store.journals.glob("*.jsonl")}
    statuses = []
    for setup in sorted(setups.values(), key=_order):
        runs, requests = stored.get(setup.id, {}), asked.get(setup.key, [])
        wanted = requests if planned.get(setup.key, setup).id == setup.id else []
        seeds = tuple(sorted({*runs, *(seed for _, requested, _ in wanted for seed in requested)}))
        begun = sum(setup.run_id(seed) in journals for seed in seeds if seed not in runs)
        current = is_current(setup) if runs else True
        stale = current is False
        commands = [command for _, requested, command in requests if stale or not runs.keys() >= set(requested)]
        statuses.append(
            SetupStatus(setup, seeds, runs, begun, stale, current is not None, tuple(dict.fromkeys(commands)))
        )
    return statuses


class _Asked(NamedTuple):
    """What a plan asked for."""

    whole: str
    """The digest of the plan, or of that of which it is a shard."""
    runs: int
    """Number of runs of that one."""
    setups: frozenset[tuple[Any, ...]]
    """The keys of its own setups."""
    shard: PlanShard | None

    def is_replaced_by(self, later: _Asked) -> bool:
        """Whether a later plan is the same with more seeds, or another version of a method."""
        is_other = later.whole != self.whole and later.runs >= self.runs
        return is_other and bool(self.setups) and self.setups <= later.setups


def shards(store: Store) -> list[PlanShard]:
    """The shards of a store's plans, but for those that a later plan replaces."""
    return sorted({asked.shard for asked in _asked([store]) if asked.shard is not None})


def absent(stores: Sequence[Store]) -> list[str]:
    """What is missing of plans of which stores together have some shards and not all, a clause each."""
    whole, known = set[str](), dict[tuple[str, int], set[PlanShard]]()
    for asked in _asked(stores):
        if asked.shard is None:
            whole.add(asked.whole)
        else:
            known.setdefault((asked.whole, asked.shard.of), set()).add(asked.shard)
    whole |= {digest for (digest, _), there in known.items() if _runs_left(there) <= 0}  # by shards of another number
    return [_lacking(there) for (digest, _), there in known.items() if digest not in whole]


def _asked(stores: Iterable[Store]) -> Iterator[_Asked]:
    """What the plans of stores asked for, without those that a later one of the same store replaces."""
    for store in stores:
        plans = list[_Asked]()
        for plan in store.plans():
            grid, shard = plan["setups"], plan["shard"]
            runs = shard.runs if shard else sum(len(seeds) for _, seeds in grid)
            keys = frozenset(setup.key for setup, _ in grid)
            plans.append(_Asked(shard.whole if shard else digest_of(grid), runs, keys, shard))
        yield from (plan for n, plan in enumerate(plans, 1) if not any(map(plan.is_replaced_by, plans[n:])))


def _runs_left(there: set[PlanShard]) -> int:
    return next(iter(there)).runs - sum(shard.size for shard in there)


def _lacking(there: set[PlanShard]) -> str:
    """Which shards of a plan are not there, as a clause; their numbers where they are few."""
    one = next(iter(there))
    with_runs, numbers = min(one.of, one.runs), {shard.number for shard in there if shard.size}
    absent_ones = with_runs - len(numbers)
    left = f"{count(absent_ones, 'shard')} of {one.of:,}"
    if with_runs <= _MOST_SHARDS:
        others = [str(number) for number in range(1, with_runs + 1) if number not in numbers]
        left = f"shard{'s' * (len(others) > 1)} {listed(others)} of {one.of}"
    return f"{left} {'is' if absent_ones == 1 else 'are'} missing ({count(_runs_left(there), 'run')})"


def _order(setup: Setup) -> tuple[Any, ...]:
    return setup.bench, setup.constraint, setup.method, setup.protocol
