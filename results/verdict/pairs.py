"""The pairs of the leader, or of the baseline, with every other method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nasbench.base.numbers import p_value, point
from nasbench.results.display.panels import Panel, Series
from nasbench.results.display.table import Table, shortened
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.verdicts import Pair
from nasbench.results.verdict import rows
from nasbench.results.verdict.limits import blocks


def table(comparison: Comparison) -> Table | None:
    """The probability that the baseline is better than each other method, with both tests; None without a pair."""
    pairs = comparison.against_baseline(comparison.overall)
    if not pairs:
        return None
    earlier = comparison.checkpoints[:-1]
    values = comparison.improvements(comparison.curves.at(earlier))
    data = pd.DataFrame([rows.facts(pair, comparison.methods) for pair in pairs]).drop(columns="method")
    data = data.rename(columns={"other": "against"})
    for i, at in enumerate(earlier):
        data[f"better_at_{point(at, comparison.curves.unit)}"] = [values[pair.b, i] for pair in pairs]
    data["p_wilcoxon"] = p_beside(comparison, pairs)
    shown = pd.DataFrame({"against": data["against"]}).assign(**rows.shown(pairs))
    marks = rows.marks(pairs, comparison.overall.tested)
    if data["p_wilcoxon"].notna().any():
        cells = ["=" if p.is_identical else p_value(w) for p, w in zip(pairs, data["p_wilcoxon"], strict=True)]
        shown.insert(list(shown).index("p") + 1, "Wilcoxon", cells)
        over = blocks(comparison.rank_tests[0])
        marks += f" Wilcoxon: p of the signed-rank test over {over} (Holm)."
    bold = np.zeros(shown.shape, bool)
    bold[:, list(shown).index("better")] = [pair.verdict != 0 for pair in pairs]
    note = f"{rows.BETTER} {rows.THESE} {rows.NEW} Verdicts are given at the end of the budget."
    title = f"Which pairs differ? Probability that {comparison.methods[comparison.baseline]} is better"
    return Table("comparison", title, note, data, shown, bold, marks)


def p_beside(comparison: Comparison, pairs: Sequence[Pair]) -> list[float]:
    """p (Holm) of the signed-rank test of each pair over `rank_tests[0]`; NaN where there is none."""
    tests = comparison.rank_tests[0]
    is_tested = bool(tests.pairs) and tests.count > 1
    return [float(tests.holm[pair.a, pair.b]) if is_tested else np.nan for pair in pairs]


def over_budget(comparison: Comparison, points: int) -> Panel:
    """Probability that the baseline is better than each other method, against the budget."""
    curves = comparison.curves
    at = comparison.along(points)
    values = comparison.improvements(curves.at(at))
    name = shortened(comparison.methods, 24)[comparison.baseline]
    series = tuple(Series(m, values[m]) for m in range(len(comparison.methods)) if np.isfinite(values[m]).any())
    label = f"probability that {name} is better"
    return Panel(f"{name} against", curves.unit, label, at, series, (-0.02, 1.02), reference=0.5)
