"""Every pair of methods, with the sizes of effects."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nasbench.base.numbers import fixed
from nasbench.results.curves import Array
from nasbench.results.display.table import Table
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.statistics.comparison import CLAIMS, CONSTRAINTS, SETTINGS, Comparison
from nasbench.results.statistics.verdicts import Pair
from nasbench.results.subject import Subject
from nasbench.results.verdict import rows

_LOWEST = 1e-3  # smaller normalised regrets are raised to this before ratios are taken


@PARTS.register("pairs")
@plain(10)
def part(subject: Subject) -> Part | None:
    """Every pair of methods; None if no two methods share a setting."""
    comparison = subject.comparison
    return Part("pairs", "Every pair of methods", [table(comparison)]) if comparison.overall.pairs else None


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
        "As against the leader above. Of the 5 % of reports on identical methods that may err, these pairs have "
        f"{5 * comparison.share:.3g}, single constraints {5 * CONSTRAINTS:g}, claims of papers {5 * CLAIMS:g}, single "
        f"settings {5 * SETTINGS:g}. ties: pairs of runs. log ratio: median over settings of log10 of the ratio of "
        "normalised regrets, above 0 where the first is better. Not significant is not equivalent."
    )
    marks = rows.marks(pairs, comparison.overall.tested)
    return Table("pairs", "Every pair of methods", note, data, shown, bold, marks)


def log_ratios(comparison: Comparison, pairs: list[Pair]) -> Array:
    """Median over settings of log10 (other's regret / ours), for normalised regrets of medians; NaN if unknown."""
    curves = comparison.curves
    regret = np.maximum((comparison.medians - curves.oracle[:, None]) / curves.span[:, None], _LOWEST)
    middles = []
    for pair in pairs:
        ratios = np.log10(regret[pair.settings, pair.b] / regret[pair.settings, pair.a])
        middles.append(float(np.nanmedian(ratios)) if np.isfinite(ratios).any() else np.nan)
    return np.array(middles)
