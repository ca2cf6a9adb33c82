"""Runs with a budget in evaluations, compared at equal seconds."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nasbench.base.numbers import count, fixed
from nasbench.results.display.panels import Chart, Panel, Series, span
from nasbench.results.display.table import Table
from nasbench.results.parts.part import PARTS, Part, plain
from nasbench.results.statistics.comparison import Comparison
from nasbench.results.subject import Subject

_SHARES = (0.25, 0.5, 0.75, 1.0)


_LINES = "Line: a method's expected rank at equal time on the run's clock (1, at the top, is best)."


@PARTS.register("clock")
@plain()
def part(subject: Subject) -> Part | None:
    """The part; None if the budget is in seconds, so that all comparisons are at equal seconds."""
    comparison = subject.comparison
    if comparison.curves.seconds is not None:
        return None
    chart = Chart("ranks-seconds", lambda points: [over_shares(comparison, points)], note=_LINES)
    return Part("clock", "At equal seconds", [table(comparison)], [chart])


def table(comparison: Comparison) -> Table:
    """Expected rank at shares of the time horizon."""
    values = comparison.ranks(comparison.curves.at_shares(np.array(_SHARES)))
    columns = {f"{100 * share:.0f} %": values[:, i] for i, share in enumerate(_SHARES)}
    data = pd.DataFrame({"method": comparison.methods} | columns)
    shown = data.map(lambda value: fixed(value) if isinstance(value, float) else value)
    note = (
        "Expected rank, as over evaluations, but at equal time on the run's clock. The horizon of a setting is the "
        "shortest, over methods, of the median duration of a run (those that stopped early aside): until then most "
        "runs of every method are still searching. No verdict is given here."
    )
    return Table("ranks-seconds", "Expected rank at shares of the time horizon", note, data, shown)


def over_shares(comparison: Comparison, points: int) -> Panel:
    """Expected rank against the share of each setting's time horizon."""
    shares = np.linspace(0, 1, points)[1:]
    values = comparison.ranks(comparison.curves.at_shares(shares))
    kinds = comparison.overall.kinds
    series = tuple(Series(kind[0], values[kind[0]]) for kind in kinds if np.isfinite(values[kind[0]]).any())
    label = f"expected rank over {count(len(comparison.overall.complete), 'setting')}"
    x = "share of the time horizon [%]"
    return Panel("Over seconds on the clock", x, label, 100 * shares, series, span(series), best_on_top=True)
