"""Every verdict of one scope: pairs of methods, expected ranks, and the places that they leave open."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from nasbench.results.curves import Array
from nasbench.results.statistics.estimates import FEWEST, Estimate, Strata, holm, over_tasks
from nasbench.results.statistics.improvement import linear_parts, permutation_p, ties
from nasbench.results.statistics.moderation import moderated
from nasbench.results.statistics.nesting import Tasks
from nasbench.results.statistics.ranks import Field, Rank, ranked

LEVEL = 0.05
EQUIVALENT = (0.45, 0.55)
"""Probabilities of improvement between which two methods are equivalent."""
UNKNOWN = Estimate(np.nan)
_FLOOR = 0.5
"""Least sum of squares of the seeds of a setting: so that ten wins of ten are no certainty."""
_ALONE = 0.25
"""What is added to the sum of squares of a single setting: its variance alone is estimated too low too often."""


@dataclass(frozen=True, eq=False)
class Pair:
    """One method held against another."""

    a: int
    b: int
    settings: NDArray[np.intp]
    """Where both have runs."""
    seeds: int
    """The fewest that both have in such a setting."""
    these: Estimate
    """Probability that a run of `a` is better than one of `b`, on these benchmarks: seeds are the sample."""
    new: Estimate
    """The same on new tasks: search spaces are the sample; families, or benchmarks, where there is one space."""
    unit: str
    """What `new` is over: spaces, families, benchmarks, or nothing."""
    by_setting: Array
    """The probability in each of `settings`."""
    by_space: dict[int, Estimate]
    """The probability on the benchmarks of each space, by its number."""
    wins: int
    losses: int
    ties: int
    """Benchmarks on which the probability, averaged over constraints, is above, below or at one half."""
    ahead: int
    behind: int
    """Members of `unit` on which it is above, or below."""
    units: int
    """Members of `unit`."""
    variance: float
    """Sample variance over the members of `unit`; NaN where there is one."""
    tied: float
    """Share of pairs of runs that tie."""
    floor: float
    """The smallest p that as many seeds can give."""
    is_identical: bool
    """Every run of one is that of the other."""
    shared: Estimate = UNKNOWN
    """`new` with a moderated variance (`moderation`), by which its verdict is given."""
    p_these: float = np.nan
    """p of `these` against one half, after correction; NaN where there is none."""
    p_new: float = np.nan
    """p of `shared` against one half, after correction."""
    p_equivalent: float = np.nan
    """p, after correction, that some space does not lie within `EQUIVALENT`."""
    p_even: float = np.nan
    """p, after correction, that the average over spaces does not lie within `EQUIVALENT`."""
    level: float = LEVEL
    """Level of an interval of `these` that holds together with those of all other pairs tested."""

    def turned(self) -> Pair:
        """The same from the other side."""
        these, new, shared = (_turned(own) for own in (self.these, self.new, self.shared))
        return replace(
            self,
            a=self.b,
            b=self.a,
            these=these,
            new=new,
            shared=shared,
            by_setting=1 - self.by_setting,
            by_space={space: _turned(own) for space, own in self.by_space.items()},
            wins=self.losses,
            losses=self.wins,
            ahead=self.behind,
            behind=self.ahead,
        )

    @property
    def verdict(self) -> int:
        """1 where `a` is significantly better on these benchmarks, -1 where it is worse, 0 otherwise."""
        return int(np.sign(self.these.value - 0.5)) if self.p_these < LEVEL else 0

    @property
    def verdict_new(self) -> int:
        """The same on new tasks."""
        return int(np.sign(self.these.value - 0.5)) if self.p_new < LEVEL else 0

    @property
    def interval(self) -> tuple[float, float]:
        """Interval on these benchmarks that holds together with all others of a report in 95 % of reports (Bonferroni).

        It ends at one half where the test, which is sharper (Holm), excludes that, and reaches it where it does not.
        """
        low, high = self.these.interval(level=self.level)
        if self.verdict:
            return (max(low, 0.5), high) if self.verdict > 0 else (low, min(high, 0.5))
        return min(low, 0.5), max(high, 0.5)

    @property
    def is_equivalent(self) -> bool:
        """On every space the probability lies between 0.45 and 0.55, after correction over all pairs."""
        return self.is_identical or self.p_equivalent < LEVEL

    @property
    def is_even(self) -> bool:
        """The average over spaces lies there, and not, as far as is known, each of them."""
        return self.p_even < LEVEL and not self.is_equivalent


def _turned(own: Estimate) -> Estimate:
    return replace(own, value=1 - own.value)


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Pairs and ranks of one scope."""

    settings: NDArray[np.intp]
    """The scope."""
    complete: NDArray[np.intp]
    """Those of them in which no method is missing: what ranks are over."""
    seeds: int
    """The fewest that every method has in one of `complete`: what the intervals of ranks rest on."""
    kinds: tuple[tuple[int, ...], ...]
    """Methods whose runs are all the same count as one in ranks: the classes, each with its representative first."""
    pairs: dict[tuple[int, int], Pair]
    """By (a, b) with a < b."""
    ranks: tuple[Rank, ...]
    """Of the representatives, the best first; empty where no setting has every method."""
    unit: str
    """What the intervals for new tasks are over."""

    def pair(self, a: int, b: int) -> Pair | None:
        """`a` held against `b`; None where no setting has both."""
        found = self.pairs.get((min(a, b), max(a, b)))
        return found if found is None or a < b else found.turned()

    @property
    def tested(self) -> list[Pair]:
        """The pairs that have a p."""
        return [pair for pair in self.pairs.values() if not np.isnan(pair.p_these)]


