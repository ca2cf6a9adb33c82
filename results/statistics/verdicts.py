"""The verdicts of one scope: pairs of methods, expected ranks, and their possible places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from nasbench.results.curves import Array
from nasbench.results.statistics.estimates import FEWEST, LEVEL, Estimate, Strata, holm, over_tasks
from nasbench.results.statistics.improvement import linear_parts, permutation_p, ties
from nasbench.results.statistics.moderation import moderated
from nasbench.results.statistics.nesting import Tasks
from nasbench.results.statistics.ranks import Field, Rank, ranked

EQUIVALENT = (0.45, 0.55)
"""Bounds of the probability of improvement between which two methods are equivalent."""
UNKNOWN = Estimate(np.nan)
_MANY = 600
"""Number of seeds from which the smallest p of a permutation test is 0 in double precision."""
_FLOOR = 0.5
"""Least sum of squares of the seeds of a setting, so that ten wins out of ten do not give an error of zero."""
_ALONE = 0.25
"""Added to the sum of squares of a setting that decides alone: its variance is often underestimated, and no other's
makes up for it."""
_COMPARED: WeakKeyDictionary[Field, dict[bytes, dict[tuple[int, int], Pair]]] = WeakKeyDictionary()
"""The comparisons of all pairs that have been made, by their settings."""


@dataclass(frozen=True, eq=False)
class Pair:
    """The comparison of method `a` with method `b`."""

    a: int
    b: int
    settings: NDArray[np.intp]
    """The settings on which both have runs."""
    seeds: int
    """The smallest number of common seeds in a setting."""
    these: Estimate
    """Probability that a run of `a` is better than a run of `b` on these benchmarks; the sample is the seeds."""
    new: Estimate
    """The same probability on new tasks; the sample is the search spaces or, with one space, families or benchmarks."""
    unit: str
    """The sample of `new`: spaces, families, benchmarks, or empty."""
    by_space: dict[int, Estimate]
    """The probability on the benchmarks of each space, by its number."""
    wins: int
    """Benchmarks on which the probability, averaged over constraints, is above one half."""
    losses: int
    """Benchmarks on which it is below one half."""
    ties: int
    """Benchmarks on which it is one half."""
    ahead: int
    """Members of `unit` on which the probability is above one half."""
    behind: int
    """Members of `unit` on which it is below one half."""
    units: int
    """Number of members of `unit`."""
    variance: float
    """Sample variance over the members of `unit`; NaN if there is one."""
    tied: float
    """Share of pairs of runs that tie."""
    floor: float
    """The smallest p that this number of seeds can give."""
    is_identical: bool
    """Whether all runs of the two methods are the same."""
    shared: Estimate = UNKNOWN
    """`new` with a moderated variance (`moderation`), which decides the verdict."""
    p_these: float = np.nan
    """p of `these` being one half, after Holm's correction; NaN if there is none."""
    p_new: float = np.nan
    """p of `shared` being one half, after Holm's correction."""
    p_equivalent: float = np.nan
    """p, after correction, of the probability in some space lying outside `EQUIVALENT`."""
    p_equivalent_on_average: float = np.nan
    """p, after correction, of the average over spaces lying outside `EQUIVALENT`."""
    level: float = LEVEL
    """Level of the simultaneous interval of `these` (Bonferroni over all tested pairs)."""

    def turned(self) -> Pair:
        """The comparison of `b` with `a`."""
        these, new, shared = (_turned(estimate) for estimate in (self.these, self.new, self.shared))
        return replace(
            self,
            a=self.b,
            b=self.a,
            these=these,
            new=new,
            shared=shared,
            by_space={space: _turned(estimate) for space, estimate in self.by_space.items()},
            wins=self.losses,
            losses=self.wins,
            ahead=self.behind,
            behind=self.ahead,
        )

    @property
    def is_untested(self) -> bool:
        """Whether there is no p, because some setting has fewer than five seeds that both methods have."""
        return bool(np.isnan(self.p_these)) and not self.is_identical

    @property
    def verdict(self) -> int:
        """1 if `a` is significantly better on these benchmarks, -1 if it is worse, else 0."""
        return int(np.sign(self.these.value - 0.5)) if self.p_these < LEVEL else 0

    @property
    def verdict_new(self) -> int:
        """1 if `a` is significantly better on new tasks, -1 if it is worse, else 0."""
        return int(np.sign(self.these.value - 0.5)) if self.p_new < LEVEL else 0

    @property
    def interval(self) -> tuple[float, float]:
        """Simultaneous interval on these benchmarks: all intervals of a report hold in 95 % of reports (Bonferroni).

        The test is sharper (Holm). So the interval is cut at one half if the test excludes one half, and extended to it
        if the test does not.
        """
        low, high = self.these.interval(level=self.level)
        if self.verdict:
            return (max(low, 0.5), high) if self.verdict > 0 else (low, min(high, 0.5))
        return min(low, 0.5), max(high, 0.5)

    @property
    def is_equivalent(self) -> bool:
        """Whether the probability lies between 0.45 and 0.55 in every space, after correction over all pairs."""
        return self.is_identical or self.p_equivalent < LEVEL

    @property
    def is_equivalent_on_average(self) -> bool:
        """Whether the average over spaces lies between 0.45 and 0.55, but this is not shown for every space."""
        return self.p_equivalent_on_average < LEVEL and not self.is_equivalent


