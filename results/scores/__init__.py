"""The scores by which incumbents can be compared: ours, and third parties' by the entry point `nasbench.scores`."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from nasbench.results.errors import StoreError, nearest
from nasbench.results.scores.mean import Mean
from nasbench.results.scores.observed import Observed
from nasbench.results.scores.score import Incumbents, Score
from nasbench.results.scores.unseen import Unseen

UNSEEN, MEAN, OBSERVED = Unseen(), Mean(), Observed()
SCORES: tuple[Score, ...] = (UNSEEN, MEAN, OBSERVED)
"""Ours."""

DEFAULT: Score = UNSEEN

_GROUP = "nasbench.scores"

__all__ = ["DEFAULT", "MEAN", "OBSERVED", "SCORES", "UNSEEN", "Incumbents", "Score", "names", "score_of"]


def names() -> tuple[str, ...]:
    """The names of all scores, ours first; a third party's is not imported for it."""
    ours = [score.name for score in SCORES]
    return (*ours, *(point.name for point in entry_points(group=_GROUP) if point.name not in ours))


def score_of(name: str) -> Score:
    """The score called `name`. Raises StoreError, with the nearest name, if there is none or it cannot be loaded."""
    for score in SCORES:
        if score.name == name:
            return score
    for point in entry_points(group=_GROUP):
        if point.name == name:
            return _loaded(point)
    raise StoreError(f"there is no score {name!r}{nearest(name, names())}; allowed: {', '.join(names())}")


def _loaded(point: EntryPoint) -> Score:
    """A third party's score: an entry point names its class."""
    try:
        found = point.load()()
    except Exception as error:  # whatever foreign code raises
        raise StoreError(f"score {point.name!r} cannot be loaded: {type(error).__name__}: {error}") from None
    if not isinstance(found, Score):
        raise StoreError(f"score {point.name!r} is {type(found).__name__!r}, which is no nasbench.results.scores.Score")
    return found
