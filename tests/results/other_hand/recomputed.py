"""The verdicts of docs/notebook/statistics.md by numpy and scipy alone: no line of the project is used."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from tests.results.other_hand.stored import Place, Read

Array = NDArray[np.float64]
Key = Callable[[Place], str]
LEVELS: list[tuple[str, Key]] = [
    ("spaces", lambda place: place.space),
    ("families", lambda place: place.family),
    ("benchmarks", lambda place: place.bench),
]
TIE = 1e-7


def better(a: Array, b: Array) -> Array:
    """h(a_k, b_j): 1 where a_k is the lower, ½ where they are tied; nothing found is infinite."""
    x, y = (np.where(np.isnan(v), np.inf, v) for v in (a[:, None], b[None, :]))
    with np.errstate(invalid="ignore"):
        tied = (x == y) | (np.isfinite(x) & np.isfinite(y) & (abs(x - y) <= TIE * np.maximum(abs(x), abs(y))))
    return np.where(tied, 0.5, (x < y).astype(float))


def linear_parts(a: Array, b: Array) -> Array:
    """v_k of each seed; their mean is the probability of improvement."""
    h = better(a, b)
    return h.mean(axis=1) + h.mean(axis=0) - h.mean()


def weights(places: Sequence[Place]) -> dict[Place, float]:
    """Spaces, within them families, benchmarks, constraints: each the same."""
    return {
        p: 1.0
        / len({q.space for q in places})
        / len({q.family for q in places if q.space == p.space})
        / len({q.bench for q in places if q[:2] == p[:2]})
        / len([q for q in places if q[:3] == p[:3]])
        for p in places
    }


def holm(p: Sequence[float], share: float = 0.05) -> list[float]:
    """Adjusted so that below 0.05 means significant within the share of the budget of error."""
    order = np.argsort(p, kind="stable")
    adjusted, running = [0.0] * len(p), 0.0
    for step, at in enumerate(order):
        running = max(running, min(1.0, p[at] * (len(p) - step) * 0.05 / share))
        adjusted[at] = running
    return adjusted


def permutation_p(a: Array, b: Array) -> float:
    """Two-sided p of Mann and Whitney's test: where that is below 0.2, over all ways to share the 2 S runs out."""
    both = np.concatenate([a, b])
    ranks = (1 - better(both, both)).sum(axis=1)
    normal = float(stats.mannwhitneyu(ranks[: len(a)], ranks[len(a) :], method="asymptotic").pvalue)
    if normal >= 0.2:
        return normal
    doubled = np.rint(2 * ranks).astype(int)
    ways = [np.zeros(doubled.sum() + 1) for _ in range(len(a) + 1)]
    ways[0][0] = 1.0
    for rank in doubled:
        for size in range(len(a), 0, -1):
            ways[size][rank:] += ways[size - 1][: len(ways[size]) - rank]
    count = ways[len(a)]
    away = abs(2 * np.arange(len(count)) - doubled.sum())  # from the mean, as both have S runs
    return float(count[away >= abs(2 * doubled[: len(a)].sum() - doubled.sum())].sum() / count.sum())


