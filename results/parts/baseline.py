"""The baseline compared with every other method."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nasbench.base.numbers import p_value, point
from nasbench.results.display.panels import Chart, Panel, Series
from nasbench.results.display.table import Table, shortened
from nasbench.results.parts import rows, wilcoxon
from nasbench.results.parts.part import Part, Subject
from nasbench.results.statistics.comparison import Comparison

_LINES = (
    "Line: the probability that a run of the baseline is better than one of the method whose colour it has. Dotted "
    "line: 0.5, where neither is better."
)


def part(subject: Subject) -> Part | None:
    """The part; None if the baseline shares no setting with another method."""
    comparison = subject.comparison
    if not comparison.against_baseline(comparison.overall):
        return None
    chart = Chart("improvement", lambda points: [over_budget(comparison, points)], note=_LINES)
    return Part("baseline", "Against the baseline", [table(comparison)], [chart])


def table(comparison: Comparison) -> Table:
    """The probability that the baseline is better than each other method, at all checkpoints."""
    pairs = comparison.against_baseline(comparison.overall)
    name = comparison.methods[comparison.baseline]
    earlier = comparison.checkpoints[:-1]
    values = comparison.improvements(comparison.curves.at(earlier))
    data = pd.DataFrame([rows.facts(pair, comparison.methods) for pair in pairs]).drop(columns="method")
    data = data.rename(columns={"other": "against"})
    for i, at in enumerate(earlier):
        data[f"better_at_{point(at, comparison.curves.unit)}"] = [values[pair.b, i] for pair in pairs]
    beside = wilcoxon.p_beside(comparison, pairs)
    data["p_wilcoxon"] = beside
    shown = pd.DataFrame({"against": data["against"]}).assign(**rows.shown(pairs))
    if not np.isnan(beside).all():
        place = list(shown).index("p") + 1
        cells = ["=" if pair.is_identical else p_value(p) for pair, p in zip(pairs, beside, strict=True)]
        shown.insert(place, "Wilcoxon", cells)
    bold = np.zeros(shown.shape, bool)
    bold[:, list(shown).index("better")] = [pair.verdict != 0 for pair in pairs]
    note = (
        f"{rows.BETTER} Above 0.5 the baseline is better. {rows.THESE} {rows.NEW} Both p are after Holm's correction "
        "over all pairs of methods, not of these alone, so that a report shows one p for a pair. w/t/l: benchmarks on "
        "which the probability is above, at or below one half. The CSV and the chart have the probability at earlier "
        "points of the budget, without a verdict: the end decides."
    )
    title = f"Probability that {name} is better, at the end of the budget"
    marks = [rows.marks(pairs, comparison.overall.tested)]
    if "Wilcoxon" in shown:
        marks.append(f"Wilcoxon: p of the signed-rank test over {wilcoxon.blocks(comparison.rank_tests[0])} (Holm).")
    return Table("comparison", title, note, data, shown, bold, " ".join(filter(None, marks)), "terminal")


def over_budget(comparison: Comparison, points: int) -> Panel:
    """Probability that the baseline is better than each other method, against the budget."""
    curves = comparison.curves
    at = comparison.along(points)
    values = comparison.improvements(curves.at(at))
    name = shortened(comparison.methods, 24)[comparison.baseline]
    series = tuple(Series(m, values[m]) for m in range(len(comparison.methods)) if np.isfinite(values[m]).any())
    label = f"probability that {name} is better"
    return Panel(f"{name} against", curves.unit, label, at, series, (-0.02, 1.02), reference=0.5)
