"""The scores by which incumbents are compared: built in, or of third parties by the entry point `nasbench.scores`."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from nasbench.results.errors import StoreError, nearest
from nasbench.results.scores.average import Average
from nasbench.results.scores.mean import Mean
from nasbench.results.scores.observed import Observed
from nasbench.results.scores.score import Incumbents, Score
from nasbench.results.scores.share import Share
from nasbench.results.scores.unseen import Unseen

UNSEEN, MEAN, SHARE, OBSERVED = Unseen(), Mean(), Share(), Observed()
SCORES: tuple[Score, ...] = (UNSEEN, MEAN, SHARE, OBSERVED)
"""The scores of an incumbent; every report computes those that its runs have. `SHARE` is for several objectives,
`UNSEEN` and `MEAN` are for one."""

AVERAGE = Average()
_BUILT_IN = (*SCORES, AVERAGE)

DEFAULT: Score = UNSEEN

_GROUP = "nasbench.scores"

__all__ = [
    "AVERAGE",
    "DEFAULT",
    "MEAN",
    "OBSERVED",
    "SCORES",
    "SHARE",
    "UNSEEN",
    "Incumbents",
    "Score",
    "names",
    "score_of",
]


def names() -> tuple[str, ...]:
    """The names of all scores, built-in ones first; nothing is imported."""
    ours = [score.name for score in _BUILT_IN]
    return (*ours, *(point.name for point in entry_points(group=_GROUP) if point.name not in ours))


def score_of(name: str) -> Score:
    """The score called `name`. Raises StoreError, with the nearest name, if there is none or it cannot be loaded."""
    for score in _BUILT_IN:
        if score.name == name:
            return score
    for point in entry_points(group=_GROUP):
        if point.name == name:
            return _loaded(point)
    raise StoreError(f"there is no score {name!r}{nearest(name, names())}; allowed: {', '.join(names())}")


def _loaded(point: EntryPoint) -> Score:
    """A third party's score, from an entry point that names its class."""
    try:
        score = point.load()()
    except Exception as error:  # third-party code may raise anything
        raise StoreError(f"score {point.name!r} cannot be loaded: {type(error).__name__}: {error}") from None
    if not isinstance(score, Score):
        raise StoreError(f"score {point.name!r} is {type(score).__name__!r}, which is no nasbench.results.scores.Score")
    return score
