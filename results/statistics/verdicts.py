"""Every verdict of one scope: pairs of methods, expected ranks, and the places that they leave open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from nasbench.results.curves import Array
from nasbench.results.statistics.estimates import FEWEST, Estimate, Tasks, holm, over_seeds, over_tasks, smallest_p
from nasbench.results.statistics.improvement import Places, improvement, seed_scores, ties

LEVEL = 0.05
EQUIVALENT = (0.45, 0.55)
"""Probabilities of improvement between which two methods are alike for practical purposes."""


@dataclass(frozen=True, eq=False)
class Pair:
    """One method held against another."""

    a: int
    b: int
    settings: NDArray[np.intp]
    """Where both have runs."""
    seeds: int
    """Those that both have in every such setting."""
    here: Estimate
    """Probability that a run of `a` is better than one of `b`, on the listed benchmarks: seeds are the sample."""
    alike: Estimate
    """The same on tasks like these: families, or benchmarks of the one family, are the sample."""
    unit: str
    """What `alike` is over: families, benchmarks, or nothing."""
    by_setting: Array
    """The probability in each of `settings`."""
    wins: int
    losses: int
    even: int
    """Benchmarks on which the probability, averaged over constraints, is above, below or at one half."""
    ahead: int
    behind: int
    """Families on which it is above, or below."""
    families: int
    tied: float
    """Share of pairs of runs that tie."""
    floor: float
    """The smallest p that so many seeds can give."""
    is_identical: bool
    """Every run of one is that of the other."""
    p_here: float = np.nan
    """p of `here` against one half, after correction; NaN where there is none."""
    p_alike: float = np.nan

    def turned(self) -> Pair:
        """The same from the other side."""
        here, alike = (replace(e, value=1 - e.value) for e in (self.here, self.alike))
        return replace(
            self,
            a=self.b,
            b=self.a,
            here=here,
            alike=alike,
            by_setting=1 - self.by_setting,
            wins=self.losses,
            losses=self.wins,
            ahead=self.behind,
            behind=self.ahead,
        )

    @property
    def verdict(self) -> int:
        """1 where `a` is better on the listed benchmarks, -1 where it is worse, 0 where they are not told apart."""
        return int(np.sign(self.here.value - 0.5)) if self.p_here < LEVEL else 0

    @property
    def verdict_alike(self) -> int:
        """The same for tasks like these."""
        return int(np.sign(self.here.value - 0.5)) if self.p_alike < LEVEL else 0

    @property
    def is_equivalent(self) -> bool:
        """The whole interval lies where two methods are alike for practical purposes."""
        low, high = self.here.interval()
        return self.is_identical or (EQUIVALENT[0] <= low and high <= EQUIVALENT[1])


@dataclass(frozen=True)
class Rank:
    """Expected rank of a method: 1 + the sum of the probabilities that each other one is better."""

    method: int
    here: Estimate
    alike: Estimate
    first: int
    last: int
    """The places it may have: 1 + those told to be better, and all but those told to be worse."""


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Pairs and ranks of one scope."""

    settings: NDArray[np.intp]
    """The scope."""
    complete: NDArray[np.intp]
    """Those of them in which no method is missing: what ranks are over."""
    seeds: int
    """Those that every method has in all of `complete`: what the intervals of ranks rest on."""
    kinds: tuple[tuple[int, ...], ...]
    """Methods whose runs are all the same count as one in ranks: the classes, each with its representative first."""
    pairs: dict[tuple[int, int], Pair]
    """By (a, b) with a < b."""
    ranks: tuple[Rank, ...]
    """Of the representatives, the best first; empty where no setting has every method."""
    unit: str
    """What the intervals for tasks like these are over."""

    def pair(self, a: int, b: int) -> Pair | None:
        """`a` held against `b`; None where no setting has both."""
        found = self.pairs.get((min(a, b), max(a, b)))
        return found if found is None or a < b else found.turned()

    @property
    def tested(self) -> list[Pair]:
        """The pairs that have a p."""
        return [pair for pair in self.pairs.values() if not np.isnan(pair.p_here)]


@dataclass(frozen=True, eq=False)
class Field:
    """The runs of all settings at one point."""

    places: Places
    """Shape (settings, methods, seeds), comparable inside a setting; -1 where there is no run."""
    identity: NDArray[np.int64]
    """Same shape: runs of a setting that are the same have the same number; 0 without any feasible evaluation, -1
    without a run."""
    tasks: Tasks
    """Of all settings."""


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
    return Verdicts(settings, complete, seeds, kinds, pairs, ranks, unit)


