"""Numbers that stand for failed evaluations: a run that has one would have the best value of all."""

from __future__ import annotations

import numpy as np

from nasbench.base.errors import UsageError
from nasbench.base.numbers import count
from nasbench.benchmarks.tabular.failures import mark_of_failure
from nasbench.cli.outside.rows import Asked, Rows


def check_marks(rows: Rows, asked: Asked) -> str:
    """What is to be said of a best value that seems to stand for failed evaluations; empty if none does.

    Raises UsageError, which asks about it, where nobody has said the direction of values.
    """
    values = rows.frame["value"].to_numpy(float)
    values, sense = values[np.isfinite(values)], asked.sense or rows.sense
    mark = mark_of_failure(rows.name, values)
    if mark is None or sense is None or (mark <= 0) != (sense == "minimise"):
        return ""
    said = f"{rows.name} is {mark:g} in {count(int((values == mark).sum()), 'row')}, and nowhere else "
    said += "below 0" if mark < 0 else "as large" if mark else "close to it"
    if asked.sense is None:
        raise UsageError(
            f"{said}: if that stands for failed evaluations, leave these cells empty; --direction {sense} says that it "
            "is a value"
        )
    return f"{said}: taken as a value"
