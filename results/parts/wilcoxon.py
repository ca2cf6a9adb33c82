"""Wilcoxon signed-rank tables of every pair, with rank tables and heat maps, compared with the report's verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from nasbench.base.numbers import count, fixed, listed, p_is, p_value
from nasbench.results.display.diagrams import Bar, PairCell, critical_differences, matrix
from nasbench.results.display.look import looks
from nasbench.results.display.scene import Scene
from nasbench.results.display.table import Table
from nasbench.results.parts.part import Drawn, Part, Subject
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.estimates import FEWEST, LEVEL, cannot_differ
from nasbench.results.statistics.verdicts import Pair
from nasbench.results.statistics.wilcoxon import RankTests, cliques

_MOST_NAMED = 3
_DARKEST = 1e-3  # p with the darkest colour

_INTRO_OF_SEEDS = (
    "What papers of this field print where there is one setting: Wilcoxon's signed-rank test of each pair over seeds, "
    "after Holm's correction. Runs with the same seed draw their noise by the same numbers, and lack the same "
    "repetition: they are paired. The verdicts of this report are those above; they do not pair."
)
_INTRO = (
    "What papers of this field print: Wilcoxon's signed-rank test of each pair on the medians over seeds, after "
    "Holm's correction. It takes its blocks for independent tasks. Settings (benchmark × constraint) of one "
    "benchmark, and benchmarks of one search space, are not: on methods that are equal on average, but not in each "
    "space, the test over settings finds a difference in a third of all reports. So it stands here over settings, "
    "over benchmarks and over search spaces; the verdicts of this report are those above."
)


def part(subject: Subject) -> Part | None:
    """The part; None if no setting has all methods, or the only one has a single seed of them."""
    comparison = subject.comparison
    by_level = comparison.rank_tests
    if not by_level[0].pairs or by_level[0].count < 2:
        return None
    of_seeds = by_level[0].unit == "seeds"
    beside = [] if of_seeds else [side_by_side(comparison, by_level)]
    return Part(
        "wilcoxon",
        "Wilcoxon signed-rank",
        [pairs(comparison, by_level), *beside, ranks(comparison, by_level)],
        figures=partial(_figures, comparison, by_level),
        sentences=sentences(comparison, by_level),
        intro=_INTRO_OF_SEEDS if of_seeds else _INTRO,
    )


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
    kinds = of_settings["test"].unique()
    of_what = "values of runs with the same seed" if unit == "seeds" else "medians"
    several = "" if unit == "seeds" else "The CSV has the same over benchmarks and over search spaces. "
    note = (
        f"Two-sided test of the relative differences of {of_what}, (other - method) / max(|other|, |method|), over "
        f"{unit}; those within 1e-7 are zero and dropped (scipy's zero_method wilcox). n: differences that are not "
        "zero. R+, R-: sums of the ranks of positive differences (the method is better) and of negative ones; W: the "
        "smaller one. r: matched-pairs rank-biserial correlation, (R+ - R-) / (R+ + R-). "
        f"{'All p are exact' if list(kinds) == ['exact'] else 'The CSV says which p are exact'}: those of up to 50 "
        "differences (13 where sizes tie); beyond that, the normal approximation. p (Holm): after correction over all "
        f"pairs. {several}A run that has found nothing feasible "
        "counts with the worst feasible value of its setting."
    )
    return Table("wilcoxon", f"Wilcoxon signed-rank test over {blocks(by_level[0])}", note, data, shown)


def blocks(level: RankTests) -> str:
    """What a test is over, with its number: `12 settings`."""
    return count(level.count, level.unit[:-1])


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


def p_beside(comparison: Comparison, pairs: Sequence[Pair]) -> list[float]:
    """p (Holm) of the signed-rank test of each pair over `rank_tests[0]`; NaN where there is none."""
    tests = comparison.rank_tests[0]
    is_tested = bool(tests.pairs) and tests.count > 1
    return [float(tests.holm[pair.a, pair.b]) if is_tested else np.nan for pair in pairs]


def side_by_side(comparison: Comparison, by_level: Sequence[RankTests]) -> Table:
    """p of every pair on the three levels, beside the report's verdict."""
    rows, shown = [], []
    for a, b in by_level[0].pairs:
        pair = comparison.overall.pairs[a, b]
        names = {"method": comparison.methods[a], "other": comparison.methods[b]}
        facts: dict[str, Any] = {}
        cells = {}
        for level in by_level:
            facts |= {f"r_{level.unit}": level.pairs[a, b].effect, f"p_holm_{level.unit}": level.holm[a, b]}
            cells[level.unit] = p_value(level.holm[a, b])
        verdicts = {"verdict": pair.verdict, "verdict_new": pair.verdict_new}
        rows.append(names | facts | {"better": pair.these.value} | verdicts)
        shown.append(names | cells | {"verdict": _verdict(pair)})
    data = pd.DataFrame(rows)
    note = (
        "p of the signed-rank test after Holm's correction over all pairs, with one difference per setting, per "
        "benchmark (the mean of its settings'), and per search space (the mean of its families'). verdict: that of "
        "this report on these benchmarks, for the method against the other (5 %, Holm); it counts all runs, not "
        "medians, and gives search spaces equal weights."
    )
    title = "Wilcoxon signed-rank test over settings, benchmarks and search spaces: p (Holm)"
    return Table("wilcoxon-levels", title, note, data, pd.DataFrame(shown), None, _floors(by_level))