@dataclass(frozen=True)
class Estimate:
    """A weighted mean over settings of linear parts, with its uncertainty over seeds and over units.

    Attributes:
        parts: Linear parts of the seeds of each setting.
        places: The settings.
        least, added: What the sum of squares of a single setting is at least, and what is added to it.
    """

    parts: tuple[Array, ...]
    places: tuple[Place, ...]
    least: float
    added: float = 0.0

    @cached_property
    def _w(self) -> Array:
        by_place = weights(self.places)
        return np.array([by_place[p] for p in self.places])

    @property
    def _s(self) -> Array:
        return np.array([len(part) for part in self.parts])

    @property
    def seeds(self) -> int:
        return int(self._s.min())

    @cached_property
    def value(self) -> float:
        return float(self._w @ [part.mean() for part in self.parts])

    @property
    def _terms(self) -> Array:
        """w² s²/S of each setting."""
        return self._w**2 * [part.var(ddof=1) for part in self.parts] / self._s

    @property
    def _units(self) -> Array:
        """The variance of each setting if its sum of squares were 1."""
        return self._w**2 / self._s / (self._s - 1)

    @property
    def _unit(self) -> float:
        return float(self._units.sum())

    @cached_property
    def variance(self) -> float:
        return float(max(self._terms.sum(), self.least * self._unit) + self.added * self._unit)

    @cached_property
    def df(self) -> float:
        return self._df_of(self._terms if self._terms.any() else self._units)

    def _df_of(self, terms: Array) -> float:
        return max(float(terms.sum() ** 2 / (terms**2 / (self._s - 1)).sum()), self.seeds - 1)

    def interval(self, level: float = 0.05) -> tuple[float, float]:
        half = stats.t.isf(level / 2, self.df) * math.sqrt(self.variance)
        return self.value - half, self.value + half

    def p(self) -> float:
        return float(2 * stats.t.sf(abs(self.value - 0.5) / math.sqrt(self.variance), self.df))

    def smallest_p(self) -> float:
        """p if one method won all, with no variance but the least and what is added, and all degrees of freedom."""
        error = math.sqrt((self.least + self.added) * self._unit)
        return float(2 * stats.t.sf(0.5 / error, (self._s - 1).sum()))

    def tail(self, border: float, upper: bool) -> float:
        """p of one side: that the value lies beyond the border."""
        t = (self.value - border) / math.sqrt(self.variance)
        return float(stats.t.sf(t, self.df) if upper else stats.t.cdf(t, self.df))

    def over(self, key: Key) -> list[Estimate]:
        """The estimates of each unit alone."""
        units = sorted({key(p) for p in self.places})
        chosen = [[i for i, p in enumerate(self.places) if key(p) == unit] for unit in units]
        return [
            Estimate(tuple(self.parts[j] for j in i), tuple(self.places[j] for j in i), self.least, self.added)
            for i in chosen
        ]

    @cached_property
    def units(self) -> tuple[str, Array]:
        """What new tasks are a sample of, and the mean of each unit; none where there is one benchmark."""
        for name, key in LEVELS:
            parts = self.over(key)
            if len(parts) > 1:
                return name, np.array([part.value for part in parts])
        return "", np.array([])

    def new_interval(self) -> tuple[float, float]:
        x = self.units[1]
        half = stats.t.isf(0.025, len(x) - 1) * math.sqrt(max(x.var(ddof=1) / len(x), self.variance))
        return float(x.mean() - half), float(x.mean() + half)


def with_quarter(estimate: Estimate) -> Estimate:
    """The same probability, with the ¼ that the sum of squares of a setting gets where it decides alone."""
    w = np.array(list(weights(estimate.places).values()))
    return replace(estimate, added=0.25 * float((w**4).sum() / (w**2).sum() ** 2))


def lent(estimates: Sequence[Estimate], methods: int) -> tuple[float, float]:
    """d0 and s0² of Smyth (2004), which the pairs of a scope have in common."""
    n = len(estimates[0].units[1]) - 1
    s2 = np.array([e.units[1].var(ddof=1) for e in estimates])
    most = min(10, (methods - 2) * n)
    if len(s2) < 2 or not most or not np.median(s2):
        return 0.0, 0.0
    e = np.log(np.maximum(s2, 1e-5 * np.median(s2))) - special.digamma(n / 2) + math.log(n / 2)
    excess = e.var(ddof=1) - special.polygamma(1, n / 2)
    d0 = math.inf
    if excess > 0:
        d0 = 2 * optimize.brentq(lambda x: special.polygamma(1, x) - excess, 1e-8, 1e8, xtol=1e-14)
    d0 = min(d0, most)
    return d0, math.exp(e.mean() + special.digamma(d0 / 2) - math.log(d0 / 2))


