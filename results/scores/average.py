"""The score `average`: the mean over everything that a run has evaluated."""

from __future__ import annotations

import numpy as np

from nasbench.results.scores._mean import MeanScore
from nasbench.results.scores.score import Array, Incumbents


class Average(MeanScore):
    """The mean over all evaluated configurations, for methods that draw from what they have learnt (one-shot search).

    Full evaluations count, without those that violate a constraint; one without a mean counts as observed.
    """

    name = "average"
    phrase = "mean over all configurations that a run has evaluated"
    note = (
        "What is compared is not the incumbent but the mean over all configurations that a run has evaluated: an "
        "estimate of the expectation over what a search draws"
    )
    columns = (*MeanScore.columns, "evaluation", "objective", "feasible")

    def values(self, incumbents: Incumbents) -> Array | None:
        columns = incumbents.columns
        scores = np.where(np.isnan(columns["score"]), columns["objective"], columns["score"])
        counts = (
            incumbents.is_whole & (columns["feasible"] == 1) & (columns["score_feasible"] != 0) & np.isfinite(scores)
        )
        values = np.full(len(scores), np.nan)
        starts = np.flatnonzero(columns["evaluation"] == 1).tolist()
        for run in map(slice, starts, [*starts[1:], len(scores)]):
            number = np.cumsum(counts[run])
            total = np.cumsum(np.where(counts[run], scores[run], 0))
            np.divide(total, number, out=values[run], where=number > 0)
        return values