def judge(runs: Field, settings: NDArray[np.intp], preferred: int) -> Verdicts:
    """Every pair and rank over some settings, p not yet corrected (`corrected`).

    Args:
        preferred: the method that represents its class.
    """
    methods = runs.places.shape[1]
    identity = runs.identity[settings]
    kinds = _kinds(identity, preferred)
    pairs = {(a, b): pair for a, b in combinations(range(methods), 2) if (pair := held(runs, settings, a, b))}
    present = (runs.places[settings] >= 0).any(axis=2)
    complete = settings[np.all(present, axis=1)]
    ranks, seeds, unit = ranked(runs, complete, [kind[0] for kind in kinds])
    return Verdicts(settings, complete, seeds, kinds, _moderated(pairs, kinds), ranks, unit)


def _moderated(pairs: dict[tuple[int, int], Pair], kinds: tuple[tuple[int, ...], ...]) -> dict[tuple[int, int], Pair]:
    """The same with `shared`: variances over spaces drawn together over all pairs of methods that are not identical.

    Of identical methods the first alone lends: the pairs of the others tell nothing more.
    """
    first = {method: kind[0] for kind in kinds for method in kind}
    known = [key for key, pair in pairs.items() if pair.new.known and not pair.is_identical]
    lenders = [key for key in known if all(first[method] == method for method in key)]
    methods = len({method for key in lenders for method in key})
    freedom = np.array([pairs[key].units - 1.0 for key in lenders])
    variances, freedom = moderated(np.array([pairs[key].variance for key in lenders]), freedom, methods)
    drawn = dict(zip(lenders, zip(variances.tolist(), freedom.tolist(), strict=True), strict=True))
    found = dict(pairs)
    for key in known:
        pair, (a, b) = pairs[key], sorted(first[method] for method in key)
        variance, own = drawn[a, b]
        error = max(float(np.sqrt(variance / pair.units)), pair.these.error)
        found[key] = replace(pair, shared=Estimate(pair.new.value, error, own))
    return found


def corrected(verdicts: Sequence[Verdicts], share: float = 1.0) -> list[Verdicts]:
    """The same with p after Holm's correction over all pairs of all of them that are not identical.

    A p on new tasks is never below that on these benchmarks.

    Args:
        share: the part of the 5 % that these verdicts may err; p is divided by it.
    """
    every = tested([pair for v in verdicts for pair in v.pairs.values() if not pair.is_identical], share)
    new = np.fmax([pair.shared.p() for pair in every], [pair.these.p() for pair in every])
    new[[not pair.shared.known for pair in every]] = np.nan
    inside = [max((own.p_outside(*EQUIVALENT) for own in pair.by_space.values()), default=np.nan) for pair in every]
    even = [pair.these.p_outside(*EQUIVALENT) for pair in every]
    p_values = zip(_adjusted(new, share), holm(np.array(inside)), holm(np.array(even)), strict=True)
    rest = iter(
        [
            replace(pair, p_new=p_new, p_equivalent=p_equivalent, p_even=p_even)
            for pair, (p_new, p_equivalent, p_even) in zip(every, p_values, strict=True)
        ]
    )
    found = []
    for v in verdicts:
        pairs = {key: pair if pair.is_identical else next(rest) for key, pair in v.pairs.items()}
        with_p = replace(v, pairs=pairs)
        found.append(replace(with_p, ranks=tuple(_placed(with_p, rank) for rank in v.ranks)))
    return found