def moderated_p(estimate: Estimate, d0: float, s0: float) -> float:
    """p for new tasks by the moderated t."""
    x = estimate.units[1]
    n = len(x) - 1
    variance = max((d0 * s0 + n * x.var(ddof=1)) / (d0 + n) / len(x), estimate.variance)
    return float(2 * stats.t.sf(abs(estimate.value - 0.5) / math.sqrt(variance), n + d0))


class Report:
    """What a report on these runs says, by one score.

    Args:
        read: The store.
        score: hidden, mean or observed.
        places: The settings, by default all.
    """

    def __init__(self, read: Read, score: str = "hidden", places: Sequence[Place] | None = None) -> None:
        self.read, self.score, self.worth = read, score, read.worth(score)
        self.places = list(places or read.places)
        self.methods = read.methods

    def values(self, method: str, place: Place, seeds: Sequence[int]) -> Array:
        return np.array([self.worth[place, method, seed] for seed in seeds])

    def seeds(self, methods: Sequence[str], place: Place) -> list[int]:
        """The seeds of a setting that all have."""
        return sorted(set.intersection(*(self.read.seeds.get((place, m), set()) for m in methods)))

    def shared(self, methods: Sequence[str], places: Sequence[Place]) -> tuple[Place, ...]:
        """The settings where no method is missing."""
        return tuple(p for p in places if all((p, m) in self.read.cells for m in methods))

    def same(self, a: str, b: str, places: Sequence[Place]) -> bool:
        """Whether the runs of two methods are the same, and found something."""
        courses = [
            {(p, seed): self.read.courses[p, m, seed] for p in places for seed in self.read.seeds.get((p, m), ())}
            for m in (a, b)
        ]
        return courses[0] == courses[1] and any(courses[0].values())

    def distinct(self, places: Sequence[Place]) -> list[str]:
        """The methods, of identical ones the first alone."""
        chosen: list[str] = []
        for method in self.methods:
            if not any(self.same(method, other, places) for other in chosen):
                chosen.append(method)
        return chosen

    def pair(self, a: str, b: str, places: Sequence[Place]) -> Estimate:
        both = self.shared([a, b], places)
        parts = [linear_parts(*(self.values(m, p, self.seeds([a, b], p)) for m in (a, b))) for p in both]
        return with_quarter(Estimate(tuple(parts), both, least=0.5))

    def p(self, a: str, b: str, estimate: Estimate) -> float:
        """p on these benchmarks: Student's t, of one setting the permutation's."""
        if len(estimate.places) > 1:
            return estimate.p()
        (place,) = estimate.places
        return permutation_p(*(self.values(m, place, self.seeds([a, b], place)) for m in (a, b)))

    def tied(self, a: str, b: str, estimate: Estimate) -> float:
        """Share of the pairs of runs that are tied."""
        runs = [[self.values(m, p, self.seeds([m], p)) for m in (a, b)] for p in estimate.places]
        pairs = np.concatenate([better(*both).ravel() for both in runs])
        return float((pairs == 0.5).mean())

    def ranks(self, places: Sequence[Place]) -> dict[str, Estimate]:
        """Expected ranks, over the settings where no method is missing."""
        chosen = self.distinct(places)
        both = self.shared(chosen, places)
        found = {}
        for m in chosen:
            parts = []
            for place in both:
                own = {o: self.values(o, place, self.seeds(chosen, place)) for o in chosen}
                parts.append(1 + sum(linear_parts(own[o], own[m]) for o in chosen if o != m))
            found[m] = Estimate(
                tuple(parts), both, least=len(chosen) * (len(chosen) - 1) / 4, added=(len(chosen) - 1) / 4
            )
        return found


def simultaneous(estimate: Estimate, level: float, significant: bool) -> tuple[float, float]:
    """Bonferroni's interval, cut or stretched to ½ where Holm's test says otherwise."""
    low, high = estimate.interval(level)
    if significant:
        return (max(low, 0.5), high) if estimate.value > 0.5 else (low, min(high, 0.5))
    return min(low, 0.5), max(high, 0.5)


def clipped(interval: tuple[float, float], low: float = 0.0, high: float = 1.0) -> tuple[float, float]:
    return max(interval[0], low), min(interval[1], high)