def _turned(estimate: Estimate) -> Estimate:
    return replace(estimate, value=1 - estimate.value)


@dataclass(frozen=True, eq=False)
class Verdicts:
    """The pairs and ranks of one scope."""

    settings: NDArray[np.intp]
    """The settings of the scope."""
    complete: NDArray[np.intp]
    """The settings with all methods, over which ranks are computed."""
    seeds: int
    """The smallest number of seeds of all methods in a setting of `complete`."""
    kinds: tuple[tuple[int, ...], ...]
    """Classes of methods whose runs are all the same, each with its representative first; a class has one rank."""
    pairs: dict[tuple[int, int], Pair]
    """The pairs by (a, b) with a < b."""
    ranks: tuple[Rank, ...]
    """Ranks of the representatives, the best first; empty if no setting has every method."""
    unit: str
    """The sample of ranks on new tasks: spaces, families, benchmarks, or empty."""

    def pair(self, a: int, b: int) -> Pair | None:
        """The comparison of `a` with `b`; None if no setting has both."""
        stored = self.pairs.get((min(a, b), max(a, b)))
        return stored if stored is None or a < b else stored.turned()

    def rank_of(self, method: int) -> Rank | None:
        """The rank of a method, or of its representative if several are identical; None if there are no ranks."""
        first = self.kind_of(method)[0]
        return next((rank for rank in self.ranks if rank.method == first), None)

    def kind_of(self, method: int) -> tuple[int, ...]:
        """The methods whose runs are all the same as those of a method, itself among them."""
        return next(kind for kind in self.kinds if method in kind)

    @property
    def tested(self) -> list[Pair]:
        """The pairs with a p."""
        return [pair for pair in self.pairs.values() if not np.isnan(pair.p_these)]


def judge(runs: Field, settings: NDArray[np.intp], preferred: int) -> Verdicts:
    """All pairs and ranks over some settings, without corrected p (see `corrected`).

    Args:
        preferred: a method that represents its class of identical methods.
    """
    identity = runs.identity[settings]
    kinds = _kinds(identity, preferred)
    pairs = _compared(runs, settings)
    present = (runs.places[settings] >= 0).any(axis=2)
    complete = settings[np.all(present, axis=1)]
    ranks, seeds, unit = ranked(runs, complete, [kind[0] for kind in kinds])
    return Verdicts(settings, complete, seeds, kinds, _moderated(pairs, kinds), ranks, unit)


def _compared(runs: Field, settings: NDArray[np.intp]) -> dict[tuple[int, int], Pair]:
    """The comparisons of all pairs, made once: the only space of a report has the settings of the whole."""
    known = _COMPARED.setdefault(runs, {})
    scope = settings.tobytes()
    if scope not in known:
        every = combinations(range(runs.places.shape[1]), 2)
        known[scope] = {(a, b): pair for a, b in every if (pair := compare(runs, settings, a, b))}
    return known[scope]


def _moderated(pairs: dict[tuple[int, int], Pair], kinds: tuple[tuple[int, ...], ...]) -> dict[tuple[int, int], Pair]:
    """The pairs with `shared`: variances moderated over all pairs that are not identical.

    Variances over spaces are moderated by those over spaces alone, and so are those over families and over benchmarks,
    which are others. Of identical methods the first one lends variance: the pairs of its twins are the same pairs once
    more.
    """
    first = {method: kind[0] for kind in kinds for method in kind}
    updated = dict(pairs)
    every = [key for key, pair in pairs.items() if pair.new.known and not pair.is_identical]
    for unit in dict.fromkeys(pairs[key].unit for key in every):
        known = [key for key in every if pairs[key].unit == unit]
        lenders = [key for key in known if all(first[method] == method for method in key)]
        methods = len({method for key in lenders for method in key})
        freedom = np.array([pairs[key].units - 1.0 for key in lenders])
        variances, freedom = moderated(np.array([pairs[key].variance for key in lenders]), freedom, methods)
        drawn = dict(zip(lenders, zip(variances.tolist(), freedom.tolist(), strict=True), strict=True))
        for key in known:
            pair, (a, b) = pairs[key], sorted(first[method] for method in key)
            variance, degrees = drawn[a, b]
            error = max(float(np.sqrt(variance / pair.units)), pair.these.error)
            updated[key] = replace(pair, shared=Estimate(pair.new.value, error, degrees))
    return updated


