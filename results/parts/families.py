"""The baseline against every other method, family by family: wins and sizes of effects."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nasbench.results.display.numbers import fixed, intervals, number
from nasbench.results.display.table import Table
from nasbench.results.parts import rows
from nasbench.results.parts.pairs import log_ratios
from nasbench.results.parts.part import Part, Subject
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.summaries import medians


def part(subject: Subject) -> Part | None:
    """None where there is one family."""
    comparison = subject.comparison
    if comparison.curves.families < 2 or not comparison.against_baseline(comparison.overall):
        return None
    return Part("families", "Family by family", [table(comparison)])


def table(comparison: Comparison) -> Table:
    """Wins, losses, and effects of the baseline in each family."""
    curves = comparison.curves
    middle = medians(curves, curves.at((comparison.end,)))[:, :, 0]
    records = []
    for family, verdicts in comparison.by_family.items():
        pairs = comparison.against_baseline(verdicts)
        for pair, ratio in zip(pairs, log_ratios(comparison, pairs), strict=True):
            differences = rows.differences(curves, middle, pair)
            records.append(
                {"family": family}
                | rows.facts(pair, comparison.methods)
                | {"relative_difference": float(differences.median()), "log10_ratio": ratio}
                | {"won": int((differences > 0).sum()), "lost": int((differences < 0).sum())}
            )
    data = pd.DataFrame(records).drop(columns=["method", "p", "p_holm", "p_alike", "p_alike_holm", "floor"])
    data = data.rename(columns={"other": "against"})
    even = data["settings"] - data["won"] - data["lost"]
    wins = data["won"].astype(str) + "/" + data["lost"].astype(str) + "/" + even.astype(str)
    shown = pd.DataFrame(
        {
            "family": data["family"],
            "against": data["against"],
            "better": data["better"].map(fixed).mask(data["identical"], "="),
            "95 % here": intervals(data["low"], data["high"]),
            "settings w/l/e": wins,
            "difference %": (100 * data["relative_difference"]).map(lambda v: number(v, 2)),
            "log ratio": data["log10_ratio"].map(fixed),
        }
    )
    note = (
        f"{rows.BETTER} Above 0.5 the baseline is better. {rows.HERE} No verdict is given family by family. settings: "
        "those on which the baseline's median is lower, higher or equal. difference: median over the family's settings "
        "of (other - baseline) / max(|other|, |baseline|) of the medians; objectives of some families span decades, of "
        "others a few percent, so no average over families is made of it. log ratio: median of log10 of the ratio of "
        "normalised regrets of the medians (below 0.001 as 0.001)."
    )
    title = f"Family by family: {comparison.methods[comparison.baseline]} against the others"
    return Table("families", title, note, data, shown, np.zeros(shown.shape, bool))
