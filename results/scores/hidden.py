"""The score `hidden`: the incumbent's value in the repetition that had no part in choosing it."""

from __future__ import annotations

import numpy as np

from nasbench.results.scores._mean import MeanScore
from nasbench.results.scores.score import Array, Incumbents, Score


class HiddenScore(MeanScore):
    """The incumbent's value in the repetition that is hidden from its run.

    Where a configuration has a single repetition, that one's value; nothing where the hidden repetition violates a
    constraint or fails.
    """

    name = "hidden"
    phrase = "incumbent's value in a repetition that was hidden from its run"
    note = (
        "The incumbent is chosen by what was observed, and counts with its value in a repetition that was hidden from "
        "the run (or with its only one); one that violates a constraint there counts as nothing found"
    )
    columns = (*MeanScore.columns, "hidden", "hidden_feasible")

    def values(self, incumbents: Incumbents) -> Array | None:
        means = super().values(incumbents)
        if means is None:
            return None
        hidden, feasible = (incumbents.columns[name] for name in ("hidden", "hidden_feasible"))
        return np.where(feasible == 1, hidden, np.where(feasible == 0, np.nan, means))

    limit = Score.limit  # of single repetitions: the best of them is better than the best mean
