"""The score `mean`: the incumbent's mean over all repetitions of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nasbench.results.scores.score import Array, Incumbents, Score

if TYPE_CHECKING:
    import pandas as pd


class MeanScore(Score):
    """The mean over all repetitions of the incumbent, including the one by which it was chosen."""

    name = "mean"
    phrase = "incumbent's mean over the table's repetitions"
    note = (
        "What is compared is the incumbent's score: it is chosen by what was observed, and counts with the mean of its "
        "configuration over the table's repetitions; one that violates a constraint in the mean counts as nothing found"
    )
    columns: tuple[str, ...] = ("score", "score_feasible")

    def values(self, incumbents: Incumbents) -> Array | None:
        score = incumbents.columns["score"]
        if not np.isfinite(score).any():  # a run on a live benchmark
            return None
        means, violates = score[incumbents.row], incumbents.columns["score_feasible"][incumbents.row] == 0
        values = np.where(np.isnan(means), incumbents.observed, means)
        return np.where(incumbents.exists & ~violates, values, np.nan)

    def limit(self, settings: pd.DataFrame, name: str) -> Array:
        plain, means = super().limit(settings, name), super().limit(settings, f"score_{name}")
        return np.where(np.isnan(means), plain, means)
