"""The parts of a report: built in, or of third parties by the entry point `nasbench.parts`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from importlib.metadata import EntryPoint

from nasbench.base.errors import StoreError
from nasbench.base.foreign import errors_named
from nasbench.base.registry import entry_names, entry_point
from nasbench.results.parts import (
    answer,
    baseline,
    claims,
    classical,
    clock,
    constraints,
    families,
    feasibility,
    fronts,
    graphs,
    importance,
    in_sample,
    levels,
    pairs,
    pareto,
    published,
    saved,
    score,
    searches,
    settings,
    targets,
    test_metrics,
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
    in_sample.part,
    claims.part,
    score.part,
    fronts.part,
    targets.part,
    clock.part,
    published.part,
    searches.part,
    levels.part,
    graphs.part,
    test_metrics.part,
    test_metrics.references,
    settings.part,
    feasibility.part,
    classical.part,
    settings.explained,
)
"""The parts of every report, in the order of the page; the first is the answer."""


def _without_words(name: str, make: Callable[[Subject], Part]) -> MakeOptional:
    @wraps(make)
    def made(subject: Subject, words: Sequence[str]) -> Part:
        if words:
            raise StoreError(f"the part {name} takes no options: --part {name}")
        return make(subject)

    return made


OPTIONAL: dict[str, MakeOptional] = {
    "importance": _without_words("importance", importance.part),
    "pareto": pareto.part,
    "saved": _without_words("saved", saved.part),
    "thinking": _without_words("thinking", thinking.part),
}
"""The built-in optional parts by name; they are placed before the settings."""

_GROUP = "nasbench.parts"


def optional_names() -> tuple[str, ...]:
    """Names of all optional parts, built-in ones first; nothing is imported."""
    return entry_names(_GROUP, list(OPTIONAL))


def requested(text: str) -> tuple[MakeOptional, list[str]]:
    """Parses `name` or `name:word,…` into the function that makes the part, and its words.

    Raises StoreError, with the nearest name, if there is no such part or it cannot be loaded.
    """
    name, _, rest = text.partition(":")
    words = [word.strip() for word in rest.split(",") if word.strip()]
    if name in OPTIONAL:
        return OPTIONAL[name], words
    return _third_partys(entry_point(_GROUP, "part", name, list(OPTIONAL))), words


def _third_partys(point: EntryPoint) -> MakeOptional:
    """A third party's function, wrapped so that its errors become one sentence."""
    with errors_named(f"part {point.name!r} cannot be loaded"):
        make = point.load()

    @wraps(make)
    def made(subject: Subject, words: Sequence[str]) -> Part:
        with errors_named(f"part {point.name!r} fails"):
            part = make(subject, words)
        if not isinstance(part, Part):
            raise StoreError(f"part {point.name!r} returns {type(part).__name__!r}, which is no Part")
        return part

    return made
