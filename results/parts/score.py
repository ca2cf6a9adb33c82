"""What changes where observed values are compared in place of scores."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nasbench.results.display.numbers import count, fixed, listed
from nasbench.results.display.table import Table
from nasbench.results.parts.part import Part, Subject
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.statistics.summaries import luck

_MOST_NAMED = 8


def part(subject: Subject) -> Part | None:
    """None where no means over repetitions are known."""
    comparison = subject.comparison
    if not comparison.curves.has_means:
        return None
    mean, observed = comparison, comparison.otherwise
    if comparison.score == "observed":
        mean, observed = observed, mean
    return Part("score", "Score and observed value", [table(mean, observed)])


def table(mean: Comparison, observed: Comparison) -> Table:
    """Ranks by both, how lucky incumbents were, and the verdicts that differ."""
    methods = mean.methods
    data = luck(mean.curves, mean.end)
    data["method"] = methods
    for name, comparison in (("score", mean), ("observed", observed)):
        ranks = [comparison.rank_of(m) for m in range(len(methods))]
        data[f"rank_{name}"] = [np.nan if r is None else r.here.value for r in ranks]
    shown = pd.DataFrame(
        {
            "method": data["method"],
            "rank": data["rank_score"].map(fixed),
            "observed": data["rank_observed"].map(fixed),
            "change": (data["rank_observed"] - data["rank_score"]).map(_signed),
            "luck %": (100 * data["optimism"]).map(lambda v: fixed(v, 1)),
            "violates %": (100 * data["violates"]).map(lambda v: fixed(v, 1)),
        }
    )
    note = (
        "rank: expected rank by the score, the incumbent's mean over the table's repetitions; observed: by the value "
        "that the method saw, and chose the incumbent for. luck: how far the observed value lies below the score, in % "
        "of the score, median over runs; violates: incumbents that were observed to be feasible, and violate a "
        "constraint in the mean."
    )
    marks = (
        f"This report compares the {'score' if mean.score == 'mean' else 'observed value'}. {_verdicts(mean, observed)}"
    )
    return Table("score", "Expected ranks by score and by observed value", note, data, shown, None, marks)


def _verdicts(mean: Comparison, observed: Comparison) -> str:
    """How many verdicts change between the two."""
    changed = []
    for (a, b), pair in mean.overall.pairs.items():
        other = observed.overall.pairs[a, b]
        if pair.verdict != other.verdict:
            changed.append(f"{mean.methods[a]} and {mean.methods[b]} ({_word(pair.verdict)}, {_word(other.verdict)})")
    if not changed:
        return "No verdict on a pair changes with it."
    more = f", and {len(changed) - _MOST_NAMED} more" if len(changed) > _MOST_NAMED else ""
    total = count(len(mean.overall.pairs), "verdict")
    return f"{len(changed)} of {total} differ (score, observed): {listed(changed[:_MOST_NAMED])}{more}."


def _word(verdict: int) -> str:
    return {1: "better", -1: "worse", 0: "not told apart"}[verdict]


def _signed(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:+.2f}"
