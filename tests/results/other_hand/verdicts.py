"""Rows of a report's tables of verdicts, recomputed: pairs, single constraints, single settings, claims, ranks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from tests.results.other_hand.recomputed import (
    LEVELS,
    Estimate,
    Report,
    clipped,
    holm,
    lent,
    moderated_p,
    simultaneous,
    with_quarter,
)
from tests.results.other_hand.stored import Place

Row = dict[str, Any]
Names = tuple[str, str]


class Asked(NamedTuple):
    """One test: two methods on some settings."""

    where: str
    pair: Names
    places: tuple[Place, ...]


def share_of_pairs(places: Sequence[Place]) -> float:
    """What single constraints and single settings do not need goes to the pairs."""
    return 0.03 + 0.005 * (len({p.constraint for p in places}) < 2) + 0.005 * (len(places) < 2)


def counted(estimate: Estimate, name: str) -> tuple[int, int, int]:
    """How many units of a level are won, tied, lost."""
    values = [part.value - 0.5 for part in estimate.over(dict(LEVELS)[name])]
    return sum(v > 1e-9 for v in values), sum(abs(v) <= 1e-9 for v in values), sum(v < -1e-9 for v in values)


def outside(estimate: Estimate) -> float:
    """p of two one-sided tests, each at half the level, that a probability lies in .45-.55."""
    return 2 * max(estimate.tail(0.45, upper=True), estimate.tail(0.55, upper=False))


def smallest_p(estimate: Estimate) -> float:
    """The smallest p that as many seeds can give."""
    s = estimate.seeds
    return estimate.smallest_p() if len(estimate.places) > 1 else 2 / math.comb(2 * s, s)


def moderated(report: Report, tests: dict[int, tuple[Names, Estimate]], places: Sequence[Place]) -> dict[int, float]:
    """p for new tasks of each test of one scope; identical methods count as one in what pairs lend each other."""
    chosen = set(report.distinct(places))
    firsts = [i for i, (pair, _) in tests.items() if set(pair) <= chosen]
    prior = lent([tests[i][1] for i in firsts], len({m for i in firsts for m in tests[i][0]}))
    return {i: moderated_p(e, *prior) for i, (_, e) in tests.items()}


def rows(report: Report, asked: Sequence[Asked], share: float) -> dict[tuple[str, Names], Row]:
    """What each test says when these tests share one part of the budget of error."""
    asked = [test for test in asked if report.shared(test.pair, test.places)]
    estimates = [report.pair(*test.pair, test.places) for test in asked]
    differ = [not report.same(*test.pair, test.places) for test in asked]
    tested = [i for i, d in enumerate(differ) if d]
    p = {i: report.p(*asked[i].pair, estimates[i]) for i in tested}
    p_holm = dict(zip(tested, holm([p[i] for i in tested], share), strict=True))
    p_new: dict[int, float] = {}
    for where in dict.fromkeys(test.where for test in asked):
        here = [i for i in tested if asked[i].where == where and estimates[i].units[0]]
        if here:
            p_new |= moderated(report, {i: (asked[i].pair, estimates[i]) for i in here}, asked[here[0]].places)
    held = dict(zip(p_new, holm([max(p_new[i], p[i]) for i in p_new], share), strict=True))
    # At least the p of its interval, and that on these benchmarks.
    p_new_holm = {i: max(value, moderated_p(estimates[i], 0.0, 0.0), p_holm[i]) for i, value in held.items()}
    alike = [max(outside(with_quarter(space)) for space in e.over(LEVELS[0][1])) for e in estimates]
    p_alike = dict(zip(tested, holm([alike[i] for i in tested]), strict=True))
    on_average = dict(zip(tested, holm([outside(estimates[i]) for i in tested]), strict=True))
    found = {}
    for i, (test, e) in enumerate(zip(asked, estimates, strict=True)):
        at_once = simultaneous(e, share / len(tested), p_holm[i] < 0.05) if differ[i] else e.interval()
        wins, ties, losses = counted(e, "benchmarks")
        unit = e.units[0] or "benchmarks"
        ahead, tied, behind = counted(e, unit)
        equivalent = not differ[i] or p_alike[i] < 0.05
        low, high = clipped(e.interval())
        low_new, high_new = clipped(e.new_interval()) if e.units[0] else (math.nan, math.nan)
        found[test.where, test.pair] = {
            "identical": not differ[i],
            "settings": len(e.places),
            "seeds": e.seeds,
            "better": e.value,
            "low": low,
            "high": high,
            "low_simultaneous": clipped(at_once)[0],
            "high_simultaneous": clipped(at_once)[1],
            "p": p.get(i, 1.0),
            "p_holm": p_holm.get(i, math.nan),
            "low_new": low_new,
            "high_new": high_new,
            "p_new": p_new.get(i, math.nan),
            "p_new_holm": p_new_holm.get(i, math.nan),
            "new_over": e.units[0],
            "wins": wins,
            "ties": ties,
            "losses": losses,
            "units": ahead + tied + behind,
            "units_ahead": ahead,
            "units_behind": behind,
            "runs_tied": report.tied(*test.pair, e),
            "floor": min(1.0, smallest_p(e) * 0.05 / (share if differ[i] else 0.05)),
            "p_equivalent": p_alike.get(i, math.nan),
            "equivalent": equivalent,
            "equal_on_average": differ[i] and not equivalent and on_average[i] < 0.05,
        }
    return found


@cache
def all_together(report: Report) -> dict[Names, Row]:
    """Every pair over all settings, seen from either side."""
    pairs = list(itertools.combinations(report.methods, 2))
    places = tuple(report.places)
    found: dict[Names, Row] = {}
    for names in (pairs, [(b, a) for a, b in pairs]):
        asked = [Asked("", pair, places) for pair in names]
        found |= {pair: row for (_, pair), row in rows(report, asked, share_of_pairs(places)).items()}
    return found


@cache
def single_constraints(report: Report) -> dict[tuple[str, Names], Row]:
    """Every pair under each constraint alone."""
    labels = sorted({p.constraint for p in report.places})
    pairs = list(itertools.combinations(report.methods, 2))
    found: dict[tuple[str, Names], Row] = {}
    for names in (pairs, [(b, a) for a, b in pairs]):
        asked = [
            Asked(label, pair, tuple(p for p in report.places if p.constraint == label))
            for label in labels
            for pair in names
        ]
        found |= rows(report, asked, 0.005)
    return found


def single_settings(report: Report, baseline: str) -> dict[tuple[str, Names], Row]:
    """The baseline against every other method in each setting alone."""
    others = [m for m in report.methods if m != baseline]
    asked = [Asked(f"{p.bench} {p.constraint}", (baseline, o), (p,)) for p in report.places for o in others]
    return rows(report, asked, 0.005)


def rank_rows(report: Report, verdicts: dict[Names, Row]) -> dict[str, Row]:
    """Expected ranks, their two intervals, and the places that verdicts leave open."""
    estimates = report.ranks(report.places)
    found = {}
    for method, e in estimates.items():
        others = [verdicts[method, other] for other in estimates if other != method]
        decided = [row for row in others if row["p_holm"] < 0.05]
        low, high = clipped(e.interval(), 1, len(estimates))
        new = clipped(e.new_interval(), 1, len(estimates)) if e.units[0] else (math.nan, math.nan)
        found[method] = {
            "rank": e.value,
            "low": low,
            "high": high,
            "low_new": new[0],
            "high_new": new[1],
            "first": 1 + sum(row["better"] < 0.5 for row in decided),
            "last": len(estimates) - sum(row["better"] > 0.5 for row in decided),
        }
    return found
