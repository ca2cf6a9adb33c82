"""What one-shot methods log of their searches: read, summed up, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nasbench.results.curves import Curves
from nasbench.results.parts.part import Part
from nasbench.results.parts.searches.figures import drawn
from nasbench.results.parts.searches.logs import load
from nasbench.results.parts.searches.tables import beside_published, searched
from nasbench.results.store import Store
from nasbench.results.store.fragment import Fragment


def part(chosen: Sequence[tuple[Store, Fragment]], curves: Curves) -> Part | None:
    """Of a report on the fragments `chosen`; None where no method searched in one shot."""
    found = load(chosen, curves)
    if found is None:
        return None
    tables = [searched(found), *beside_published(found)]
    return Part("searches", "Searches of one-shot methods", tables, partial(drawn, found))
