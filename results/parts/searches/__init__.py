"""What one-shot methods log of their searches: read, summed up, drawn."""

from __future__ import annotations

from functools import partial

from nasbench.results.parts.part import Part, Subject
from nasbench.results.parts.searches.logs import load
from nasbench.results.parts.searches.tables import beside_published, directions, searched


def part(subject: Subject) -> Part | None:
    """None where no method searched in one shot."""
    found = load(subject.fragments, subject.curves)
    if found is None:
        return None
    from nasbench.results.parts.searches.figures import drawn  # with matplotlib, which is heavy

    papers = [paper for paper in subject.literature.papers if "accuracy" in paper]
    tables = [searched(found), *directions(found), *(own for paper in papers for own in beside_published(found, paper))]
    return Part("searches", "Searches of one-shot methods", tables, figures=partial(drawn, found))
