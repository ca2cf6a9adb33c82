"""The score `unseen`: the incumbent's mean over the repetitions that had no part in choosing it."""

from __future__ import annotations

import numpy as np

from nasbench.results.scores.mean import Mean
from nasbench.results.scores.score import Array, Incumbents


class Unseen(Mean):
    """The mean over the repetitions of the incumbent that its run has not observed.

    Of several, a run never observes the last (`Setup.held_back`), so one is left. Where a configuration has a single
    repetition, or an older run observed all, the mean over all counts.
    """

    name = "unseen"
    phrase = "incumbent's mean over the repetitions that its run has not observed"
    note = (
        "What is compared is the incumbent's score: it is chosen by what was observed, and counts with the mean of its "
        "configuration over the table's repetitions that its run has not observed (or its only one); one "
        "that violates a constraint by the same repetitions counts as nothing found"
    )
    columns = (*Mean.columns, "unseen", "unseen_feasible")

    def values(self, incumbents: Incumbents) -> Array | None:
        means = super().values(incumbents)
        if means is None or "unseen" not in incumbents.columns:  # stores of schemas 1 to 3 lack it
            return None
        unseen, feasible = (incumbents.columns[name] for name in ("unseen", "unseen_feasible"))
        return np.where(np.isnan(unseen), means, np.where(feasible == 1, unseen, np.nan))