def corrected(verdicts: Sequence[Verdicts], share: float = 1.0) -> list[Verdicts]:
    """The verdicts with p after Holm's correction, over all their pairs that are not identical.

    p on new tasks is never below p on these benchmarks, nor below the p of the interval on new tasks: where that holds
    one half, variances of other pairs alone decide nothing.

    Args:
        share: share of the 5 % error rate that these verdicts may use; p is divided by it.
    """
    tested = [(i, key) for i, v in enumerate(verdicts) for key, pair in v.pairs.items() if not pair.is_identical]
    every = with_corrected_p([verdicts[i].pairs[key] for i, key in tested], share)
    inside = [np.max([e.p_outside(*EQUIVALENT) for e in pair.by_space.values()]) for pair in every]
    even = [pair.these.p_outside(*EQUIVALENT) for pair in every]
    p_values = zip(_p_on_new_tasks(every, share), holm(np.array(inside)), holm(np.array(even)), strict=True)
    updated = {
        place: replace(pair, p_new=p_new, p_equivalent=p_equivalent, p_equivalent_on_average=p_average)
        for place, pair, (p_new, p_equivalent, p_average) in zip(tested, every, p_values, strict=True)
    }
    result = []
    for i, v in enumerate(verdicts):
        with_p = replace(v, pairs={key: updated.get((i, key), pair) for key, pair in v.pairs.items()})
        result.append(replace(with_p, ranks=tuple(_placed(with_p, rank) for rank in v.ranks)))
    return result


def _p_on_new_tasks(pairs: Sequence[Pair], share: float) -> Array:
    """p on new tasks of pairs that have `p_these`, after Holm's correction; NaN where variances are not known."""
    p: Array = np.maximum([pair.shared.p() for pair in pairs], [pair.these.p() for pair in pairs])
    p = np.maximum(_adjusted(p, share), [pair.new.p() for pair in pairs])
    return np.maximum(p, [pair.p_these for pair in pairs])  # Holm counts fewer pairs where some are on one benchmark


def with_corrected_p(pairs: Sequence[Pair], share: float) -> list[Pair]:
    """The pairs with `p_these` after Holm's correction, and with the level of their simultaneous intervals.

    Args:
        share: share of the 5 % error rate that these tests may use; p is divided by it.
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
        identities = np.ascontiguousarray(identity[:, method])
        key = identities.tobytes() if (identities > 0).any() else str(method).encode()
        classes.setdefault(key, []).append(method)
    return tuple(tuple(sorted(kind, key=lambda m: (m != preferred, m))) for kind in classes.values())


def compare(runs: Field, settings: NDArray[np.intp], a: int, b: int) -> Pair | None:
    """The comparison of `a` with `b` over the settings with both, without corrected p; None if there is no setting."""
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
    by_bench, by_unit = (np.round(values - 0.5, 12) for values in (tasks.by_bench(strata.means), means))
    return Pair(
        a,
        b,
        settings,
        int(strata.seeds.min()),
        these,
        new,
        unit,
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
    """The smallest possible p of a probability of improvement with these numbers of seeds.

    Args:
        seeds: number of seeds of each setting, shape (settings,).
        weights: weights of the settings, sum 1.
    """
    if len(seeds) == 1 and seeds[0] >= FEWEST:
        count = min(int(seeds[0]), _MANY)
        return 2 / math.comb(2 * count, count)
    best = _estimate(Strata(np.ones(len(seeds)), np.zeros(len(seeds)), seeds), weights)
    # Some settings may vary so that the error is no larger, and yet all degrees of freedom count.
    smallest = replace(best, freedom=float(np.sum(seeds - 1))).p()
    return 1.0 if np.isnan(smallest) else smallest


def _by_space(strata: Strata, tasks: Tasks) -> dict[int, Estimate]:
    """The estimate on the benchmarks of each space, by the number of the space."""
    if len(tasks.spaces) == 1:
        return {int(tasks.spaces[0]): _estimate(strata, tasks.weights)}
    estimates = {}
    for space in tasks.spaces.tolist():
        rows = tasks.space == space
        weights = tasks.weights[rows]
        estimates[space] = _estimate(strata.kept(rows), weights / weights.sum())
    return estimates


def _estimate(strata: Strata, weights: Array) -> Estimate:
    """The estimate of the probability of improvement from the means and variances of settings."""
    return strata.estimate(weights, least=_FLOOR, extra=_ALONE * concentration(weights))


def concentration(weights: Array) -> float:
    """How far one setting decides: Σ w⁴ / (Σ w²)², which is 1 for a single setting and 1/n for n of equal weight."""
    return float(np.sum(weights**4) / np.sum(weights**2) ** 2)


def _are_identical(ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> bool:
    return bool((ours > 0).any()) and np.array_equal(ours, theirs)


def _placed(verdicts: Verdicts, rank: Rank) -> Rank:
    others = [verdicts.pair(rank.method, other.method) for other in verdicts.ranks if other.method != rank.method]
    told = [pair.verdict for pair in others if pair is not None]
    return replace(rank, first=1 + told.count(-1), last=len(verdicts.ranks) - told.count(1))
