"""What one-shot methods log of their searches: read, summed up, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from results.curves import Curves
from results.fragment import Fragment
from results.part import Part
from results.searches.figures import drawn
from results.searches.logs import load
from results.searches.tables import beside_published, searched
from results.store import Store


def part(chosen: Sequence[tuple[Store, Fragment]], curves: Curves) -> Part | None:
    """Of a report on the fragments `chosen`; None where no method searched in one shot."""
    found = load(chosen, curves)
    if found is None:
        return None
    tables = [searched(found), *beside_published(found)]
    return Part("searches", "Searches of one-shot methods", tables, partial(drawn, found))
