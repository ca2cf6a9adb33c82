"""Feasibility of the methods' proposals."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from nasbench.results.display.panels import Chart, Panel, Series
from nasbench.results.display.table import Table
from nasbench.results.parts.part import Part, Subject
from nasbench.results.parts.settings import named
from nasbench.results.statistics import summaries
from nasbench.results.statistics.comparison import Comparison


def part(subject: Subject) -> Part:
    """Feasible proposals of every method."""
    comparison = subject.comparison
    chart = Chart("found", lambda points: [found(comparison, points)])
    return Part("feasibility", "Feasible proposals", [table(comparison)], [chart])


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
        "As observed. feasible %: feasible evaluations over all evaluations, a part of a training being judged by "
        "what it measured where it ended. first: upper median over seeds of the number of evaluations to the first "
        "feasible one; after: the same in seconds on the run's clock. never: runs without any. refused: proposals "
        "that were known to violate a constraint, in all, which are no evaluations and used none of that budget. "
        "failed: evaluations and runs that failed."
    )
    return Table("feasibility", "Feasible proposals", note, data, shown, place="terminal")


def found(comparison: Comparison, points: int) -> Panel:
    """Share of runs with a feasible incumbent, averaged over settings without a missing method by their weights."""
    curves = comparison.curves
    at = comparison.along(points)
    known = np.isfinite(curves.at(at))
    weights = comparison.field.tasks.of(np.array(curves.complete, np.intp)).weights
    series = []
    for method in range(len(curves.methods) if len(weights) else 0):
        shares = [known[curves.groups[s, method]].mean(axis=0) for s in curves.complete]
        series.append(Series(method, weights @ np.array(shares)))
    label = "share of runs with a feasible incumbent"
    return Panel("Anything feasible yet", curves.unit, label, at, tuple(series), (0.0, 1.05))
