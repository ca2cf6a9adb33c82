"""The parts of a report: built in, or of third parties by the entry point `nasbench.parts`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from importlib.metadata import EntryPoint, entry_points

from nasbench.results.errors import StoreError, nearest
from nasbench.results.parts import (
    answer,
    baseline,
    claims,
    clock,
    constraints,
    exposure,
    families,
    feasibility,
    fronts,
    graphs,
    held_out,
    importance,
    levels,
    pairs,
    papers,
    pareto,
    published,
    saved,
    score,
    searches,
    settings,
    targets,
    thinking,
    wilcoxon,
)
from nasbench.results.parts.part import MakeOptional, MakePart, Part, Subject

PARTS: tuple[MakePart, ...] = (
    answer.part,
    baseline.part,
    pairs.part,
    wilcoxon.part,
    constraints.part,
    families.part,
    exposure.part,
    claims.part,
    score.part,
    fronts.part,
    targets.part,
    clock.part,
    published.part,
    searches.part,
    levels.part,
    graphs.part,
    held_out.part,
    held_out.references,
    settings.part,
    feasibility.part,
    papers.part,
    settings.explained,
)
"""The parts of every report, in the order of the page; the first is the answer."""

OPTIONAL: dict[str, MakeOptional] = {
    "importance": importance.part,
    "pareto": pareto.part,
    "saved": saved.part,
    "thinking": thinking.part,
}
"""The built-in optional parts by name; they are placed before the settings."""

_GROUP = "nasbench.parts"


def optional_names() -> tuple[str, ...]:
    """Names of all optional parts, built-in ones first; nothing is imported."""
    return (*OPTIONAL, *(point.name for point in entry_points(group=_GROUP) if point.name not in OPTIONAL))


def requested(text: str) -> tuple[MakeOptional, list[str]]:
    """Parses `name` or `name:word,…` into the function that makes the part, and its words.

    Raises StoreError, with the nearest name, if there is no such part or it cannot be loaded.
    """
    name, _, rest = text.partition(":")
    words = [word.strip() for word in rest.split(",") if word.strip()]
    if name in OPTIONAL:
        return OPTIONAL[name], words
    for point in entry_points(group=_GROUP):
        if point.name == name:
            return _third_partys(point), words
    known = optional_names()
    raise StoreError(f"there is no part {name!r}{nearest(name, known)}; allowed: {', '.join(known)}")


def _third_partys(point: EntryPoint) -> MakeOptional:
    """A third party's function, wrapped so that its errors become one sentence."""
    try:
        make = point.load()
    except Exception as error:
        raise StoreError(f"part {point.name!r} cannot be loaded: {type(error).__name__}: {error}") from None

    @wraps(make)
    def made(subject: Subject, words: Sequence[str]) -> Part:
        try:
            part = make(subject, words)
        except StoreError:
            raise
        except Exception as error:
            raise StoreError(f"part {point.name!r} fails: {type(error).__name__}: {error}") from error
        if not isinstance(part, Part):
            raise StoreError(f"part {point.name!r} returns {type(part).__name__!r}, which is no Part")
        return part

    return made