def _verdict(pair: Pair) -> str:
    if pair.is_identical:
        return "="
    if np.isnan(pair.p_these):
        return "-"
    return {1: "better", -1: "worse", 0: "not significant"}[pair.verdict]


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
        f"Average rank of the method's {ranked} (1 is best); in a benchmark or a space, methods are ranked by "
        "the mean of their ranks inside it. Friedman's test (1937) that all methods are equal, corrected for ties; "
        "the critical difference of average ranks is Nemenyi's at the 5 % level."
    )
    return Table(
        "wilcoxon-ranks", f"Average ranks{'' if is_one else ' of medians'} (1 is best)", note, data, shown, None, marks
    )


def sentences(comparison: Comparison, by_level: Sequence[RankTests]) -> list[str]:
    """The number of pairs that differ on each level, and disagreements with the report's verdicts."""
    settings = by_level[0]
    counts = {level.unit: sum(level.verdict(*key) != 0 for key in level.pairs) for level in by_level}
    over = list(map(blocks, by_level))
    parts = [f"{counts[level.unit]} over {blocks}" for level, blocks in zip(by_level, over, strict=True)]
    twins = any(pair.is_identical for pair in comparison.overall.pairs.values())
    total = count(len(settings.pairs), "pair") + (" (identical ones included)" if twins else "")
    parts[0] = parts[0].replace(" over", f" of {total} differ over", 1)
    of_what = "runs paired by seed" if settings.unit == "seeds" else "medians"
    told = f"Wilcoxon signed-rank test on {of_what} (5 %, Holm): {listed(parts)}."
    if settings.unit == "seeds":
        return [f"{told} {_floors(by_level)}".rstrip()]
    if not comparison.overall.tested:
        are_identical = all(pair.is_identical for pair in comparison.overall.pairs.values())
        why = "all methods are identical" if are_identical else f"fewer than {FEWEST} seeds"
        return [f"{told} This report gives no verdict: {why}."]
    disagreements: dict[str, list[str]] = {"more": [], "fewer": [], "opposite": []}
    further = 0
    for (a, b), pair in comparison.overall.pairs.items():
        theirs = settings.verdict(a, b) if (a, b) in settings.pairs else 0
        further += theirs not in (0, pair.verdict_new)
        if not pair.is_identical and pair.verdict != theirs:
            kind = "more" if not pair.verdict else "fewer" if not theirs else "opposite"
            name = f"{comparison.methods[a]} and {comparison.methods[b]} ({p_is(settings.holm[a, b])})"
            disagreements[kind].append(name)
    spaces = comparison.curves.settings["space"].iloc[comparison.overall.complete]
    share = spaces.value_counts(normalize=True)
    shared = settings.count > len(share)  # otherwise both tests give each search space the same weight
    crowded = f"{share.index[0]} alone has {100 * share.iloc[0]:.0f} % of them"
    reasons = {
        "more": "Over settings it finds a difference where this report finds none: {}. It takes settings for "
        "independent tasks of equal weight"
        + (f"; {crowded}, and settings of one search space are no independent witnesses." if shared else "."),
        "fewer": f"{_floors(by_level[:1])} This report finds a difference: {{}}."
        if _floors(by_level[:1])
        else "It finds none where this report finds a difference: {}. It counts one median per setting, this report "
        f"every run{', and gives each search space the same weight' if shared else ''}.",
        "opposite": "It finds the opposite of this report: {}."
        + (f" It gives each setting the same weight, this report each search space; {crowded}." if shared else ""),
    }
    said = [told]
    if further and shared:
        said.append(
            f"Said of new tasks, {further} of those over settings would go further than this report: the test takes "
            f"{count(settings.count, 'setting')} for independent tasks, and they come from "
            f"{count(len(share), 'search space')}."
        )
    for kind, names in disagreements.items():
        if names:
            rest = f"; and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            said.append(reasons[kind].format("; ".join(names[:_MOST_NAMED]) + rest))
    return said


def _figures(comparison: Comparison, by_level: Sequence[RankTests]) -> Iterator[Drawn]:
    for level in by_level:
        yield (f"wilcoxon-{level.unit}",), _heat_map(comparison, level)
    settings = by_level[0]
    at = f"average rank {'' if settings.unit == 'seeds' else 'of medians '}over {blocks(settings)}"
    for name, title, p, difference in (
        ("cd-wilcoxon", "Wilcoxon, Holm", settings.holm, None),
        ("cd-nemenyi", "Nemenyi", settings.nemenyi, settings.critical_difference),
    ):
        bars = [Bar(clique) for clique in cliques(settings.ranks, p < LEVEL)]
        method_looks = looks(comparison.curves.methods)
        heading = f"{title}: {at}"
        yield (
            (name,),
            critical_differences(
                settings.ranks, bars, comparison.methods, heading, method_looks, difference=difference
            ),
        )


def _heat_map(comparison: Comparison, level: RankTests) -> Scene:
    order = np.argsort(level.ranks, kind="stable").tolist()
    names = [comparison.methods[m] for m in order]
    cells = [[_cell(level, a, b) for b in order] for a in order]
    title = (
        f"Wilcoxon signed-rank over {level.count} {level.unit}: p (Holm), effect r; blue: the row is better, red: worse"
    )
    return matrix(cells, names, names, title)


def _cell(level: RankTests, a: int, b: int) -> PairCell:
    """The cell of a pair, darker for smaller p and white for p = 1."""
    test = level.pairs.get((min(a, b), max(a, b)))
    if test is None:
        return PairCell(np.nan, "")
    p = float(level.holm[a, b])
    effect = test.effect if a < b else -test.effect
    depth = 0.5 * min(1.0, np.log(max(p, _DARKEST)) / np.log(_DARKEST))
    value = 0.5 + np.sign(np.nan_to_num(effect)) * depth
    return PairCell(float(value), f"{p_value(p)}\n{fixed(effect)}", is_bold=p < LEVEL)
