"""The baseline over the budget as papers compare it, with settings as independent tests. A secondary part."""

from __future__ import annotations

import pandas as pd

from nasbench.base.numbers import fixed, p_value, point
from nasbench.results.display.table import Table
from nasbench.results.parts.part import Part, Subject
from nasbench.results.statistics.classical import compare
from nasbench.results.statistics.comparison import Comparison

_INTRO = (
    "Papers of this field print the comparison below, and their claims rest on it; it stands here beside theirs. It "
    "takes settings (benchmark × constraint) for independent tests, which settings of one search space are not. The "
    "verdicts of this report are those above."
)


def part(subject: Subject) -> Part | None:
    """The part; None if there is only one method."""
    if len(subject.comparison.methods) < 2:
        return None
    return Part("papers", "The baseline as papers compare it", [baseline(subject.comparison)], intro=_INTRO)


def baseline(comparison: Comparison) -> Table:
    """The baseline against every other method at the checkpoints: wins, Wilcoxon, Bayes."""
    curves = comparison.curves
    comparisons = compare(comparison)
    data = comparisons.assign(method=[curves.names[m] for m in comparisons["method"]]).rename(
        columns={"method": "against"}
    )
    shown = pd.DataFrame(
        {
            "against": data["against"],
            "at": [point(at, curves.unit) for at in data["point"]],
            "w/t/l": data["wins"].astype(str) + "/" + data["ties"].astype(str) + "/" + data["losses"].astype(str),
            "p": data["p_holm"].map(p_value),
            "floor": data["floor"].map(p_value),
            "p benches": data["p_benches_holm"].map(p_value),
            "P(better)": data["better"].map(fixed),
            "P(equal)": data["equivalent"].map(fixed),
            "P(worse)": data["worse"].map(fixed),
        }
    )
    note = (
        "w/t/l: settings on which the baseline's median over seeds is lower, within 1e-7 relatively, or higher. p: "
        "Wilcoxon's signed-rank test over settings, two-sided, on (other - baseline) / max(|other|, |baseline|) of "
        "the medians, zeros dropped; after Holm's correction over the other methods at each point. floor: p before "
        "the correction if these very differences all had one sign. p benches: the same with one difference a "
        "benchmark, the mean of its settings'. P: the Bayesian signed-rank test over settings, with one standard "
        "deviation of the table's repetition noise as what makes no practical difference; - for fewer than 5 "
        "settings whose noise is known, and before the end. A run that has found nothing feasible counts with the "
        "worst feasible value of its setting."
    )
    title = f"Baseline {curves.names[comparison.baseline]} as papers compare it: wins / ties / losses over settings"
    return Table("papers-baseline", title, note, data, shown)
