"""Feasibility of the methods' proposals."""

from __future__ import annotations

import math

import pandas as pd

from nasbench.results.display.table import Table
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.parts.settings import named
from nasbench.results.statistics import summaries
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.subject import Subject


@PARTS.register("feasibility")
@plain(70)
def part(subject: Subject) -> Part:
    """Feasible proposals of every method."""
    return Part("feasibility", "Feasible proposals", [table(subject.comparison)])


def table(comparison: Comparison) -> Table:
    """Shares of feasible evaluations, and the time to the first one."""
    data = named(comparison.curves, summaries.feasibility(comparison.curves))
    shown = pd.DataFrame(
        {
            "benchmark": data["bench"],
            "constraint": data["constraint"],
            "method": data["method"],
            "runs": data["runs"].astype(str),
            "feasible %": (100 * data["feasible_share"]).map("{:.1f}".format),
            "first": data["first_feasible"].map(lambda value: f"{value:.0f}" if math.isfinite(value) else "never"),
            "after [s]": data["first_seconds"].map(lambda value: f"{value:.4g}" if math.isfinite(value) else "never"),
            "never": data["never"].astype(str),
            **({"refused": data["refused"].map("{:,}".format)} if data["refused"].any() else {}),
            "failed": (data["failed_evaluations"] + data["failed_runs"]).astype(str),
        }
    )
    note = (
        "As observed. feasible %: of all evaluations. first: upper median over seeds of the number of evaluations to "
        "the first feasible one; after: in seconds on the run's clock. never: runs without any. refused: proposals "
        "known to violate a constraint, which are no evaluations. failed: evaluations and runs."
    )
    return Table("feasibility", "Feasible proposals", note, data, shown)
