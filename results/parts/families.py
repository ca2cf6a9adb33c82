"""The baseline against every other method, space by space and family by family: wins and sizes of effects."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from nasbench.base.numbers import fixed, intervals, number
from nasbench.results.display.table import Table
from nasbench.results.parts.pairs import log_ratios
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.verdicts import Verdicts
from nasbench.results.statistics.wilcoxon import relative_differences
from nasbench.results.subject import Subject
from nasbench.results.verdict import rows

_OF_NO_VERDICT = [
    *("method", "p", "p_holm", "p_new", "p_new_holm", "floor", "low_simultaneous", "high_simultaneous"),
    *("p_equivalent", "equivalent", "equal_on_average"),
]


@PARTS.register("families")
@plain()
def part(subject: Subject) -> Part | None:
    """The part; None if there is only one space and one family."""
    comparison = subject.comparison
    settings = comparison.curves.settings
    scopes = {"space": comparison.by_space, "family": comparison.by_family}
    scopes = {level: scope for level, scope in scopes.items() if settings[level].nunique() > 1}
    if not scopes or not comparison.against_baseline(comparison.overall):
        return None
    tables = [_table(comparison, level, scope) for level, scope in scopes.items()]
    return Part("families", "Space by space, family by family", tables)


def _table(comparison: Comparison, level: str, scopes: Mapping[str, Verdicts]) -> Table:
    """Wins, losses and effects of the baseline in each space or family."""
    data = pd.DataFrame(
        [row for name, verdicts in scopes.items() for row in _rows(comparison, {level: name}, verdicts)]
    ).drop(columns=_OF_NO_VERDICT)
    data = data.rename(columns={"other": "against"})
    ties = data["settings"] - data["won"] - data["lost"]
    wins = data["won"].astype(str) + "/" + ties.astype(str) + "/" + data["lost"].astype(str)
    shown = pd.DataFrame(
        {
            level: data[level],
            "against": data["against"],
            "better": data["better"].map(fixed).mask(data["identical"], "="),
            "95 % CI": intervals(data["low"], data["high"]),
            "settings w/t/l": wins,
            "difference %": (100 * data["relative_difference"]).map(lambda v: number(v, 2)),
            "log ratio": data["log10_ratio"].map(fixed),
        }
    )
    note = (
        f"{rows.BETTER} Above 0.5 the baseline is better. 95 % CI: for these benchmarks and this row alone; no verdict "
        f"is given for a single {level}. settings: those on which the baseline's median is lower, equal or higher. "
        f"difference: median over the settings of the {level} of (other - baseline) / max(|other|, |baseline|) of the "
        "medians; objectives of some families span decades, of others a few percent, so no average over families is "
        "made of it. log ratio: median of log10 of the ratio of normalised regrets of the medians (below 0.001 as "
        "0.001)."
    )
    plural = {"space": "spaces", "family": "families"}[level]
    title = f"{level.capitalize()} by {level}: {comparison.methods[comparison.baseline]} against the others"
    return Table(plural, title, note, data, shown)


def _rows(comparison: Comparison, place: dict[str, str], verdicts: Verdicts) -> list[dict[str, object]]:
    """One row per other method.

    Args:
        place: the level and the name of the scope, in the first column of its rows.
    """
    pairs = comparison.against_baseline(verdicts)
    records = []
    for pair, ratio in zip(pairs, log_ratios(comparison, pairs), strict=True):
        ours, theirs = comparison.medians[pair.settings][:, [pair.a, pair.b]].T
        differences = relative_differences(theirs, ours)
        records.append(
            place
            | rows.facts(pair, comparison.methods)
            | {"relative_difference": float(np.median(differences)), "log10_ratio": ratio}
            | {"won": int((differences > 0).sum()), "lost": int((differences < 0).sum())}
        )
    return records
