"""The score `share`: how much of the attainable hypervolume a run has missed, for several objectives."""

from __future__ import annotations

import numpy as np

from nasbench.results.scores.score import Array, Incumbents, Score
from nasbench.results.store.trajectory import HYPERVOLUME

_COLUMN = f"metric.{HYPERVOLUME}"
_ROUNDING = 1e-9
"""What a whole front seems to miss by rounding, which depends on the order of its points."""


class Share(Score):
    """1 - the share of the attainable hypervolume that the evaluations dominate, by the table's means."""

    name = "share"
    phrase = "1 - share of the attainable hypervolume"
    note = (
        "1 - the hypervolume that a run's feasible evaluations dominate, by the table's means, divided by that of the "
        "exact feasible front (of all runs together, where no table knows it); the reference point lies a tenth of "
        "the front's extent beyond its worst point, and metrics with a unit are taken by their logarithm"
    )
    columns = (_COLUMN,)

    def values(self, incumbents: Incumbents) -> Array | None:
        share = incumbents.columns.get(_COLUMN)
        if share is None:
            return None
        missed = 1.0 - share
        return np.where(missed < _ROUNDING, 0.0, missed)  # NaN stays
