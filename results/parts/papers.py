"""The tests that papers do: over settings, as if these were independent. A secondary part."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from nasbench.results.display.diagrams import Bar, critical_differences
from nasbench.results.display.look import looks
from nasbench.results.display.numbers import count, fixed, p_value, point
from nasbench.results.display.table import Table
from nasbench.results.parts.part import Drawn, Part, Subject
from nasbench.results.statistics.classical import Omnibus, cliques, compare, omnibus
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.summaries import medians

_INTRO = (
    "Papers of this field print the tests below, and their claims rest on them; they stand here for comparison with "
    "those papers. They take settings (benchmark × constraint) for independent tests. Settings of one benchmark, and "
    "benchmarks of one family, are not: on methods that are alike on average, but not on each family, such a test "
    "finds a difference in a third of all reports. The verdicts of this report are those above."
)


def part(subject: Subject) -> Part | None:
    """None where there is one method."""
    comparison = subject.comparison
    if len(comparison.methods) < 2:
        return None
    found = _omnibus(comparison)
    tables = [baseline(comparison), pairs(comparison, found)]
    return Part("papers", "As papers do it", tables, figures=partial(_figures, comparison, found), intro=_INTRO)


def baseline(comparison: Comparison) -> Table:
    """The baseline against every other method at the checkpoints: wins, Wilcoxon, Bayes."""
    curves = comparison.curves
    found = compare(curves, comparison.baseline, comparison.checkpoints)
    data = found.assign(method=[curves.names[m] for m in found["method"]]).rename(columns={"method": "against"})
    shown = pd.DataFrame(
        {
            "against": data["against"],
            "at": [point(at, curves.unit) for at in data["point"]],
            "w/l/t": data["wins"].astype(str) + "/" + data["losses"].astype(str) + "/" + data["ties"].astype(str),
            "p": data["p_holm"].map(p_value),
            "floor": data["floor"].map(p_value),
            "p benches": data["p_benches_holm"].map(p_value),
            "P(better)": data["better"].map(fixed),
            "P(equal)": data["equivalent"].map(fixed),
            "P(worse)": data["worse"].map(fixed),
        }
    )
    note = (
        "w/l/t: settings on which the baseline's median over seeds is lower, higher, or within 1e-9 relatively. p: "
        "Wilcoxon's signed-rank test over settings, two-sided, on (other - baseline) / max(|other|, |baseline|) of "
        "the medians, zeros dropped; after Holm's correction over the other methods at each point. floor: p before "
        "the correction if these very differences all had one sign. p benches: the same with one difference a "
        "benchmark, the mean of its settings'. P: the Bayesian signed-rank test over settings, with one standard "
        "deviation of the table's repetition noise as what makes no practical difference; - for fewer than 5 "
        "settings whose noise is known, and before the end. A run that has found nothing feasible counts with the "
        "worst feasible value of its setting."
    )
    title = f"Baseline {curves.names[comparison.baseline]} as papers do it: wins / losses / ties over settings"
    return Table("papers-baseline", title, note, data, shown)


def pairs(comparison: Comparison, found: Omnibus) -> Table:
    """Every pair by Nemenyi's and Wilcoxon's test."""
    methods = comparison.methods
    rows = [
        (a, b, found.ranks[i], found.ranks[j], found.nemenyi[i, j], found.wilcoxon[i, j], found.benches[i, j])
        for i, a in enumerate(methods)
        for j, b in enumerate(methods)
        if i < j
    ]
    names = ["method", "other", "rank", "rank_other", "p_nemenyi", "p_wilcoxon_holm", "p_wilcoxon_benches_holm"]
    data = pd.DataFrame(rows, columns=names)
    shown = pd.DataFrame(
        {
            "method": data["method"],
            "other": data["other"],
            "rank": data["rank"].map(fixed),
            "rank other": data["rank_other"].map(fixed),
            "Nemenyi": data["p_nemenyi"].map(p_value),
            "Wilcoxon": data["p_wilcoxon_holm"].map(p_value),
            "benches": data["p_wilcoxon_benches_holm"].map(p_value),
        }
    )
    note = (
        "rank: average over settings of the rank of the method's median over seeds. Friedman's test that all "
        f"methods are alike: p = {p_value(found.p)} over {count(found.settings, 'setting')}. Nemenyi: p of his test "
        f"after it; his critical difference of average ranks at the 5 % level is {fixed(found.critical_difference)}. "
        "Wilcoxon: p of the signed-rank test over settings, two-sided, after Holm's correction over all pairs; "
        "benches: the same with one difference a benchmark, the mean of its settings'. Bars in the diagrams join "
        "methods of which no two differ at the 5 % level by the test that is named."
    )
    return Table("papers-pairs", "Every pair as papers do it", note, data, shown)


def _omnibus(comparison: Comparison) -> Omnibus:
    curves = comparison.curves
    values = medians(curves, curves.at((comparison.end,)))[:, :, 0]
    return omnibus(values, curves.settings["bench"].to_numpy(object))


def _figures(comparison: Comparison, found: Omnibus) -> Iterator[Drawn]:
    if np.isnan(found.ranks).any():
        return
    at = f"average rank of medians over {count(found.settings, 'setting')}"
    for name, title, p, difference in (
        ("cd-nemenyi", "Nemenyi, as papers do it", found.nemenyi, found.critical_difference),
        ("cd-wilcoxon", "Wilcoxon, Holm, as papers do it", found.wilcoxon, None),
    ):
        bars = [Bar(clique) for clique in cliques(found.ranks, p < 0.05)]
        own = looks(comparison.curves.methods)
        heading = f"{title}: {at}"
        figure = critical_differences(found.ranks, bars, comparison.methods, heading, own, difference=difference)
        yield (name,), figure
