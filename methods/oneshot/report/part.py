"""The logged searches of one-shot methods: tables and figures."""

from __future__ import annotations

from functools import partial

from nasbench.methods.oneshot.report.logs import load
from nasbench.methods.oneshot.report.tables import beside_published, directions, searched
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.subject import Subject


@PARTS.register("searches")
@plain(60)
def part(subject: Subject) -> Part | None:
    """The part; None if there is no search of a one-shot method."""
    searches = load(subject.fragments, subject.curves)
    if searches is None:
        return None
    from nasbench.methods.oneshot.report.figures import drawn  # with matplotlib, which is heavy

    papers = [paper for paper in subject.literature.papers if "accuracy" in paper]
    tables = [
        searched(searches),
        *directions(searches),
        *(table for paper in papers for table in beside_published(searches, paper)),
    ]
    return Part("searches", "Searches of one-shot methods", tables, figures=partial(drawn, searches))
