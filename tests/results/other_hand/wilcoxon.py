"""Wilcoxon's, Friedman's and mean-rank tables by scipy: one value per setting, per benchmark, per search space; per
seed where there is one setting."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from tests.results.other_hand.recomputed import TIE, Array, Report, holm
from tests.results.other_hand.stored import Place

BY: dict[str, Callable[[Place], str]] = {
    "settings": lambda p: f"{p.bench} {p.constraint}",
    "benchmarks": lambda p: p.bench,
    "spaces": lambda p: p.space,
}


def medians(report: Report) -> Array:
    """Median score of each method in each setting; nothing found counts as the worst feasible value."""
    found = np.full((len(report.places), len(report.methods)), math.nan)
    for i, place in enumerate(report.places):
        for j, method in enumerate(report.methods):
            if (place, method) in report.read.cells:
                setting = report.read.cells[place, method]["setting"]
                values = report.values(method, place, report.seeds([method], place))
                worst = setting["worst"] if report.score == "observed" else setting["score_worst"]
                found[i, j] = np.median(np.where(np.isnan(values), worst, values))
    return found


def relative(a: Array, b: Array) -> Array:
    """(b - a) / max(|a|, |b|): positive where a is better; 0 within 1e-7."""
    found = (b - a) / np.maximum(abs(a), abs(b))
    return np.where(abs(found) <= TIE, 0.0, found)


def joined(over: str, values: Array, places: list[Place]) -> Array:
    """The mean of each block: of settings in a benchmark, of benchmarks in a family, of families in a space."""
    levels: list[Callable[[Place], Any]] = {
        "settings": [lambda p: p],
        "benchmarks": [lambda p: p[:3]],
        "spaces": [lambda p: p[:3], lambda p: p[:2], lambda p: p[0]],
    }[over]
    members = list(zip(places, values, strict=True))
    for level in levels:
        groups = itertools.groupby(sorted(members, key=lambda m: m[0]), key=lambda m: level(m[0]))
        grouped = [list(group) for _, group in groups]
        members = [(group[0][0], np.mean([value for _, value in group])) for group in grouped]
    return np.array([value for _, value in members])


def ranks_of(values: Array) -> Array:
    """Ranks within one setting, values within 1e-7 tied."""
    above = values[:, None] - values[None, :] > TIE * np.maximum(abs(values[:, None]), abs(values[None, :]))
    return stats.rankdata(above.sum(axis=1))


def by_seed(report: Report, place: Place) -> Array:
    """Score of each method with each seed that all of them have; nothing found counts as the worst feasible value."""
    setting = report.read.cells[place, report.methods[0]]["setting"]
    worst = setting["worst"] if report.score == "observed" else setting["score_worst"]
    seeds = report.seeds(report.methods, place)
    found = np.array([report.values(method, place, seeds) for method in report.methods]).T
    return np.where(np.isnan(found), worst, found)


def tables(report: Report) -> dict[str, dict[str, Any]]:
    """Per level: mean ranks by method, Friedman's χ² and p, and the rows of the pairs."""
    values = medians(report)
    kept = ~np.isnan(values).any(axis=1)
    values, places = values[kept], [p for p, k in zip(report.places, kept, strict=True) if k]
    if len(places) == 1:
        of_seeds = by_seed(report, places[0])
        return {
            "seeds": table_of(
                "settings", report, of_seeds, [places[0]._replace(bench=str(i)) for i in range(len(of_seeds))]
            )
        }
    return {over: table_of(over, report, values, places) for over in BY}


def table_of(over: str, report: Report, values: Array, places: list[Place]) -> dict[str, Any]:
    """One level: mean ranks by method, Friedman's χ² and p, and the rows of the pairs."""
    ranks = np.array([joined(over, column, places) for column in np.array([ranks_of(v) for v in values]).T]).T
    ranks = np.array([stats.rankdata(np.round(block, 9)) for block in ranks])
    pairs = list(itertools.combinations(range(len(report.methods)), 2))
    rows = [signed_rank(joined(over, relative(values[:, a], values[:, b]), places)) for a, b in pairs]
    for row, p_holm in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = p_holm
    can = len(report.methods) > 2 and len(ranks) > 1
    return {
        "blocks": len(ranks),
        "ranks": dict(zip(report.methods, ranks.mean(axis=0), strict=True)),
        "friedman": stats.friedmanchisquare(*ranks.T) if can else None,
        "pairs": {(report.methods[a], report.methods[b]): row for (a, b), row in zip(pairs, rows, strict=True)},
    }


def signed_rank(differences: Array) -> dict[str, Any]:
    """Wilcoxon's test as scipy does it (zeros dropped; exact up to 50 pairs, 13 with ties)."""
    kept = differences[abs(differences) > TIE]
    if not len(kept):
        return {"n": 0, "W": 0.0, "R_plus": 0.0, "R_minus": 0.0, "r": math.nan, "p": 1.0}
    ranks = stats.rankdata(abs(kept))
    plus, minus = float(ranks[kept > 0].sum()), float(ranks[kept < 0].sum())
    p = float(stats.wilcoxon(kept, zero_method="wilcox").pvalue)
    return {
        "n": len(kept),
        "W": min(plus, minus),
        "R_plus": plus,
        "R_minus": minus,
        "r": (plus - minus) / (plus + minus),
        "p": p,
    }