def corrected(verdicts: Sequence[Verdicts], share: float = 1.0) -> list[Verdicts]:
    """The same with p after Holm's correction over all pairs of all of them that are not identical.

    A p for tasks like these is never below that for the listed ones.

    Args:
        share: the part of the 5 % that these verdicts may err; p is divided by it.
    """
    every = [pair for v in verdicts for pair in v.pairs.values() if not pair.is_identical]
    here = np.array([pair.here.p() for pair in every])
    alike = np.fmax(np.array([pair.alike.p() for pair in every]), here)
    alike[[not pair.alike.known for pair in every]] = np.nan
    p = {
        id(pair): both
        for pair, *both in zip(every, *(np.minimum(holm(v) / share, 1.0) for v in (here, alike)), strict=True)
    }
    found = []
    for v in verdicts:
        pairs = {
            key: pair
            if pair.is_identical
            else replace(pair, p_here=p[id(pair)][0], p_alike=p[id(pair)][1], floor=float(min(pair.floor / share, 1.0)))
            for key, pair in v.pairs.items()
        }
        with_p = replace(v, pairs=pairs)
        found.append(replace(with_p, ranks=tuple(_placed(with_p, rank) for rank in v.ranks)))
    return found


def expected_ranks(places_: Places, weights: Array) -> Array:
    """Expected rank of each method, 1 the best, shape (methods,).

    Args:
        places_: shape (settings, methods, seeds), every method present in every setting.
        weights: of the settings, sum 1.
    """
    _, methods, seeds = places_.shape
    if (places_ >= 0).all():  # from the ranks of all runs together, less those among a method's own
        joined = np.array([_mid_ranks(own.ravel()) for own in places_]).reshape(places_.shape)
        behind = joined.sum(axis=2) - seeds / 2 - seeds**2 / 2
        found: Array = 1 + weights @ (behind / seeds**2)
        return found
    ranks = np.ones(methods)
    for a, b in combinations(range(methods), 2):
        better = float(weights @ improvement(places_[:, a], places_[:, b]))
        ranks[a] += 1 - better
        ranks[b] += better
    return ranks


def _mid_ranks(places_: Places) -> Array:
    """Rank of each run among all, 1 the best; ties share their mean rank."""
    counts = np.bincount(places_)
    ranks: Array = (np.cumsum(counts) - (counts - 1) / 2)[places_]
    return ranks


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
    weights = tasks.weights
    common = (ours >= 0).all(axis=0) & (theirs >= 0).all(axis=0)
    if common.sum() >= FEWEST:
        ours, theirs = ours[:, common], theirs[:, common]
        scores = seed_scores(ours, theirs)
        by_setting = scores.mean(axis=1)
        here = over_seeds(weights @ scores, least=0.5 * float(np.sum(weights**2)))
    else:
        by_setting = improvement(ours, theirs)
        here = Estimate(float(weights @ by_setting))
    alike, unit = over_tasks(by_setting, tasks, here)
    bench, family = (np.round(values - 0.5, 12) for values in (tasks.by_bench(by_setting), tasks.by_family(by_setting)))
    return Pair(
        a,
        b,
        settings,
        int(common.sum()),
        here,
        alike,
        unit,
        by_setting,
        wins=int((bench > 0).sum()),
        losses=int((bench < 0).sum()),
        even=int((bench == 0).sum()),
        ahead=int((family > 0).sum()),
        behind=int((family < 0).sum()),
        families=len(family),
        tied=ties(ours, theirs),
        floor=smallest_p(int(common.sum()), weights),
        is_identical=_are_identical(runs.identity[settings, a], runs.identity[settings, b]),
    )


def _are_identical(ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> bool:
    return bool((ours > 0).any()) and np.array_equal(ours, theirs)


def ranked(runs: Field, settings: NDArray[np.intp], methods: list[int]) -> tuple[tuple[Rank, ...], int, str]:
    """Ranks without places, the best first; the seeds behind their intervals; what those for like tasks are over."""
    if not len(settings):
        return (), 0, ""
    places_ = runs.places[settings][:, methods]
    tasks = runs.tasks.of(settings)
    weights = tasks.weights
    common = (places_ >= 0).all(axis=(0, 1))
    count = len(methods)
    if common.sum() < FEWEST:
        values = expected_ranks(places_, weights)
        order = np.argsort(values, kind="stable")
        bare = [Estimate(float(values[i])) for i in order]
        return tuple(Rank(methods[i], e, e, 1, count) for i, e in zip(order, bare, strict=True)), int(common.sum()), ""
    places_ = places_[:, :, common]
    of_seeds = np.ones((count, len(settings), places_.shape[2]))
    for i, j in combinations(range(count), 2):
        scores = seed_scores(places_[:, i], places_[:, j])
        of_seeds[i] += 1 - scores
        of_seeds[j] += scores
    extra = 0.25 * (count - 1) * float(np.sum(weights**2))
    found, unit = [], ""
    for i, method in enumerate(methods):
        here = over_seeds(weights @ of_seeds[i], extra=extra)
        alike, unit = over_tasks(of_seeds[i].mean(axis=1), tasks, here)
        found.append(Rank(method, here, alike, 1, count))
    return tuple(sorted(found, key=lambda rank: rank.here.value)), int(common.sum()), unit


def _placed(verdicts: Verdicts, rank: Rank) -> Rank:
    others = [verdicts.pair(rank.method, other.method) for other in verdicts.ranks if other.method != rank.method]
    told = [pair.verdict for pair in others if pair is not None]
    return replace(rank, first=1 + told.count(-1), last=len(verdicts.ranks) - told.count(1))
