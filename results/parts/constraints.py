"""Verdicts under each constraint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nasbench.base.numbers import count
from nasbench.results.display.table import Table
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.statistics.comparison import CONSTRAINTS, Comparison
from nasbench.results.statistics.verdicts import Pair
from nasbench.results.subject import Subject
from nasbench.results.verdict import rows


@PARTS.register("constraints")
@plain()
def part(subject: Subject) -> Part | None:
    """The part; None if there is only one constraint."""
    comparison = subject.comparison
    if len(comparison.by_constraint) < 2 or len(comparison.methods) < 2:
        return None
    pairs = [
        (name, pair)
        for name, verdicts in [("(average)", comparison.overall), *comparison.by_constraint.items()]
        for pair in comparison.against_baseline(verdicts)
    ]
    every = [(name, pair) for name, verdicts in comparison.by_constraint.items() for pair in verdicts.pairs.values()]
    if not pairs:
        return None
    title = f"Under each constraint: probability that {comparison.methods[comparison.baseline]} is better"
    tables = [_table("constraints", title, comparison, pairs)]
    tables.append(_table("constraints-pairs", "Under each constraint: every pair", comparison, every))
    return Part("constraints", "Constraint by constraint", tables)


def _table(name: str, title: str, comparison: Comparison, named_pairs: Sequence[tuple[str, Pair]]) -> Table:
    every_pair = name != "constraints"
    pairs = [pair for _, pair in named_pairs]
    data = pd.DataFrame([rows.facts(pair, comparison.methods) for pair in pairs])
    data.insert(0, "constraint", [constraint for constraint, _ in named_pairs])
    names = {"method": data["method"], "other": data["other"]} if every_pair else {"against": data["other"]}
    shown = pd.DataFrame({"constraint": data["constraint"], **names}).assign(**rows.shown(pairs))
    bold = np.zeros(shown.shape, bool)
    bold[:, list(shown).index("better")] = [pair.verdict != 0 for pair in pairs]
    tested = [pair for verdicts in comparison.by_constraint.values() for pair in verdicts.tested]
    note = (
        f"{rows.BETTER} {rows.THESE} {rows.NEW} p under a constraint: after Holm's correction over all "
        f"{count(len(tested), 'pair')} under all constraints, and times {1 / CONSTRAINTS:g}, for all single "
        f"constraints together have {5 * CONSTRAINTS:g} of the 5 % in which a report may err. Methods that ignore "
        "constraints are the same as those that heed them where there is none."
    )
    marks = rows.marks(pairs, tested, " under all constraints")
    return Table(name, title, note, data, shown, bold, marks, only_in_files=every_pair)
