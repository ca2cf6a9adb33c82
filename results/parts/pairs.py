"""Every pair of methods: a table, the multi-comparison matrix, and the critical-difference diagram."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from nasbench.base.numbers import count, fixed
from nasbench.results.curves import Array
from nasbench.results.display.diagrams import Bar, PairCell, critical_differences, matrix
from nasbench.results.display.look import looks
from nasbench.results.display.scene import Scene
from nasbench.results.display.table import Table
from nasbench.results.parts import rows
from nasbench.results.parts.part import Drawn, Part, Subject
from nasbench.results.parts.standing import called
from nasbench.results.statistics.comparison import CLAIMS, CONSTRAINTS, SETTINGS, Comparison
from nasbench.results.statistics.verdicts import Pair
from nasbench.results.statistics.wilcoxon import cliques

_LOWEST = 1e-3  # smaller normalised regrets are raised to this before ratios are taken


def part(subject: Subject) -> Part | None:
    """The part; None if no two methods share a setting."""
    comparison = subject.comparison
    if not comparison.overall.pairs:
        return None
    return Part("pairs", "Every pair of methods", [table(comparison)], figures=partial(_figures, comparison))


def table(comparison: Comparison) -> Table:
    """Every pair, the better method first."""
    pairs = [p if p.these.value >= 0.5 else p.turned() for p in comparison.overall.pairs.values()]
    pairs.sort(key=lambda pair: (pair.is_identical, -pair.these.value))
    data = pd.DataFrame([rows.facts(pair, comparison.methods) for pair in pairs])
    data["log10_ratio"] = log_ratios(comparison, pairs)
    shown = data[["method", "other"]].assign(**rows.shown(pairs))
    shown["ties %"] = [f"{100 * pair.tied:.0f}" for pair in pairs]
    shown["log ratio"] = data["log10_ratio"].map(fixed)
    bold = np.zeros(shown.shape, bool)
    bold[:, 2] = [pair.verdict != 0 for pair in pairs]
    note = (
        f"{rows.BETTER} It does not depend on which other methods take part{rows.unless(comparison)}. {rows.THESE} "
        f"{rows.NEW} p: after Holm's correction over all pairs that are not identical, and times "
        f"{1 / comparison.share:.3g}: of the 5 % of "
        f"reports on identical methods that may err, these pairs have {5 * comparison.share:.3g}, verdicts under "
        f"single constraints {5 * CONSTRAINTS:g}, claims of papers {5 * CLAIMS:g}, single settings {5 * SETTINGS:g}. "
        "w/t/l: benchmarks on which the probability is above, at or below one half. ties: pairs of runs that tie. log "
        "ratio: median over settings of log10 of the ratio of normalised regrets of the medians (those below 0.001 "
        "count as 0.001), above 0 where the first is better: an effect size, and no test rests on it. Not significant "
        "is not equivalent."
    )
    return Table(
        "pairs", "Every pair of methods", note, data, shown, bold, rows.marks(pairs, comparison.overall.tested)
    )


def log_ratios(comparison: Comparison, pairs: list[Pair]) -> Array:
    """Median over settings of log10 (other's regret / ours), for normalised regrets of medians; NaN if unknown."""
    curves = comparison.curves
    regret = np.maximum((comparison.medians - curves.oracle[:, None]) / curves.span[:, None], _LOWEST)
    middles = []
    for pair in pairs:
        ratios = np.log10(regret[pair.settings, pair.b] / regret[pair.settings, pair.a])
        middles.append(float(np.nanmedian(ratios)) if np.isfinite(ratios).any() else np.nan)
    return np.array(middles)


def _figures(comparison: Comparison) -> Iterator[Drawn]:
    yield ("matrix",), _matrix(comparison)
    if len(comparison.overall.ranks) > 1:
        yield ("cd",), critical_difference(comparison)


def _matrix(comparison: Comparison) -> Scene:
    overall = comparison.overall
    ranked = [rank.method for rank in overall.ranks] or [kind[0] for kind in overall.kinds]
    kinds = {kind[0]: kind for kind in overall.kinds}
    names = [" = ".join(comparison.methods[m] for m in kinds[first]) for first in ranked]
    cells = [[_cell(overall.pair(a, b) if a != b else None) for b in ranked] for a in ranked]
    title = "probability that the row is better than the column; benchmarks won/tied/lost"
    return matrix(cells, names, names, title)


def _cell(pair: Pair | None) -> PairCell:
    if pair is None:
        return PairCell(np.nan, "")
    stars = "*" * (abs(pair.verdict) + abs(pair.verdict_new))
    text = f"{fixed(pair.these.value)}{stars}\n{pair.wins}/{pair.ties}/{pair.losses}"
    return PairCell(pair.these.value, text, is_bold=pair.verdict != 0)


def critical_difference(comparison: Comparison, width: float | None = None) -> Scene:
    """The critical-difference diagram of expected ranks.

    Thick bars join methods without a significant difference on these benchmarks, thin bars on new tasks.

    Args:
        width: see `critical_differences`.
    """
    overall = comparison.overall
    methods = [rank.method for rank in overall.ranks]
    values = np.array([rank.these.value for rank in overall.ranks])
    size = len(methods)
    pair_of = [[overall.pair(a, b) if a != b else None for b in methods] for a in methods]
    bars = []
    if overall.ranks[0].these.known:
        for is_thick in (True, False):
            if is_thick or overall.unit:
                differ = np.array([[p is not None and _differ(p, is_thick) for p in row] for row in pair_of])
                bars += [Bar(clique, is_thick) for clique in cliques(values, differ)]
    whiskers = [
        np.array([estimate.interval(1.0, size) for estimate in estimates])
        for estimates in ([r.these for r in overall.ranks], [r.new for r in overall.ranks])
    ]
    title = (
        f"expected rank, {count(len(overall.complete), 'setting')}; bars: no significant difference, thick on these "
        "benchmarks, thin on new tasks"
    )
    names = tuple(called(comparison, overall, m) for m in methods)
    every = looks(comparison.curves.methods)
    return critical_differences(values, bars, names, title, [every[m] for m in methods], whiskers, width=width)


def _differ(pair: Pair, on_these: bool) -> bool:
    return (pair.verdict if on_these else pair.verdict_new) != 0
