"""Wilcoxon signed-rank tests of every pair, and mean ranks with Friedman's test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from nasbench.base.numbers import fixed, p_is, p_value
from nasbench.results.display.diagrams import Bar, critical_differences
from nasbench.results.display.look import looks
from nasbench.results.display.scene import Scene
from nasbench.results.display.table import Table
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.estimates import LEVEL, cannot_differ
from nasbench.results.statistics.wilcoxon import RankTests, cliques
from nasbench.results.subject import Subject
from nasbench.results.verdict.limits import blocks


@PARTS.register("wilcoxon")
@plain(20)
def part(subject: Subject) -> Part | None:
    """Wilcoxon's signed-rank tests; None if no setting has all methods, or the only one has a single seed of them."""
    by_level = subject.comparison.rank_tests
    if not by_level[0].pairs or by_level[0].count < 2:
        return None
    tables = [pairs(subject.comparison, by_level), ranks(subject.comparison, by_level)]
    return Part("wilcoxon", "Wilcoxon signed-rank", tables)


def pairs(comparison: Comparison, by_level: Sequence[RankTests]) -> Table:
    """Every pair: over settings (or over the seeds of the only one) for display, over all levels in the file."""
    unit = by_level[0].unit
    data = pd.DataFrame([row for level in by_level for row in _rows(comparison, level)])
    of_settings = data[data["over"] == unit]
    shown = pd.DataFrame(
        {
            "method": of_settings["method"],
            "other": of_settings["other"],
            "n": of_settings["n"].astype(str),
            "W": of_settings["W"].map("{:g}".format),
            "R+": of_settings["R_plus"].map("{:g}".format),
            "R-": of_settings["R_minus"].map("{:g}".format),
            "r": of_settings["r"].map(fixed),
            "p": of_settings["p"].map(p_value),
            "p (Holm)": of_settings["p_holm"].map(p_value),
        }
    )
    of_what = "values of runs with the same seed" if unit == "seeds" else "medians"
    several = "" if unit == "seeds" else " The CSV has the same over benchmarks and spaces."
    note = (
        f"Two-sided, of relative differences of {of_what}, over {unit}; zeros are dropped (scipy's wilcox). n: "
        "differences left. R+, R-: sums of ranks for and against the method; W: the smaller. r: rank-biserial "
        f"correlation. Exact up to 50 differences, 13 with ties.{several}"
    )
    return Table(
        "wilcoxon", f"Wilcoxon signed-rank test over {blocks(by_level[0])}", note, data, shown, None, _floors(by_level)
    )


def _rows(comparison: Comparison, level: RankTests) -> list[dict[str, Any]]:
    return [
        {
            "over": level.unit,
            "blocks": level.count,
            "method": comparison.methods[a],
            "other": comparison.methods[b],
            "n": test.pairs,
            "W": test.statistic,
            "R_plus": test.plus,
            "R_minus": test.minus,
            "r": test.effect,
            "p": test.p,
            "p_holm": level.holm[a, b],
            "floor": test.floor,
            "test": "exact" if test.is_exact else "asymptotic",
        }
        for (a, b), test in level.pairs.items()
    ]


def _floors(by_level: Sequence[RankTests]) -> str:
    """The levels on which no pair can be significant, however clear."""
    told = []
    for level in by_level:
        floors = [test.floor for test in level.pairs.values()]
        if cannot_differ(floors):
            told.append(
                f"Over {blocks(level)} no pair can be significant: before correction p is at least "
                f"{p_value(min(floors))}."
            )
    return " ".join(told)


def ranks(comparison: Comparison, by_level: Sequence[RankTests]) -> Table:
    """Mean rank of each method over settings, benchmarks and spaces."""
    data = pd.DataFrame({"method": comparison.methods} | {level.unit: level.ranks for level in by_level})
    order = np.argsort(by_level[0].ranks, kind="stable")
    shown = data.iloc[order].map(lambda value: fixed(value) if isinstance(value, float) else value)
    tests = [
        f"over {level.count} {level.unit} χ² = {level.chi_square:.4g}, {p_is(level.p)}, critical difference "
        f"{fixed(level.critical_difference)}"
        for level in by_level
        if not np.isnan(level.p)
    ]
    is_one = by_level[0].unit == "seeds"
    ranked = "runs, seed by seed" if is_one else "median over seeds"
    marks = f"Friedman: {'; '.join(tests)}." if tests else ""
    note = (
        f"Average rank of the method's {ranked}; 1 is best. Friedman's test that all are equal, corrected for ties; "
        "Nemenyi's critical difference (5 %)."
    )
    return Table(
        "wilcoxon-ranks", f"Average ranks{'' if is_one else ' of medians'} (1 is best)", note, data, shown, None, marks
    )


def critical_difference(comparison: Comparison, width: float | None = None) -> Scene | None:
    """Demšar's diagram: average ranks of medians, with bars over methods that Wilcoxon's test does not tell apart.

    None without such a test.

    Args:
        width: see `critical_differences`.
    """
    tests = comparison.rank_tests[0]
    if not tests.pairs or tests.count < 2:
        return None
    bars = [Bar(clique) for clique in cliques(tests.ranks, tests.holm < LEVEL)]
    title = f"Wilcoxon, Holm: average rank over {blocks(tests)}"
    every = looks(comparison.curves.methods)
    return critical_differences(tests.ranks, bars, comparison.methods, title, every, width=width)