def tested(pairs: Sequence[Pair], share: float) -> list[Pair]:
    """The same with `p_these` after Holm's correction over them, and with the level of their simultaneous intervals.

    Args:
        share: the part of the 5 % that these tests may err; p is divided by it.
    """
    p_values = np.array([np.nan if pair.is_identical else pair.these.p() for pair in pairs])
    level = LEVEL * share / max(1, int(np.sum(~np.isnan(p_values))))
    return [
        pair if pair.is_identical else replace(pair, p_these=p, level=level, floor=min(pair.floor / share, 1.0))
        for pair, p in zip(pairs, _adjusted(p_values, share).tolist(), strict=True)
    ]


def _adjusted(p_values: Array, share: float) -> Array:
    adjusted: Array = np.minimum(holm(p_values) / share, 1.0)
    return adjusted


def _kinds(identity: NDArray[np.int64], preferred: int) -> tuple[tuple[int, ...], ...]:
    """Classes of methods whose runs are all the same, in the order of their first method."""
    classes: dict[bytes, list[int]] = {}
    for method in range(identity.shape[1]):
        own = np.ascontiguousarray(identity[:, method])
        key = own.tobytes() if (own > 0).any() else str(method).encode()
        classes.setdefault(key, []).append(method)
    return tuple(tuple(sorted(kind, key=lambda m: (m != preferred, m))) for kind in classes.values())


def held(runs: Field, settings: NDArray[np.intp], a: int, b: int) -> Pair | None:
    """`a` held against `b` over the settings that have both, p not yet corrected; None where there are none."""
    ours, theirs = runs.places[settings, a], runs.places[settings, b]
    both = (ours >= 0).any(axis=1) & (theirs >= 0).any(axis=1)
    if not both.any():
        return None
    settings, ours, theirs = settings[both], ours[both], theirs[both]
    tasks = runs.tasks.of(settings)
    strata = linear_parts(ours, theirs)
    these = _estimate(strata, tasks.weights)
    if these.known and len(settings) == 1:
        common = ((ours >= 0) & (theirs >= 0))[0]
        these = replace(these, exact=permutation_p(ours[0, common], theirs[0, common]))
    new, unit, means = over_tasks(strata.means, tasks, these)
    by_bench, by_unit = (np.round(own - 0.5, 12) for own in (tasks.by_bench(strata.means), means))
    return Pair(
        a,
        b,
        settings,
        int(strata.seeds.min()),
        these,
        new,
        unit,
        strata.means,
        _by_space(strata, tasks),
        wins=int((by_bench > 0).sum()),
        losses=int((by_bench < 0).sum()),
        ties=int((by_bench == 0).sum()),
        ahead=int((by_unit > 0).sum()),
        behind=int((by_unit < 0).sum()),
        units=len(means),
        variance=float(np.var(means, ddof=1)) if len(means) > 1 else np.nan,
        tied=ties(ours, theirs),
        floor=smallest_p(strata.seeds, tasks.weights),
        is_identical=_are_identical(runs.identity[settings, a], runs.identity[settings, b]),
    )


def smallest_p(seeds: NDArray[np.intp], weights: Array) -> float:
    """The smallest p that as many seeds can give a probability of improvement, however clear the difference.

    Args:
        seeds: of each setting, shape (settings,).
        weights: of the settings, sum 1.
    """
    if len(seeds) == 1 and seeds[0] >= FEWEST:
        return 2 / math.comb(2 * int(seeds[0]), int(seeds[0]))
    best = _estimate(Strata(np.ones(len(seeds)), np.zeros(len(seeds)), seeds), weights).p()
    return 1.0 if np.isnan(best) else best


def _by_space(strata: Strata, tasks: Tasks) -> dict[int, Estimate]:
    """The estimate on the benchmarks of each space."""
    if len(tasks.spaces) == 1:
        return {int(tasks.spaces[0]): _estimate(strata, tasks.weights)}
    found = {}
    for space in tasks.spaces.tolist():
        rows = tasks.space == space
        weights = tasks.weights[rows]
        found[space] = _estimate(strata.kept(rows), weights / weights.sum())
    return found


def _estimate(strata: Strata, weights: Array) -> Estimate:
    """The probability of improvement by what seeds say of it."""
    return strata.estimate(weights, least=_FLOOR, extra=_ALONE * (len(weights) == 1))


def _are_identical(ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> bool:
    return bool((ours > 0).any()) and np.array_equal(ours, theirs)


def _placed(verdicts: Verdicts, rank: Rank) -> Rank:
    others = [verdicts.pair(rank.method, other.method) for other in verdicts.ranks if other.method != rank.method]
    told = [pair.verdict for pair in others if pair is not None]
    return replace(rank, first=1 + told.count(-1), last=len(verdicts.ranks) - told.count(1))
