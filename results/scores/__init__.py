"""The scores by which incumbents are compared: built in, or of third parties by the entry point `nasbench.scores`."""

from __future__ import annotations

import numpy as np

from nasbench.base.errors import StoreError
from nasbench.base.foreign import errors_named
from nasbench.base.registry import entry_names, entry_point
from nasbench.results.scores._mean import MeanScore
from nasbench.results.scores.average import Average
from nasbench.results.scores.hidden import HiddenScore
from nasbench.results.scores.observed import Observed
from nasbench.results.scores.score import Array, Incumbents, Score
from nasbench.results.scores.share import Share

HIDDEN, MEAN, SHARE, OBSERVED = HiddenScore(), MeanScore(), Share(), Observed()
SCORES: tuple[Score, ...] = (HIDDEN, MEAN, SHARE, OBSERVED)
"""The scores of an incumbent; every report computes those that its runs have. `SHARE` is for several objectives,
`HIDDEN` and `MEAN` are for one."""

AVERAGE = Average()
_BUILT_IN = (*SCORES, AVERAGE)

DEFAULT: Score = HIDDEN

_GROUP = "nasbench.scores"

__all__ = [
    "AVERAGE",
    "DEFAULT",
    "HIDDEN",
    "MEAN",
    "OBSERVED",
    "SCORES",
    "SHARE",
    "Incumbents",
    "Score",
    "names",
    "score_of",
    "values_of",
]


def names() -> tuple[str, ...]:
    """The names of all scores, built-in ones first; nothing is imported."""
    return entry_names(_GROUP, [score.name for score in _BUILT_IN])


def score_of(name: str) -> Score:
    """The score called `name`. Raises StoreError, with the nearest name, if there is none or it cannot be loaded."""
    built_in = {score.name: score for score in _BUILT_IN}
    if name in built_in:
        return built_in[name]
    point = entry_point(_GROUP, "score", name, list(built_in))
    with errors_named(f"score {name!r} cannot be loaded"):
        score = point.load()()
    if not isinstance(score, Score):
        raise StoreError(f"score {name!r} is {type(score).__name__!r}, which is no nasbench.results.scores.Score")
    if score.name != name:
        raise StoreError(f"score {name!r} calls itself {score.name!r}: its entry point and its name must agree")
    return score


def values_of(score: Score, incumbents: Incumbents) -> Array | None:
    """What a score says of incumbents. Raises StoreError, with its name, if a third party's fails."""
    if type(score).__module__.startswith("nasbench."):
        return score.values(incumbents)
    with errors_named(f"score {score.name!r} fails"):
        values = score.values(incumbents)
        if values is not None and np.shape(values) != incumbents.observed.shape:
            raise ValueError(f"it has values of shape {np.shape(values)} for {len(incumbents.observed)} rows")
    return values
