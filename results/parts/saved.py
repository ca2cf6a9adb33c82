"""Evaluations saved: what the baseline needs for the scores of the other methods. An optional part."""

from __future__ import annotations

import math

import pandas as pd

from nasbench.base.numbers import point
from nasbench.results.display.table import Table
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.statistics.saving import Interval, Needed, needed
from nasbench.results.subject import Subject


@PARTS.register("saved")
@plain()
def part(subject: Subject) -> Part:
    """The evaluations (or seconds) that the baseline needs to be as good as each method at each checkpoint."""
    comparison = subject.comparison
    others = [method for method in range(len(comparison.methods)) if method != comparison.baseline]
    found = [needed(comparison, method, at) for method in others for at in comparison.checkpoints]
    rows = [row for row in found if row is not None]
    end, unit = comparison.curves.end, comparison.curves.unit
    baseline = comparison.methods[comparison.baseline]
    data = pd.DataFrame([_facts(comparison.methods[row.method], row) for row in rows], columns=list(_COLUMNS))
    shown = pd.DataFrame(
        {
            "method": data["method"],
            "after": [point(row.at, unit) for row in rows],
            f"{baseline} needs": [_shown(row.needed, end, unit) for row in rows],
            "CI (these)": [_range(row.these, end, unit) for row in rows],
            "CI (new)": [_range(row.new, end, unit) for row in rows],
        }
    )
    note = (
        f"{baseline} needs: the number of {unit} after which its run is as often better as worse than a run of the "
        "method after the number in the second column; the difference is what the method saves. "
        f"> {point(end, unit)}: the whole budget does not suffice. CI: 95 % confidence interval, (these) on these "
        "benchmarks, (new) on new tasks: the numbers at which a t test does not reject that either is as often better. "
        "There is no correction for the number of rows."
    )
    title = f"{unit.capitalize()} saved"
    return Part("saved", title, [Table("saved", title, note, data, shown)])


_COLUMNS = ("method", "after", "needed", "low", "high", "low_new", "high_new")


def _facts(name: str, row: Needed) -> tuple[str, float, float, float, float, float, float]:
    return (name, row.at, row.needed, *row.these, *row.new)


def _shown(value: float, end: float, unit: str) -> str:
    return "-" if math.isnan(value) else f"> {point(end, unit)}" if math.isinf(value) else point(value, unit)


def _range(interval: Interval, end: float, unit: str) -> str:
    low, high = (_shown(value, end, unit) for value in interval)
    return low if low == high else f"{low} to {high}" if math.isinf(interval[1]) else f"{low}-{high}"
