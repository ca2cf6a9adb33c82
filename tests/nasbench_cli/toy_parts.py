"""Toy parts of a report, for a plug-in; pandas is heavy, so they have a module of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from nasbench.results.display.table import Table
from nasbench.results.parts.part import Part
from nasbench.results.subject import Subject


def runs(subject: Subject, words: Sequence[str]) -> Part:
    """Number of runs of each method."""
    counts = Counter[str]()
    for _, fragment in subject.fragments:
        counts[fragment.setup.method] += len(fragment.runs)
    data = pd.DataFrame({"method": list(counts), "runs": list(counts.values())})
    table = Table("runs", "Runs of each method", "Counted in the stores.", data, data.astype(str))
    return Part("runs", "Runs", [table])


def no_runs(subject: Subject, words: Sequence[str]) -> Part:
    """Fails."""
    raise KeyError("nothing to count")


THREE = 3
